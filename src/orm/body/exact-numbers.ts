import { isDigit, isExponent, minus, plus, point } from "../../http/json/json-number.js";
import { skipBlank } from "../../http/json/json-scan.js";

/** Stands before the text of a number. No text of a client begins with it: half a surrogate pair is refused. */
const mark = 0xd800;
const opening = Buffer.from('"\\ud800');
const quote = 0x22;
const colon = 0x3a;

/**
 * The document with these numbers as texts behind the mark, so that JSON.parse keeps their digits; JSON.parse of Node.js 20
 * does not show how a number was written. Null if one of them is malformed or stands for a key. `places` has the start and
 * the end of each number.
 */
export function withNumberTexts(bytes: Uint8Array, places: readonly number[]): Uint8Array | null {
  const marked = Buffer.allocUnsafe(bytes.length + (places.length / 2) * (opening.length + 1));
  let from = 0;
  let to = 0;
  for (let i = 0; i < places.length; i += 2) {
    const start = places[i]!;
    const end = places[i + 1]!;
    if (!isNumber(bytes, start, end) || bytes[skipBlank(bytes, end)] === colon) return null;
    // Byte by byte: between numbers there are few, and a call of `copy` takes as long as a hundred of them.
    while (from < start) marked[to++] = bytes[from++]!;
    for (let at = 0; at < opening.length; at++) marked[to++] = opening[at]!;
    while (from < end) marked[to++] = bytes[from++]!;
    marked[to++] = quote;
  }
  marked.set(bytes.subarray(from), to);
  return marked;
}

/** True if the bytes are a number of JSON. */
function isNumber(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === minus ? start + 1 : start;
  if (bytes[at] === 0x30 && isDigit(bytes[at + 1]!)) return false;
  at = digitsEnd(bytes, at);
  if (bytes[at] === point) {
    if (!isDigit(bytes[++at]!)) return false;
    at = digitsEnd(bytes, at);
  }
  if (isExponent(bytes[at]!)) {
    at++;
    if (bytes[at] === plus || bytes[at] === minus) at++;
    if (!isDigit(bytes[at]!)) return false;
    at = digitsEnd(bytes, at);
  }
  return at === end;
}

function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at]!)) at++;
  return at;
}

/** The text of a number; undefined if this is a text that the client has sent. */
export function numberText(text: string): string | undefined {
  return text.codePointAt(0) === mark ? text.slice(1) : undefined;
}

/** The value with doubles in the place of texts of numbers. Lists and objects are changed. */
export function withDoubles(value: unknown): unknown {
  if (typeof value === "string") return value.codePointAt(0) === mark ? Number(value.slice(1)) : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i];
      if (typeof item === "string" || typeof item === "object") value[i] = withDoubles(item);
    }
    return value;
  }
  const object = value as Record<string, unknown>;
  for (const key in object) {
    const item = object[key];
    if (typeof item === "string" || typeof item === "object") object[key] = withDoubles(item);
  }
  return value;
}
