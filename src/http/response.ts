import { addSnakeNames, type SnakeMembers } from "../internal/names.js";
import { ValueError } from "../internal/value-error.js";
import { type CookieOptions, serializeCookie } from "./cookies.js";
import { FileBody, type FileOptions } from "./file-body.js";
import { checkHeader, type HeadersInit, ResponseHeaders } from "./headers.js";
import type { UpgradeCallback } from "./source.js";
import { type SseOptions, type SseSource, sseStream } from "./sse.js";
import { isBodiless } from "./status.js";
import { toJson } from "./to-json.js";

export type { HeadersInit } from "./headers.js";

export interface ResponseInit {
  readonly status?: number;
  readonly headers?: HeadersInit;
}

/** Pieces of a body that is sent while it is made. */
export type BodyStream = AsyncIterable<Uint8Array | string>;

/** What a response can carry. */
export type ResponseBody = string | Uint8Array | BodyStream | FileBody | null;

const jsonType = "application/json";
const textType = "text/plain; charset=utf-8";
const htmlType = "text/html; charset=utf-8";
const bytesType = "application/octet-stream";

class BaseResponse {
  status: number;
  /** The body as it will be sent, before compression and the like. */
  body: ResponseBody;
  /** @internal Content-Type, apart from the other fields because a transport prepares heads by it. */
  type: string | null;
  /** @internal Names and values of the other fields in turn; null while there are none. */
  fields: string[] | null = null;
  /** @internal Set when the connection changes protocol (status 101). */
  upgrade: UpgradeCallback | null = null;
  /** @internal Set by `cacheTags`. */
  tags: string[] | null = null;
  /** @internal Whether it belongs to the answer of one request and may be changed for it. */
  given = false;

  /** `type` is what Content-Type is unless the init's headers say otherwise. */
  constructor(body?: ResponseBody, init?: ResponseInit | number, type?: string) {
    this.body = body ?? null;
    this.type =
      type ?? (body === undefined || body === null ? null : typeof body === "string" ? textType : typeOf(body));
    if (init === undefined) {
      this.status = 200;
    } else if (typeof init !== "object") {
      this.status = checkStatus(init);
    } else {
      this.status = init.status === undefined ? 200 : checkStatus(init.status);
      if (init.headers) addHeaders(this, init.headers);
    }
    if (this.body !== null && isBodiless(this.status)) {
      throw new ValueError(`a response with status ${this.status} cannot have a body`);
    }
  }

  get headers(): ResponseHeaders {
    return new ResponseHeaders(this);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Sets a header field, in place of a value it had. */
  header(name: string, value: string | number): this {
    this.headers.set(name, value);
    return this;
  }

  /** Adds a Set-Cookie field. */
  cookie(name: string, value: string, options?: CookieOptions): this {
    this.addField("Set-Cookie", serializeCookie(name, value, options));
    return this;
  }

  /** Tells the browser to forget a cookie; `path` and `domain` must be those it was set with. */
  clearCookie(name: string, options?: CookieOptions): this {
    return this.cookie(name, "", { ...options, maxAge: 0, expires: new Date(0) });
  }

  /** Names the response for `invalidateCache`; never sent to the client. */
  cacheTags(...tags: string[]): this {
    (this.tags ??= []).push(...tags);
    return this;
  }

  /** A copy whose status and headers can be changed apart from this one's. A body that is a stream is shared. */
  clone(): Response {
    const copy = new Response();
    copy.body = this.body;
    copy.status = this.status;
    copy.type = this.type;
    copy.fields = this.fields && [...this.fields];
    copy.tags = this.tags && [...this.tags];
    copy.upgrade = this.upgrade;
    return copy;
  }

  /** @internal Adds a field whose name and value are known to be sound. */
  addField(name: string, value: string): void {
    (this.fields ??= []).push(name, value);
  }

  static json(data: unknown, init?: ResponseInit | number): Response {
    const text = toJson(data);
    if (text === undefined) throw new ValueError(`${typeof data} cannot be sent as JSON`);
    return new Response(text, init, jsonType);
  }

  static text(text: string, init?: ResponseInit | number): Response {
    return new Response(text, init, textType);
  }

  static html(html: string, init?: ResponseInit | number): Response {
    return new Response(html, init, htmlType);
  }

  static bytes(bytes: Uint8Array, init?: ResponseInit | number): Response {
    return new Response(bytes, init, bytesType);
  }

  static noContent(): Response {
    return new Response(null, 204);
  }

  /** Sends the client elsewhere; what cannot stand in a URL is escaped. */
  static redirect(url: string | URL, status: number | ResponseInit = 302): Response {
    const init = typeof status === "number" ? { status } : { ...status, status: status.status ?? 302 };
    if (![301, 302, 303, 307, 308].includes(init.status)) {
      throw new ValueError(`${init.status} is not a status of a redirect; use 301, 302, 303, 307 or 308`);
    }
    const response = new Response(null, init);
    response.addField("Location", escapeLocation(String(url)));
    return response;
  }

  /** A file, with conditions and ranges answered; 404 when it is not there. */
  static file(path: string | URL, options?: FileOptions): Response {
    const body = new FileBody(path, options);
    return new Response(body, body.options);
  }

  /** A body sent piece by piece, at the client's pace. */
  static stream(body: BodyStream | ReadableStream<Uint8Array | string>, init?: ResponseInit | number): Response {
    return new Response(body as BodyStream, init);
  }

  /** Server-sent events, with a heartbeat; the source ends when the client leaves. */
  static sse(source: SseSource, options?: SseOptions): Response {
    const response = new Response(sseStream(source, options), 200, "text/event-stream");
    response.addField("Cache-Control", "no-cache");
    response.addField("X-Accel-Buffering", "no");
    return response;
  }
}

/** An answer. Made by a handler, or from what a handler returns. */
export class Response extends BaseResponse {}
export interface Response extends SnakeMembers<BaseResponse, "clearCookie" | "cacheTags", Response> {}
export declare namespace Response {
  /** The contract's spelling of `noContent`. */
  const no_content: () => Response;
}
addSnakeNames(BaseResponse, ["noContent"]);
addSnakeNames(BaseResponse.prototype, ["clearCookie", "cacheTags"]);

/** @internal A JSON response from text that is JSON already. */
export function jsonResponse(text: string, status: number): Response {
  const response = new Response(text);
  response.status = status;
  response.type = jsonType;
  return response;
}

/** @internal */
export function addHeaders(response: BaseResponse, headers: HeadersInit): void {
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
  for (const [name, value] of entries as Iterable<[string, string | number | readonly string[]]>) {
    for (const item of Array.isArray(value) ? value : [value]) {
      const text = String(item);
      checkHeader(name, text);
      if (name.toLowerCase() === "content-type") response.type = text;
      else response.addField(name, text);
    }
  }
}

function typeOf(body: Exclude<ResponseBody, string | null>): string {
  return body instanceof FileBody ? body.contentType : bytesType;
}

function checkStatus(status: number): number {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new ValueError(`${String(status)} is not a status of a response; it must be an integer from 200 to 599`);
  }
  return status;
}

/** Percent-encodes what may not stand in a header; what is encoded already stays. */
function escapeLocation(url: string): string {
  return url.replace(/[^\x21-\x7e]+/g, (run) => encodeURIComponent(run.toWellFormed()));
}

/** Tells the source of a body that it will not be sent. */
export function discardBody(response: Response): void {
  const body = response.body;
  if (typeof body !== "object" || body === null || !(Symbol.asyncIterator in body)) return;
  try {
    stopIterator(body[Symbol.asyncIterator]());
  } catch {
    // A body that cannot be iterated has nothing to stop.
  }
}

/** Ends an iteration early. Errors of an abandoned body are ignored. */
export function stopIterator(iterator: AsyncIterator<unknown>): void {
  try {
    iterator.return?.()?.then(undefined, ignore);
  } catch {
    // Thrown by `return` itself.
  }
}

function ignore(): void {}
