import { wordsOf } from "../../http/body/byte-runs.js";
import { asDigits, isDigit, isExponent, minus, plus, point, zeros } from "../../http/json/json-number.js";
import { skipBlank } from "../../http/json/json-scan.js";
import { isInNumber, longNumber } from "../../http/json/scalar-runs.js";

/** Stands before the text of a number. No text of a client begins with it: half a surrogate pair is refused. */
const mark = 0xd800;
/** The bytes of `"\\ud800` as two words; the last byte is that of the number. */
const opening = [0x64755c22, 0x303038] as const;
const openingSize = 7;
const quote = 0x22;
const colon = 0x3a;
const comma = 0x2c;
const blank = 0x20;
const closeBracket = 0x5d;

/** Stands before the place of a number in the body. The numbers behind it in a list are read from there too. */
const placeMark = 0xd801;

/** A number as it was written. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * The document with its long numbers as texts behind a mark, so that JSON.parse keeps their digits; JSON.parse of Node.js 20
 * does not show how a number was written. Null if one of them is malformed or stands for a key. The first one of a run is its
 * place, and the others stay: a list of which only the first items are checked costs no more than to parse it.
 */
export function withNumberTexts(bytes: Uint8Array, places: readonly number[], runs: readonly number[]): Buffer | null {
  // Four bytes are copied at a time, up to three too many: what follows is written over them.
  const marked = Buffer.allocUnsafe(bytes.length + (places.length / 2) * (openingSize + 1) + 4);
  const source = wordsOf(bytes);
  const target = wordsOf(marked);
  const lastWord = bytes.length - 4;
  let from = 0;
  let to = 0;
  let run = 0;
  for (let i = 0; i < places.length; i += 2) {
    const start = places[i]!;
    const end = places[i + 1]!;
    if (!isNumber(bytes, source, start, end) || bytes[skipBlank(bytes, end)] === colon) return null;
    if (start - from > longText) {
      marked.set(bytes.subarray(from, start), to);
      to += start - from;
      from = start;
    }
    while (from < start) marked[to++] = bytes[from++]!;
    if (start === runs[run]) {
      run++;
      to += marked.write(`"\\ud801${start}"`, to, "latin1");
      from = end;
      continue;
    }
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
  if (!isDigit(bytes[at]!)) return false;
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

/** The number that a text of the marked document stands for; any other value as it is. */
export function toNumberText(value: unknown, source: Buffer): unknown {
  if (typeof value !== "string") return value;
  const code = value.codePointAt(0);
  if (code === mark) return new NumberText(value.slice(1));
  if (code !== placeMark) return value;
  const start = Number(value.slice(1));
  return new NumberText(source.toString("latin1", start, tokenEnd(source, start)));
}

/** The same as a double. */
export function toDouble(value: unknown, source: Buffer): unknown {
  const number = toNumberText(value, source);
  return number instanceof NumberText ? Number(number.text) : value;
}

/** The numbers of a list, of which only the first long one of a run is marked. */
export class ListNumbers {
  readonly #source: Buffer;
  /** Behind the last item; 0 if that is not known, and then this item is not in a run. */
  #end = 0;
  /** A part of the body, and where it begins: to decode each number costs more than to read it. */
  #part = "";
  #partStart = 0;

  constructor(source: Buffer) {
    this.#source = source;
  }

  /** The next item, as `toNumberText` gives it. */
  next(item: unknown): unknown {
    const source = this.#source;
    let start = 0;
    if (typeof item === "string" && item.codePointAt(0) === placeMark) start = Number(item.slice(1));
    else if (this.#end > 0 && (typeof item === "number" || item === null)) {
      // Behind the comma.
      start = skipBlank(source, skipBlank(source, this.#end) + 1);
    }
    if (start === 0) {
      this.#end = 0;
      return item;
    }
    const first = source[start] === minus ? start + 1 : start;
    let end = first;
    while (isInNumber(source[end]!)) end++;
    this.#end = tokenEnd(source, end);
    return end - first < longNumber ? item : new NumberText(this.#text(start, this.#end));
  }

  #text(start: number, end: number): string {
    if (start < this.#partStart || end > this.#partStart + this.#part.length) {
      this.#part = this.#source.toString("latin1", start, Math.max(end, start + partSize));
      this.#partStart = start;
    }
    return this.#part.slice(start - this.#partStart, end - this.#partStart);
  }
}

/** Few bytes: a text that an application keeps holds its part. */
const partSize = 2048;

/** The end of a number or word in a list. */
function tokenEnd(source: Buffer, start: number): number {
  let end = start;
  while (source[end]! > blank && source[end] !== comma && source[end] !== closeBracket) end++;
  return end;
}

/** The value with doubles in the place of texts of numbers. Lists and objects are changed. */
export function withDoubles(value: unknown, source: Buffer): unknown {
  if (typeof value !== "object" || value === null) return toDouble(value, source);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i];
      if (typeof item === "string" || typeof item === "object") value[i] = withDoubles(item, source);
    }
    return value;
  }
  const object = value as Record<string, unknown>;
  for (const key in object) {
    const item = object[key];
    if (typeof item === "string" || typeof item === "object") object[key] = withDoubles(item, source);
  }
  return value;
}
