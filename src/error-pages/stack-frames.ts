import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ErrorDescription } from "../errors/describe.js";
import { packageFolder } from "../internal/package-folder.js";

export interface StackFrame {
  /** The function; empty when it has no name. */
  readonly call: string;
  /** The file's path, or what stands in its place (`node:internal/timers`, `<anonymous>`). */
  readonly file: string;
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Whose code it is; only the application's own is of interest at first. */
  readonly owner: "application" | "framework" | "dependency" | "node";
}

const maxFrames = 60;
const maxLineLength = 2000;

/** The frames of a stack as V8 writes it. */
export function stackFrames(error: ErrorDescription): StackFrame[] {
  if (error.stack === undefined) return [];
  const frames: StackFrame[] = [];
  for (const line of withoutMessage(error.stack, error.message).split("\n")) {
    const frame = parseFrame(line);
    if (frame) frames.push(frame);
    if (frames.length >= maxFrames) break;
  }
  return frames;
}

/** A stack begins with the message, in which lines may look like frames. */
function withoutMessage(stack: string, message: string): string {
  const at = message === "" ? -1 : stack.indexOf(message);
  return at === -1 ? stack : stack.slice(at + message.length);
}

const frameLine = /^\s+at (?:(.*) \((.*)\)|(?:async )?(.*))$/;
const position = /^(.*?)(?::(\d+))?(?::(\d+))?$/;

function parseFrame(line: string): StackFrame | undefined {
  const match = line.length > maxLineLength ? null : frameLine.exec(line.trimEnd());
  if (!match) return undefined;
  const [, call = "", inner, bare] = match;
  const [, where = "", row, column] = position.exec(inner ?? bare ?? "") ?? [];
  const file = filePath(where);
  return { call, file, line: number(row), column: number(column), owner: ownerOf(file) };
}

function filePath(where: string): string {
  if (!where.startsWith("file://")) return where.replace(/\?.*$/, "");
  try {
    return fileURLToPath(where.replace(/[?#].*$/, ""));
  } catch {
    return where;
  }
}

function number(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}

let frameworkFolders: readonly string[] | undefined;

function isFramework(file: string): boolean {
  frameworkFolders ??= ["dist", "src"].map((name) => join(packageFolder(), name) + sep);
  return frameworkFolders.some((folder) => file.startsWith(folder));
}

function ownerOf(file: string): StackFrame["owner"] {
  if (file.startsWith("node:") || file.startsWith("internal/") || file === "native" || file.startsWith("<"))
    return "node";
  if (isFramework(file)) return "framework";
  return file.includes(`${sep}node_modules${sep}`) ? "dependency" : "application";
}
