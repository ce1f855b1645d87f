import { addSnakeNames, type SnakeMembers } from "../kit/names.js";
import { show } from "../kit/options.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import { discardBody, takeErrors } from "./discard.js";
import { type CookieOptions, serializeCookie } from "./fields/cookies.js";
import { checkHeader, type HeadersInit, ResponseHeaders } from "./fields/headers.js";
import { FileBody, type FileOptions } from "./files/file-body.js";
import { toJson } from "./json/to-json.js";
import type { UpgradeCallback } from "./source.js";
import { type SseOptions, type SseSource, sseStream } from "./sse.js";
import { isBodiless } from "./status.js";

export type { HeadersInit } from "./fields/headers.js";

/** The status and headers of a response. */
export interface ResponseInit {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: HeadersInit;
}

/** A body that is sent in pieces, while it is produced. */
export type BodyStream = AsyncIterable<Uint8Array | string>;

/** The types of a body. */
export type ResponseBody = string | Uint8Array | BodyStream | FileBody | null;

const jsonType = "application/json";
const textType = "text/plain; charset=utf-8";
const htmlType = "text/html; charset=utf-8";
const bytesType = "application/octet-stream";

class BaseResponse {
  /** The HTTP status. */
  status: number;
  /** The body before compression. */
  body: ResponseBody;
  /** @internal Content-Type. Separate from the other fields, because a transport prepares heads by it. */
  type: string | null;
  /** @internal Names and values of the other fields in turn; null while there are none. */
  fields: string[] | null = null;
  /** @internal Set when the connection changes protocol (status 101). */
  upgrade: UpgradeCallback | null = null;
  /** @internal Set by `cacheTags`. */
  tags: string[] | null = null;
  /** @internal True if the response belongs to one request and middleware may change it. */
  given = false;

  /** `type` is the Content-Type, unless the headers of `init` set another. */
  constructor(body?: ResponseBody, init?: ResponseInit | number, type?: string) {
    this.body = body ?? null;
    if (typeof body === "object" && body !== null) takeErrors(body);
    try {
      this.type =
        type ?? (body === undefined || body === null ? null : typeof body === "string" ? textType : typeOf(body));
      if (init === undefined) {
        this.status = 200;
      } else if (typeof init !== "object") {
        this.status = checkStatus(init);
      } else {
        for (const name in init) if (name !== "status" && name !== "headers") refuseOption(init, name);
        this.status = init.status === undefined ? 200 : checkStatus(init.status);
        if (init.headers) addHeaders(this, init.headers);
      }
      if (this.body !== null && isBodiless(this.status)) {
        throw new ValueError(`a response with status ${this.status} cannot have a body`);
      }
    } catch (error) {
      discardBody(this);
      throw error;
    }
  }

  /** The header fields. Names are case-insensitive. */
  get headers(): ResponseHeaders {
    return new ResponseHeaders(this);
  }

  /** True if the status is 200 to 299. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Sets a header field and replaces earlier values. A body that is a stream is ended if the field is not valid. */
  header(name: string, value: string | number): this {
    try {
      this.headers.set(name, value);
    } catch (error) {
      discardBody(this);
      throw error;
    }
    return this;
  }

  /** Adds a Set-Cookie field. */
  cookie(name: string, value: string, options?: CookieOptions): this {
    this.addField("Set-Cookie", serializeCookie(name, value, options));
    return this;
  }

  /** Removes a cookie from the browser. `path` and `domain` must be those that it was set with. */
  clearCookie(name: string, options?: CookieOptions): this {
    return this.cookie(name, "", { ...options, maxAge: 0, expires: new Date(0) });
  }

  /** Adds tags for `invalidateCache`. They are never sent to the client. */
  cacheTags(...tags: string[]): this {
    (this.tags ??= []).push(...tags);
    return this;
  }

  /** A copy with its own status and headers. A body that is a stream is shared. */
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

  /** @internal Adds a field without checking its name and value. */
  addField(name: string, value: string): void {
    (this.fields ??= []).push(name, value);
  }

  /** A JSON response. A Map is sent as an object, a Set as a list, a bigint as a string. */
  static json(data: unknown, init?: ResponseInit | number): Response {
    const text = toJson(data);
    if (text === undefined) throw new ValueError(`${typeof data} cannot be sent as JSON`);
    return new Response(text, init, jsonType);
  }

  /** A plain text response. */
  static text(text: string, init?: ResponseInit | number): Response {
    return new Response(text, init, textType);
  }

  /** An HTML response. The text is not escaped. */
  static html(html: string, init?: ResponseInit | number): Response {
    return new Response(html, init, htmlType);
  }

  /** A response of type application/octet-stream. */
  static bytes(bytes: Uint8Array, init?: ResponseInit | number): Response {
    return new Response(bytes, init, bytesType);
  }

  /** A response with status 204 and without a body. */
  static noContent(): Response {
    return new Response(null, 204);
  }

  /** A redirect, 302 by default. Characters that are not allowed in a URL are escaped. */
  static redirect(url: string | URL, status: number | ResponseInit = 302): Response {
    const init = typeof status === "number" ? { status } : { ...status, status: status.status ?? 302 };
    if (![301, 302, 303, 307, 308].includes(init.status)) {
      throw new ValueError(`${init.status} is not a status of a redirect; use 301, 302, 303, 307 or 308`);
    }
    const response = new Response(null, init);
    response.addField("Location", escapeLocation(String(url)));
    return response;
  }

  /**
   * A redirect to a path of this site, for targets that come from the client, such as the page to go to after a login. All
   * others, which lead to another site or are missing, are replaced by `fallback`.
   */
  static redirectLocal(target: unknown, fallback = "/", status: number | ResponseInit = 302): Response {
    return BaseResponse.redirect(localTarget(target) ?? fallback, status);
  }

  /** A file. Conditional requests and ranges are supported; a missing file gets 404. */
  static file(path: string | URL, options?: FileOptions): Response {
    const body = new FileBody(path, options);
    const { status, headers } = body.options;
    return new Response(body, { status, headers });
  }

  /** A response whose body is sent in pieces, as fast as the client reads. */
  static stream(body: BodyStream | ReadableStream<Uint8Array | string>, init?: ResponseInit | number): Response {
    return new Response(body as BodyStream, init);
  }

  /** Server-sent events, with a heartbeat. The source is ended when the client disconnects. */
  static sse(source: SseSource, options?: SseOptions): Response {
    const response = new Response(sseStream(source, options), 200, "text/event-stream");
    response.addField("Cache-Control", "no-cache");
    response.addField("X-Accel-Buffering", "no");
    return response;
  }
}

/** An HTTP response. Handlers make one, or it is made from the value that they return. */
export class Response extends BaseResponse {}
export interface Response extends SnakeMembers<BaseResponse, "clearCookie" | "cacheTags", Response> {}
export declare namespace Response {
  /** The contract's spelling of `noContent`. */
  const no_content: () => Response;
  /** The contract's spelling of `redirectLocal`. */
  const redirect_local: (target: unknown, fallback?: string, status?: number | ResponseInit) => Response;
}
addSnakeNames(BaseResponse, ["noContent", "redirectLocal"]);
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
  if (body instanceof FileBody) return body.contentType;
  if (body instanceof Uint8Array || (typeof body === "object" && Symbol.asyncIterator in body)) return bytesType;
  throw new ValueError(
    `a response cannot have ${show(body)} as its body: it is text, bytes or a stream; use Response.json() for a value`,
  );
}

/** Inherited names are those of a web Response, whose status and headers can be passed on. */
function refuseOption(init: object, name: string): void {
  if (!Object.hasOwn(init, name)) return;
  throw new ValueError(`a response has no option '${name}'${didYouMean(name, ["status", "headers"])}`);
}

function checkStatus(status: number): number {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new ValueError(`${String(status)} is not a status of a response; it must be an integer from 200 to 599`);
  }
  return status;
}

/** Percent-encodes characters that a header cannot have. Escapes stay as they are. */
function escapeLocation(url: string): string {
  return url.replace(/[^\x21-\x7e]+/g, (run) => encodeURIComponent(run.toWellFormed()));
}

/** Throws for a piece of a stream that is neither text nor bytes. */
export function checkPiece(piece: unknown): void {
  if (typeof piece === "string" || piece instanceof Uint8Array) return;
  throw new ValueError(`a stream is sent as text or bytes; it yielded ${show(piece)}`);
}

/** An origin that no server has. */
const base = "http://stoa.invalid";

/**
 * The target of a redirect if it stays on this site: a path, with a query and a fragment perhaps. Undefined for all others:
 * browsers read `//host`, `/\host` and a path with a tab or a line break in it as the address of another site.
 */
function localTarget(target: unknown): string | undefined {
  if (typeof target !== "string" || !/^\/(?![/\\])/.test(target) || /[\x00-\x1f\x7f\\]/.test(target)) return undefined;
  // The last word has the parser that browsers use. `/.//host` has the path `//host`.
  const url = URL.canParse(target, base) ? new URL(target, base) : null;
  return url?.origin === base && !url.pathname.startsWith("//") ? target : undefined;
}
