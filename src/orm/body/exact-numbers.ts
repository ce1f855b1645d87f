import { wordsOf } from "../../http/body/byte-runs.js";
import { asDigits, isDigit, isExponent, minus, plus, point, zeros } from "../../http/json/json-number.js";
import { skipBlank } from "../../http/json/json-scan.js";

/** Stands before the text of a number. No text of a client begins with it: half a surrogate pair is refused. */
const mark = 0xd800;
/** The bytes of `"\\ud800` as two words; the last byte is that of the number. */
const opening = [0x64755c22, 0x303038] as const;
const openingSize = 7;
const quote = 0x22;
const colon = 0x3a;

/**
 * The document with these numbers as texts behind the mark, so that JSON.parse keeps their digits; JSON.parse of Node.js 20
 * does not show how a number was written. Null if one of them is malformed or stands for a key. `places` has the start and
 * the end of each number.
 */
export function withNumberTexts(bytes: Uint8Array, places: readonly number[]): Uint8Array | null {
  // Four bytes are copied at a time, up to three too many: what follows is written over them.
  const marked = Buffer.allocUnsafe(bytes.length + (places.length / 2) * (openingSize + 1) + 4);
  const source = wordsOf(bytes);
  const target = wordsOf(marked);
  const lastWord = bytes.length - 4;
  let from = 0;
  let to = 0;
  for (let i = 0; i < places.length; i += 2) {
    const start = places[i]!;
    const end = places[i + 1]!;
    if (!isNumber(bytes, source, start, end) || bytes[skipBlank(bytes, end)] === colon) return null;
    // Between numbers there are few.
    while (from < start) marked[to++] = bytes[from++]!;
    target.setInt32(to, opening[0], true);
    target.setInt32(to + 4, opening[1], true);
    to += openingSize;
    if (end - from > longText) {
      marked.set(bytes.subarray(from, end), to);
      to += end - from;
      from = end;
    }
    for (; from < end && from <= lastWord; from += 4, to += 4) target.setInt32(to, source.getInt32(from, true), true);
    while (from < end) marked[to++] = bytes[from++]!;
    to -= from - end;
    from = end;
    marked[to++] = quote;
  }
  marked.set(bytes.subarray(from), to);
  return marked.subarray(0, to + bytes.length - from);
}

/** A call of `set` takes as long as to copy this many bytes. */
const longText = 100;

/** True if the bytes are a number of JSON. */
function isNumber(bytes: Uint8Array, words: DataView, start: number, end: number): boolean {
  let at = bytes[start] === minus ? start + 1 : start;
  if (bytes[at] === 0x30 && isDigit(bytes[at + 1]!)) return false;
  at = digitsEnd(bytes, words, at);
  if (bytes[at] === point) {
    if (!isDigit(bytes[++at]!)) return false;
    at = digitsEnd(bytes, words, at);
  }
  if (isExponent(bytes[at]!)) {
    at++;
    if (bytes[at] === plus || bytes[at] === minus) at++;
    if (!isDigit(bytes[at]!)) return false;
    at = digitsEnd(bytes, words, at);
  }
  return at === end;
}

function digitsEnd(bytes: Uint8Array, words: DataView, start: number): number {
  let at = start;
  for (const lastWord = bytes.length - 4; at <= lastWord; at += 4) {
    const four = words.getInt32(at, true);
    // The sum makes `@` and letters of the characters from `:` to `?`.
    if ((four & asDigits) !== zeros || ((four + 0x06060606) & asDigits) !== zeros) break;
  }
  while (isDigit(bytes[at]!)) at++;
  return at;
}

/** The text of a number; undefined if this is a text that the client has sent. */
export function numberText(text: string): string | undefined {
  return text.codePointAt(0) === mark ? text.slice(1) : undefined;
}

/** The double for the text of a number; any other value as it is. */
export function toDouble(value: unknown): unknown {
  return typeof value === "string" && value.codePointAt(0) === mark ? Number(value.slice(1)) : value;
}

/** The value with doubles in the place of texts of numbers. Lists and objects are changed. */
export function withDoubles(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return toDouble(value);
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
