import { stat } from "node:fs/promises";
import { join } from "node:path";
import { HttpError, httpError } from "../../errors/http-error.js";
import { type ContentCoding, codingNegotiator } from "../../http/fields/accept-encoding.js";
import { mediaType } from "../../http/fields/media-types.js";
import { FileBody } from "../../http/files/file-body.js";
import { openFile } from "../../http/files/open-file.js";
import { sendFile } from "../../http/files/send-file.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { percentDecoded } from "../../kit/encoding.js";
import { isCompressible } from "../compression/compressible.js";
import type { StaticFilesConfig } from "./config.js";

const extensions: Readonly<Record<ContentCoding, string>> = { br: ".br", gzip: ".gz" };
const negotiate = codingNegotiator(["br", "gzip"]);

export type StaticFileHandler = (request: Request) => Promise<Response>;

/** The handler that serves a directory. */
export function staticFiles(config: StaticFilesConfig): StaticFileHandler {
  const { directory, indexFile, precompressed, dotfiles } = config;
  const depth = config.prefix === "/" ? 0 : config.prefix.split("/").length - 1;

  const send = (request: Request, path: string, varies: boolean, coding?: ContentCoding): Promise<Response> => {
    const body = new FileBody(coding === undefined ? path : path + extensions[coding], {
      root: directory,
      maxAge: config.cacheMaxAge,
      contentType: mediaType(path),
      contentEncoding: coding,
      dotfiles,
    });
    const response = new Response(body);
    if (varies) response.addField("Vary", "Accept-Encoding");
    return sendFile(request, response);
  };

  const isServed = async (path: string): Promise<boolean> => {
    try {
      const { handle } = await openFile(new FileBody(path, { root: directory, dotfiles }));
      await handle.close();
      return true;
    } catch {
      return false;
    }
  };

  return async (request) => {
    const location = locate(request.path, depth, dotfiles);
    if (location === null) throw httpError("NOT_FOUND");
    const path = location.isDirectory ? join(location.path, indexFile) : location.path;
    const varies = precompressed && isCompressible(mediaType(path));
    if (varies) {
      for (const coding of negotiate(request.source.header("accept-encoding"))) {
        if (!(await isFile(join(directory, path + extensions[coding])))) continue;
        const response = await orAbsent(send(request, path, varies, coding));
        if (response !== null) return response;
      }
    }
    const response = await orAbsent(send(request, path, varies));
    if (response !== null) return response;
    if (!location.isDirectory && (await isServed(join(path, indexFile)))) return withSlash(request);
    throw httpError("NOT_FOUND");
  };
}

/** Sends the client to a directory's own address, below which the links in its index lead where they should. */
function withSlash(request: Request): Response {
  return Response.redirect(`${request.path}/${request.source.search}`, 301);
}

/** Null in place of 404. */
async function orAbsent(response: Promise<Response>): Promise<Response | null> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return null;
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** The file that a request's path names. */
interface Location {
  /** Below the directory, separated by "/". */
  readonly path: string;
  /** True if the path ends in a slash, which means a directory. */
  readonly isDirectory: boolean;
}

/**
 * Splits the path of a request, as received, without its first `depth` segments. Null for a path that cannot be a
 * file's. Each segment is decoded by itself, so that nothing in it can be a separator, lead upwards, or be hidden.
 */
function locate(path: string, depth: number, dotfiles: "allow" | "deny"): Location | null {
  const segments = path.split("/").slice(depth + 1);
  const last = segments.length - 1;
  for (let i = 0; i <= last; i++) {
    const segment = percentDecoded(segments[i]!);
    if (segment === null || (segment === "" && i < last) || !isName(segment, dotfiles)) return null;
    segments[i] = segment;
  }
  const isDirectory = last >= 0 && segments[last] === "";
  if (isDirectory) segments.pop();
  return { path: segments.join("/"), isDirectory };
}

// A colon leads to another drive or stream on Windows, and a dot or a space at the end of a name is dropped there.
const forbidden = process.platform === "win32" ? /[/\\\0:]|[. ]$/ : /[/\\\0]/;

function isName(segment: string, dotfiles: "allow" | "deny"): boolean {
  if (forbidden.test(segment) || segment === "." || segment === "..") return false;
  return dotfiles === "allow" || !segment.startsWith(".");
}
