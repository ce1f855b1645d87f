import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { basename, isAbsolute, relative, resolve, sep } from "node:path";
import { httpError } from "../../errors/http-error.js";
import type { FileBody } from "./file-body.js";

export interface OpenFile {
  readonly handle: FileHandle;
  readonly size: number;
  /** Milliseconds. */
  readonly modified: number;
  /** A tag that differs whenever size or time of the last change do. */
  readonly tag: string;
}

/** Opens a regular file and measures what was opened; 404 for anything else. */
export async function openFile(file: FileBody): Promise<OpenFile> {
  const { contentEncoding } = file.options;
  // Forms of one resource differ in their tags, even when a build gave their files the same size and time.
  const variant = contentEncoding === undefined ? "" : `-${contentEncoding}`;
  const handle = await openHandle(file);
  try {
    const stat = await handle.stat({ bigint: true });
    if (!stat.isFile()) throw httpError("NOT_FOUND");
    return {
      handle,
      size: Number(stat.size),
      modified: Number(stat.mtimeMs),
      tag: `"${stat.size.toString(36)}-${stat.mtimeNs.toString(36)}${variant}"`,
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

// Without O_NONBLOCK opening a FIFO waits for a writer, perhaps without end. On a regular file it has no effect.
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

async function openHandle(file: FileBody): Promise<FileHandle> {
  try {
    return await open(await locate(file), flags);
  } catch (cause) {
    throw isAbsence(cause) ? httpError("NOT_FOUND", undefined, { cause }) : cause;
  }
}

async function locate(file: FileBody): Promise<string> {
  const { path, root } = file;
  if (root === undefined) {
    if (file.options.dotfiles === "deny" && basename(path).startsWith(".")) throw httpError("NOT_FOUND");
    return path;
  }
  const [realRoot, real] = await Promise.all([realpath(root), realpath(resolve(root, path))]);
  checkInside(file, resolve(root), resolve(root, path));
  checkInside(file, realRoot, real);
  return real;
}

function checkInside(file: FileBody, root: string, path: string): void {
  const below = relative(root, path);
  const segments = below.split(sep);
  if (isAbsolute(below) || segments[0] === "..") throw httpError("NOT_FOUND");
  if (file.options.dotfiles !== "allow" && segments.some((segment) => segment.startsWith("."))) {
    throw httpError("NOT_FOUND");
  }
}

const absences = new Set([
  "ENOENT",
  "ENOTDIR",
  "EISDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "ENXIO",
  "EACCES",
  "EPERM",
  // A NUL in the path.
  "ERR_INVALID_ARG_VALUE",
]);

function isAbsence(error: unknown): boolean {
  return error instanceof Error && absences.has((error as NodeJS.ErrnoException).code ?? "");
}
