import { httpError } from "../../errors/http-error.js";
import { problemResponse } from "../../errors/pages/problem.js";
import { allowsRange } from "../../http/fields/conditional.js";
import { parseHttpDate } from "../../http/fields/http-date.js";
import { parseRange } from "../../http/fields/range.js";
import { setField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { fieldIn } from "./entry.js";
import type { CacheEntry } from "./store.js";

/**
 * Makes the response of an entry the part of it that the request asks for (RFC 9110 section 14.2). It stays whole where
 * If-Range does not match, or the range is not one of bytes.
 */
export function cutToRange(request: Request, response: Response, entry: CacheEntry): Response {
  const { body } = response;
  if (response.status !== 200 || (typeof body !== "string" && !(body instanceof Uint8Array))) return response;
  const modified = fieldIn(entry.fields, "Last-Modified");
  const validators = {
    etag: fieldIn(entry.fields, "ETag"),
    lastModified: modified === undefined ? undefined : parseHttpDate(modified),
  };
  const { source } = request;
  if (!allowsRange(source.header("if-range"), validators)) return response;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const range = parseRange(source.header("range") ?? "", bytes.length);
  if (range === "unsatisfiable") {
    const headers = { "Content-Range": `bytes */${bytes.length}` };
    return problemResponse(httpError("RANGE_NOT_SATISFIABLE", undefined, { headers }));
  }
  if (range === undefined) return response;
  response.status = 206;
  const part = bytes.subarray(range.start, range.end + 1);
  response.body = part;
  setField(response, "Content-Range", `bytes ${range.start}-${range.end}/${bytes.length}`);
  if (fieldIn(entry.fields, "Content-Length") !== undefined) setField(response, "Content-Length", String(part.length));
  return response;
}
