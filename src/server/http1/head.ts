import type { ErrorCode } from "../../errors/table.js";
import { requestMethods } from "../../http/methods.js";
import { originForm } from "../authority.js";
import type { ServerLimits } from "../limits.js";
import { PathCache } from "./path-cache.js";

const CR = 0x0d;
const LF = 0x0a;
const SP = 0x20;
const HTAB = 0x09;
const COLON = 0x3a;

const TOKEN = 1;
const VALUE = 2;
const TARGET = 4;
const HOST = 8;
const PATH = 16;

/** The classes of each byte: token, field value (RFC 9110 section 5), request target, host, path of a target. */
const classes = new Uint8Array(256);
for (let byte = 0x21; byte <= 0x7e; byte++) classes[byte] = VALUE | TARGET | PATH;
for (let byte = 0x80; byte <= 0xff; byte++) classes[byte] = VALUE;
classes[SP] = VALUE;
classes[HTAB] = VALUE;
classes[0x23] = VALUE; // "#": a fragment is never sent
classes[0x3f] = VALUE | TARGET; // "?": the query begins
for (const char of "!#$%&'*+-.^_`|~") classes[char.charCodeAt(0)]! |= TOKEN;
for (const char of "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  classes[char.charCodeAt(0)]! |= TOKEN | HOST;
}
for (const char of "-._~%!$&'()*+,;=") classes[char.charCodeAt(0)]! |= HOST; // RFC 3986 section 3.2.2

/** The fields that framing depends on, each at the length of its name: no two are equally long. "" stands for none. */
const framingFields: string[] = new Array<string>(18).fill("");
for (const name of ["host", "expect", "upgrade", "connection", "content-length", "transfer-encoding"]) {
  framingFields[name.length] = name;
}

const methods = new Set(requestMethods);
/** Characters of a method: those of the longest known one, and a few more. */
const maxMethod = 32;

/** More of the head has to arrive. */
export const INCOMPLETE = 0;
/** The request is refused, with the `error` of the parser. */
export const REFUSED = -1;

/**
 * Parses the head of a request in one pass that checks every byte and finds the fields that framing depends on. One
 * parser serves all connections: its results are valid until it is used again.
 */
export class HeadParser {
  error: ErrorCode = "MALFORMED_REQUEST";
  method = "";
  /** The path of the target; the whole target if it is no path. */
  path = "";
  /** The query, with its question mark, begins and ends here. */
  searchStart = 0;
  searchEnd = 0;
  /** The request is HTTP/1.0. */
  old = false;
  /** The field lines begin here. */
  fieldsStart = 0;
  /** The value of Content-Length; -1 without one. */
  contentLength = -1;
  chunked = false;
  keepAlive = false;
  expectsContinue = false;
  wantsWebSocket = false;
  /** If the head is not complete: the size beyond which it may have become too long. */
  parseAgainAt = 0;

  readonly #maxHead: number;
  readonly #maxTarget: number;
  readonly #maxFields: number;
  readonly #paths = new PathCache();
  #hosts = 0;
  #hostStart = 0;
  #hostEnd = 0;
  #close = false;
  #persist = false;
  #upgrade = false;
  #webSocket = false;
  #expect = false;

  constructor(limits: ServerLimits) {
    this.#maxHead = limits.maxHeadSize;
    this.#maxTarget = limits.maxTargetSize;
    this.#maxFields = limits.maxHeaders;
  }

  /** Returns the end of the head, or INCOMPLETE, or REFUSED. */
  parse(bytes: Buffer, start: number, end: number): number {
    let pos = start;
    this.parseAgainAt = this.#maxTarget;
    // RFC 9112 section 2.2: an empty line before the request line is ignored; old clients were seen to send one.
    if (bytes[pos] === CR) {
      if (pos + 1 === end) return INCOMPLETE;
      if (bytes[pos + 1] !== LF) return this.#refuse("MALFORMED_REQUEST");
      pos += 2;
    }
    const lineStart = pos;
    let method = "GET";
    let known = true;
    if (
      end - pos > 4 &&
      bytes[pos] === 0x47 &&
      bytes[pos + 1] === 0x45 &&
      bytes[pos + 2] === 0x54 &&
      bytes[pos + 3] === SP
    ) {
      pos += 3;
    } else {
      while (pos < end && classes[bytes[pos]!]! & TOKEN) pos++;
      if (pos - lineStart > maxMethod) return this.#refuse("NOT_IMPLEMENTED");
      if (pos === end) return INCOMPLETE;
      if (bytes[pos] !== SP || pos === lineStart) return this.#refuse("MALFORMED_REQUEST");
      method = bytes.toString("latin1", lineStart, pos);
      known = methods.has(method);
      if (method === "CONNECT") return this.#refuse("NOT_IMPLEMENTED");
    }
    const targetStart = ++pos;
    let hash = 0;
    while (pos < end) {
      const byte = bytes[pos]!;
      if (!(classes[byte]! & PATH)) break;
      hash = (hash * 31 + byte) | 0;
      pos++;
    }
    const pathEnd = pos;
    while (pos < end && classes[bytes[pos]!]! & TARGET) pos++;
    const targetEnd = pos;
    if (targetEnd - targetStart > this.#maxTarget) return this.#refuse("URI_TOO_LONG");
    if (pos === end) return INCOMPLETE;
    if (bytes[pos] !== SP || targetEnd === targetStart) return this.#refuse("MALFORMED_REQUEST");
    if (end - pos < 11) {
      return scanAddition(bytes, pos, pos, end) === GOOD ? INCOMPLETE : this.#refuse("MALFORMED_REQUEST");
    }
    const minor = versionAt(bytes, pos + 1);
    if (minor > 1) return this.#refuse(minor === 2 ? "HTTP_VERSION_NOT_SUPPORTED" : "MALFORMED_REQUEST");
    pos += 11;
    this.fieldsStart = pos;
    this.parseAgainAt = this.#maxHead;

    this.contentLength = -1;
    this.chunked = false;
    this.#hosts = 0;
    this.#close = false;
    this.#persist = false;
    this.#upgrade = false;
    this.#webSocket = false;
    this.#expect = false;
    let fields = 0;
    for (;;) {
      const nameStart = pos;
      while (pos < end && classes[bytes[pos]!]! & TOKEN) pos++;
      if (pos === end) return this.#unfinished(start, end);
      if (pos === nameStart) {
        if (bytes[pos] !== CR) return this.#refuse("MALFORMED_REQUEST");
        if (pos + 1 === end) return this.#unfinished(start, end);
        if (bytes[pos + 1] !== LF) return this.#refuse("MALFORMED_REQUEST");
        pos += 2;
        break;
      }
      if (bytes[pos] !== COLON) return this.#refuse("MALFORMED_REQUEST");
      const nameEnd = pos++;
      while (pos < end && classes[bytes[pos]!]! & VALUE) pos++;
      if (pos === end) return this.#unfinished(start, end);
      if (bytes[pos] !== CR) return this.#refuse("MALFORMED_REQUEST");
      if (pos + 1 === end) return this.#unfinished(start, end);
      if (bytes[pos + 1] !== LF) return this.#refuse("MALFORMED_REQUEST");
      if (++fields > this.#maxFields) return this.#refuse("HEADERS_TOO_LARGE");
      if (!this.#noteField(bytes, nameStart, nameEnd, pos)) return REFUSED;
      pos += 2;
    }
    if (pos - start > this.#maxHead) return this.#refuse("HEADERS_TOO_LARGE");
    this.method = method;
    this.old = minor === 0;
    this.path = this.#paths.get(bytes, targetStart, pathEnd, hash);
    this.searchStart = pathEnd;
    this.searchEnd = targetEnd;
    if (!this.#conclude(bytes)) return REFUSED;
    // The application says which methods the path has. What such a client sends next is not to be trusted.
    if (!known) this.keepAlive = false;
    return pos;
  }

  /** Notes the meaning of a field for framing; false if the request must be refused. */
  #noteField(bytes: Buffer, nameStart: number, nameEnd: number, lineEnd: number): boolean {
    const length = nameEnd - nameStart;
    const name = length < framingFields.length ? framingFields[length]! : "";
    if (name === "" || !isNamed(bytes, nameStart, name)) return true;
    let from = nameEnd + 1;
    let to = lineEnd;
    while (from < to && (bytes[from] === SP || bytes[from] === HTAB)) from++;
    while (to > from && (bytes[to - 1] === SP || bytes[to - 1] === HTAB)) to--;
    switch (name) {
      case "host":
        this.#hosts++;
        this.#hostStart = from;
        this.#hostEnd = to;
        return true;
      case "expect":
        this.#expect = true;
        if (to - from === 12 && isNamed(bytes, from, "100-continue")) return true;
        this.error = "EXPECTATION_FAILED";
        return false;
      case "upgrade":
        if (includesToken(bytes, from, to, "websocket")) this.#webSocket = true;
        return true;
      case "connection":
        if (to - from === 10 && isNamed(bytes, from, "keep-alive")) {
          this.#persist = true;
          return true;
        }
        if (includesToken(bytes, from, to, "close")) this.#close = true;
        if (includesToken(bytes, from, to, "keep-alive")) this.#persist = true;
        if (includesToken(bytes, from, to, "upgrade")) this.#upgrade = true;
        return true;
      case "content-length":
        // Two lengths, even equal ones, make smuggling possible (RFC 9112 section 6.3 allows to refuse them).
        if (this.contentLength === -1) this.contentLength = parseLength(bytes, from, to);
        else this.contentLength = -2;
        break;
      case "transfer-encoding":
        if (this.chunked || to - from !== 7 || !isNamed(bytes, from, "chunked")) this.contentLength = -2;
        this.chunked = true;
    }
    // -2 stands for a length that cannot be trusted, whichever field spoiled it.
    if (this.contentLength !== -2 && !(this.chunked && this.contentLength !== -1)) return true;
    this.error = "MALFORMED_REQUEST";
    return false;
  }

  #conclude(bytes: Buffer): boolean {
    this.error = "MALFORMED_REQUEST";
    if (this.#hosts !== 1) {
      if (this.#hosts > 1 || !this.old) return false;
    } else if (!isHost(bytes, this.#hostStart, this.#hostEnd)) {
      return false;
    }
    if (this.old) {
      if (this.chunked) return false;
      this.keepAlive = this.#persist && !this.#close;
      // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
      this.expectsContinue = false;
      this.wantsWebSocket = false;
    } else {
      this.keepAlive = !this.#close;
      this.expectsContinue = this.#expect;
      this.wantsWebSocket =
        this.#webSocket && this.#upgrade && this.method === "GET" && this.contentLength <= 0 && !this.chunked;
    }
    if (this.path.charCodeAt(0) === 0x2f) return true;
    if (this.path === "*" && this.searchStart === this.searchEnd) return this.method === "OPTIONS";
    return this.#absoluteForm(bytes);
  }

  /** RFC 9112 section 3.2.2: an absolute target wins over Host; one that differs from it is refused. */
  #absoluteForm(bytes: Buffer): boolean {
    if (this.#hosts !== 1) return false;
    const path = originForm(this.path, bytes.toString("latin1", this.#hostStart, this.#hostEnd));
    if (path === null) return false;
    this.path = path;
    return true;
  }

  #unfinished(start: number, end: number): number {
    return end - start > this.#maxHead ? this.#refuse("HEADERS_TOO_LARGE") : INCOMPLETE;
  }

  #refuse(error: ErrorCode): number {
    this.error = error;
    return REFUSED;
  }
}

/** Bytes added to an unfinished head: a good part of a line; the end of a line, so that the head is parsed again; or bad. */
export const GOOD = 0;
export const LINE = 1;
export const BAD = 2;

/**
 * Checks bytes that were added to an unfinished head, so that a bad byte is refused when it arrives. The scan stops at the
 * first end of a line: the head may end there, and the bytes of a body behind it follow other rules.
 */
export function scanAddition(bytes: Buffer, start: number, from: number, end: number): number {
  // The first byte of a line shows that a line is folded, which only the parser refuses.
  if (from > start && bytes[from - 1] === LF) return LINE;
  let afterCr = from > start && bytes[from - 1] === CR;
  for (let pos = from; pos < end; pos++) {
    const byte = bytes[pos]!;
    if (afterCr) return byte === LF ? LINE : BAD;
    afterCr = byte === CR;
    if (!afterCr && !(classes[byte]! & VALUE)) return BAD;
  }
  return GOOD;
}

/** The minor version of `HTTP/1.x` and CRLF at this place; 2 for another version of HTTP, 3 for anything else. */
function versionAt(bytes: Buffer, at: number): number {
  if (
    bytes[at] === 0x48 &&
    bytes[at + 1] === 0x54 &&
    bytes[at + 2] === 0x54 &&
    bytes[at + 3] === 0x50 &&
    bytes[at + 4] === 0x2f &&
    bytes[at + 6] === 0x2e &&
    bytes[at + 8] === CR &&
    bytes[at + 9] === LF
  ) {
    const major = bytes[at + 5]! - 0x30;
    const minor = bytes[at + 7]! - 0x30;
    if (major === 1 && (minor === 0 || minor === 1)) return minor;
    return major >= 0 && major <= 9 && minor >= 0 && minor <= 9 ? 2 : 3;
  }
  return 3;
}

/** True if the bytes are this lower-case text in any case; only for text of letters, digits and "-". */
function isNamed(bytes: Buffer, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if ((bytes[start + i]! | 0x20) !== text.charCodeAt(i)) return false;
  }
  return true;
}

function includesToken(bytes: Buffer, from: number, to: number, token: string): boolean {
  const list = bytes.toString("latin1", from, to).toLowerCase().split(",");
  return list.some((item) => item.trim() === token);
}

/** The number, or -2 if it is none or too large to be exact. */
function parseLength(bytes: Buffer, from: number, to: number): number {
  if (to === from || to - from > 15) return -2;
  let length = 0;
  for (let pos = from; pos < to; pos++) {
    const digit = bytes[pos]! - 0x30;
    if (digit < 0 || digit > 9) return -2;
    length = length * 10 + digit;
  }
  return length;
}

/** `host[:port]`, the host a name, an IPv4 address or an IPv6 address in brackets. */
function isHost(bytes: Buffer, from: number, to: number): boolean {
  let pos = from;
  if (bytes[pos] === 0x5b) {
    const close = bytes.indexOf("]", pos, "latin1");
    if (close === -1 || close >= to || !/^[0-9a-f:.]+$/i.test(bytes.toString("latin1", pos + 1, close))) return false;
    pos = close + 1;
  } else {
    while (pos < to && classes[bytes[pos]!]! & HOST) pos++;
    if (pos === from) return false;
  }
  if (pos === to) return true;
  if (bytes[pos] !== COLON || to - pos > 6) return false;
  while (++pos < to) {
    if (bytes[pos]! < 0x30 || bytes[pos]! > 0x39) return false;
  }
  return true;
}
