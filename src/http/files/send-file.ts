import { httpError } from "../../errors/http-error.js";
import { allowsRange, evaluateConditions, type Validators } from "../fields/conditional.js";
import { formatHttpDate, parseHttpDate } from "../fields/http-date.js";
import { type ByteRange, parseRange } from "../fields/range.js";
import type { Request } from "../request.js";
import type { Response } from "../response.js";
import { FileBody } from "./file-body.js";
import { FileStream, readExactly } from "./file-stream.js";
import { type OpenFile, openFile } from "./open-file.js";

/** Up to this many bytes are read at once rather than streamed. */
const smallSize = 64 * 1024;

/**
 * Turns a response whose body is a file into one that a transport can send; evaluates conditions and ranges. The given
 * response is not changed, so it can be used again. A body that is a stream has a Content-Length. The response to HEAD
 * has no body and the Content-Length of the response to GET.
 */
export async function sendFile(request: Request, response: Response): Promise<Response> {
  const file = response.body;
  if (!(file instanceof FileBody)) return response;
  const opened = await openFile(file);
  let streaming = false;
  try {
    const answer = response.clone();
    answer.body = null;
    answer.given = true;
    answer.type ??= file.contentType;
    setDefault(answer, "Content-Disposition", file.disposition);
    setDefault(answer, "Cache-Control", file.cacheControl);
    const range = response.status === 200 ? settle(request, answer, file, opened) : undefined;
    if (answer.status === 304) return answer;
    setDefault(answer, "Content-Encoding", file.options.contentEncoding);

    const start = range?.start ?? 0;
    const length = range ? range.end - range.start + 1 : opened.size;
    if (request.method === "HEAD") {
      answer.headers.set("Content-Length", length);
    } else if (length <= smallSize) {
      answer.headers.delete("Content-Length");
      answer.body = await readExactly(opened.handle, start, length);
    } else {
      answer.headers.set("Content-Length", length);
      answer.body = new FileStream(opened.handle, start, length);
      streaming = true;
    }
    return answer;
  } finally {
    if (!streaming) await opened.handle.close();
  }
}

/** Evaluates conditions and ranges: sets status 304, or status 206 and the range; throws 412 and 416. */
function settle(request: Request, answer: Response, file: FileBody, opened: OpenFile): ByteRange | undefined {
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  const header = (name: string): string | undefined => request.source.header(name);
  const validators = addValidators(answer, file, opened);
  setDefault(answer, "Accept-Ranges", "bytes");
  const verdict = evaluateConditions(request.method, header, validators);
  if (verdict === "failed") throw httpError("PRECONDITION_FAILED");
  if (verdict === "unchanged") {
    answer.status = 304;
    answer.type = null;
    return undefined;
  }
  const field = header("range");
  // RFC 9110 section 14.2: a Range is for GET alone.
  if (field === undefined || request.method !== "GET" || !allowsRange(header("if-range"), validators)) return undefined;
  const range = parseRange(field, opened.size);
  if (range === "unsatisfiable") {
    throw httpError("RANGE_NOT_SATISFIABLE", undefined, { headers: { "Content-Range": `bytes */${opened.size}` } });
  }
  if (!range) return undefined;
  answer.status = 206;
  answer.headers.set("Content-Range", `bytes ${range.start}-${range.end}/${opened.size}`);
  return range;
}

/** Fields that the handler set are kept and used. */
function addValidators(answer: Response, file: FileBody, opened: OpenFile): Validators {
  const { etag = true, lastModified = true } = file.options;
  setDefault(answer, "ETag", etag === true ? opened.tag : etag || undefined);
  if (lastModified !== false) {
    const time = lastModified === true ? opened.modified : lastModified.getTime();
    // RFC 9110 section 8.8.2.1: never later than now.
    setDefault(answer, "Last-Modified", formatHttpDate(Math.min(time, Date.now())));
  }
  const modified = answer.headers.get("last-modified");
  return {
    etag: answer.headers.get("etag"),
    lastModified: modified === undefined ? undefined : parseHttpDate(modified),
  };
}

function setDefault(answer: Response, name: string, value: string | undefined): void {
  if (value !== undefined && !answer.headers.has(name)) answer.addField(name, value);
}
