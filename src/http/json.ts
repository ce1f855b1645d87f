import { isUtf8 } from "node:buffer";
import { httpError } from "../errors/http-error.js";
import { utf8Of } from "../internal/encoding.js";

/** How deep a JSON document may be nested. */
export const maxJsonDepth = 128;

/** Parses a body as JSON; anything that is not exactly one sound document is refused with 400. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw httpError("EMPTY_BODY");
  if (!isUtf8(bytes)) throw httpError("MALFORMED_JSON", "The body is not valid UTF-8.");
  const text = utf8Of(bytes);
  if (isDeeperThan(text, maxJsonDepth)) {
    throw httpError("MALFORMED_JSON", `The body is nested deeper than ${maxJsonDepth} levels.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the input, which must not be reflected.
    throw httpError("MALFORMED_JSON");
  }
  if (mayPollute(text) && pollutes(value)) {
    throw httpError("MALFORMED_JSON", "The body holds a key that is not allowed.");
  }
  if (mayOverflow(text) && overflows(value)) {
    throw httpError("MALFORMED_JSON", "The body holds a number that is out of range.");
  }
  return value;
}

/** Throws 415 if a body says that it is something else than JSON. */
export function assertJsonType(contentType: string | undefined): void {
  if (contentType === undefined || isJsonType(contentType)) return;
  throw httpError("UNSUPPORTED_MEDIA_TYPE", "JSON is expected here, sent with Content-Type: application/json.");
}

/** Content types that `json()` takes: application/json and anything `+json`, with well-formed parameters. */
const jsonContentType =
  /^[ \t]*(?:application\/json|[!#$%&'*.^_`|~0-9A-Za-z-]+\/[!#$%&'*.^_`|~0-9A-Za-z-]+\+json)[ \t]*(?:;[ \t]*(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[^"\\\r\n]*")[ \t]*)?)*$/i;

export function isJsonType(contentType: string): boolean {
  return contentType === "application/json" || jsonContentType.test(contentType);
}

/**
 * Whether brackets are nested deeper than `limit` in what may be a document. Each that opens must be closed, so a short
 * text cannot be. Few brackets in all, the usual case, are counted by hopping from one to the next; only a document with
 * many is read through.
 */
export function isDeeperThan(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false;
  let brackets = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++brackets > limit) return scanDepth(text, limit);
    }
  }
  return false;
}

function scanDepth(text: string, limit: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (quoted) {
      if (code === 0x5c) i++;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/**
 * Whether a dangerous key, `__proto__` or a `prototype` below a `constructor`, can be in the text at all, escaped or not;
 * searching is far cheaper than walking the value.
 */
export function mayPollute(text: string): boolean {
  return text.includes("proto") || text.includes("\\u00");
}

/** Whether an object holds a key that would reach a prototype when it is copied or merged. Depth is bounded by now. */
export function pollutes(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(pollutes);
  if (Object.hasOwn(value, "__proto__")) return true;
  if (Object.hasOwn(value, "constructor")) {
    const inner = (value as { constructor: unknown }).constructor;
    if (typeof inner === "object" && inner !== null && Object.hasOwn(inner, "prototype")) return true;
  }
  return Object.values(value).some(pollutes);
}

/**
 * Whether a number can be too large: the largest has 309 digits, so it takes an exponent of three digits or a run of at
 * least 209, which covers two neighbours among every 104th character.
 */
export function mayOverflow(text: string): boolean {
  if (/\d[eE][+\d]\d\d/.test(text)) return true;
  for (let i = 0; i + 104 < text.length; i += 104) {
    if (isDigit(text.charCodeAt(i)) && isDigit(text.charCodeAt(i + 104))) return true;
  }
  return false;
}

/** JSON.parse makes Infinity of 1e999, which would then be stored or sent as null. */
function overflows(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) ? value.some(overflows) : Object.values(value).some(overflows);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
