import type { IncomingHttpHeaders } from "node:http2";
import type { ErrorCode } from "../../errors/table.js";
import { isSameAuthority } from "../authority.js";
import type { Http2Target } from "./source.js";

export interface HeadLimits {
  readonly maxHeadSize: number;
  readonly maxHeaders: number;
  readonly maxTargetSize: number;
}

const maxMethod = 32;
const authority = /^(?:\[[0-9a-f:.]+\]|[0-9a-z\-._~%!$&'()*+,;=]+)(?::\d{0,5})?$/i;
const visible = /^[\x21\x22\x24-\x7e]+$/;

/**
 * The target of a request, or the error of a request that nghttp2 accepts and we refuse. nghttp2 has checked the names
 * (in lower case, none that belongs to a connection), the order and number of pseudo-header fields and of Host, and the
 * length of the body. It has dropped fields with characters that are not valid. `size` is that of the head. White space around
 * values has been looked for before.
 */
export function checkRequest(
  headers: IncomingHttpHeaders,
  raw: readonly string[],
  size: number,
  limits: HeadLimits,
): Http2Target | ErrorCode {
  const method = headers[":method"] ?? "";
  const target = headers[":path"] ?? "";
  // RFC 8441: a WebSocket. nghttp2 has checked that it names a scheme and a path too.
  const wantsWebSocket = method === "CONNECT" && headers[":protocol"] === "websocket";
  if ((method === "CONNECT" && !wantsWebSocket) || method.length > maxMethod) return "NOT_IMPLEMENTED";
  if (target.length > limits.maxTargetSize) return "URI_TOO_LONG";
  if (size > limits.maxHeadSize || fieldsOf(raw) > limits.maxHeaders) return "HEADERS_TOO_LARGE";
  const scheme = headers[":scheme"];
  if (scheme !== "http" && scheme !== "https") return "MALFORMED_REQUEST";
  if (!visible.test(target)) return "MALFORMED_REQUEST";
  if (target.charCodeAt(0) !== 0x2f && !(target === "*" && method === "OPTIONS")) return "MALFORMED_REQUEST";
  const name = authorityOf(headers, scheme);
  if (name === undefined || !authority.test(name)) return "MALFORMED_REQUEST";
  const expectation = headers.expect;
  if (expectation !== undefined && expectation.toLowerCase() !== "100-continue") return "EXPECTATION_FAILED";
  return { method: wantsWebSocket ? "GET" : method, target, authority: name, wantsWebSocket };
}

/** True if a value begins or ends with white space: the request is malformed (RFC 9113 section 8.2.1). */
export function hasOuterSpace(raw: readonly string[]): boolean {
  for (let i = 1; i < raw.length; i += 2) {
    const value = raw[i]!;
    if (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1))) return true;
  }
  return false;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The size of a head as it is counted for HTTP/1.1, not as RFC 9113 does: a limit means the same on both. */
export function sizeOf(raw: readonly string[]): number {
  let size = 2 * raw.length;
  for (let i = 0; i < raw.length; i++) size += raw[i]!.length;
  return size;
}

/** The number of fields. Pseudo-header fields come first, and do not count. */
function fieldsOf(raw: readonly string[]): number {
  let first = 0;
  while (first < raw.length && raw[first]!.charCodeAt(0) === 0x3a) first += 2;
  return (raw.length - first) / 2;
}

/**
 * `:authority`, or the Host field of a request that was translated from HTTP/1.1. Undefined if there is none, or if both
 * exist and differ: two readers could route the request differently (RFC 9113 section 8.3.1).
 */
function authorityOf({ ":authority": given, host }: IncomingHttpHeaders, scheme: string): string | undefined {
  if (given === undefined || host === undefined) return given ?? host;
  return isSameAuthority(given, host, scheme) ? given : undefined;
}
