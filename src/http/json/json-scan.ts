import { latin1Of } from "../../kit/encoding.js";
import { Bytes, runEnd } from "../body/byte-runs.js";
import { asDigits, isDigit, minus, numberEnd, point, shortNumber, zeros } from "./json-number.js";
import { longNumber, readRun, ScalarRuns } from "./scalar-runs.js";

const quote = 0x22;
const backslash = 0x5c;
const u = 0x75;
const openBrace = 0x7b;
const colon = 0x3a;
const blank = 0x20;
const blanks = 0x20202020;

/** Kinds of bytes: the first one of a string, a number, an indent or a word, and the brackets. Scalars are the last ones. */
const stringKind = 1;
const blankKind = 2;
const openKind = 3;
const closeKind = 4;
const numberKind = 5;
const trueOrNullKind = 6;
const falseKind = 7;
const kinds = new Uint8Array(256);
for (const [kind, characters] of [
  [stringKind, '"'],
  [numberKind, "0123456789"],
  [blankKind, " "],
  [openKind, "[{"],
  [closeKind, "]}"],
  [trueOrNullKind, "tn"],
  [falseKind, "f"],
] as const) {
  for (const character of characters) kinds[character.charCodeAt(0)] = kind;
}

/** Kinds of bytes behind a digit: 0 for a digit or a point, and others. */
const numberGoesOn = 1;
const isComma = 2;
const isOther = 3;
const afterDigit = new Uint8Array(256).fill(isOther);
for (const character of "0123456789.") afterDigit[character.charCodeAt(0)] = 0;
for (const character of "eE") afterDigit[character.charCodeAt(0)] = numberGoesOn;
afterDigit[0x2c] = isComma;

/**
 * A part of a document that is refused.
 * - `depth`: objects and arrays are nested deeper than allowed.
 * - `key`: a key would reach a prototype when the object is copied or merged: `__proto__`, or `prototype` directly below
 *   `constructor`.
 * - `number`: a number is too large for JavaScript. JSON.parse makes it Infinity, which would be stored or sent as null.
 */
export type Forbidden = "depth" | "key" | "number";

/** The deepest nesting of a JSON document that is accepted. */
export const maxJsonDepth = 128;

/** By depth: 1 for the object that is the value of a `constructor`. A level is set before it is read. */
const inConstructor = new Uint8Array(maxJsonDepth + 1);

/** What else a model has to know of a document. */
export class JsonTraits {
  /** As of `Bytes`. */
  static readonly kept = new JsonTraits(false);
  /**
   * Start and end of each number that a double may not hold exactly; null if they are not wanted. Of those in a list between
   * which there are only numbers and nulls, it can be the first one alone.
   */
  readonly longNumbers: number[] | null;
  /** The starts of those that can stand for others behind them. */
  readonly runs: number[] = [];
  /** True if a string has half a surrogate pair. */
  halfPair = false;
  /** True if a string has U+0000. */
  nulls = false;

  constructor(exactly: boolean) {
    this.longNumbers = exactly ? [] : null;
  }
}

/**
 * Finds a forbidden part of a document in one pass: nesting before keys, and keys before numbers. On the parsed value it
 * would cost more: to list the properties of an object with 200,000 keys takes as long as to parse it. The document must be
 * UTF-8, and `text` its text. In one that is not valid a forbidden part, and a trait, can be missed.
 */
export function findForbidden(bytes: Uint8Array, text: string, traits?: JsonTraits): Forbidden | null {
  const view = new Bytes(bytes);
  const { length } = bytes;
  // A character for each byte, in which strings end by the engine's own search: it takes a quarter of the time of a loop.
  const characters = text.length === length ? text : latin1Of(bytes, length);
  const longNumbers = traits?.longNumbers;
  const runs = new ScalarRuns();
  let nextEscape = placeOf(characters, "\\", 0);
  let ofConstructor = 0;
  let depth = 0;
  let found: Forbidden | null = null;
  for (let i = 0; i < length; i++) {
    const kind = kinds[bytes[i]!]!;
    if (kind === 0) continue;
    if (kind >= numberKind && i >= runs.next) {
      const end = runs.endOf(bytes, characters, i);
      if (end > i) {
        const known = longNumbers?.length;
        if (readRun(view, characters, i, end, longNumbers ?? null)) found ??= "number";
        if (longNumbers?.length !== known) traits?.runs.push(longNumbers!.at(-2)!);
        i = end - 1;
        continue;
      }
    }
    if (kind === stringKind) {
      let end = placeOf(characters, '"', i + 1);
      // One outside of strings makes the document invalid.
      if (nextEscape < i) nextEscape = placeOf(characters, "\\", i);
      if (nextEscape < end) {
        end = escapedEnd(bytes, characters, nextEscape, traits);
        nextEscape = placeOf(characters, "\\", end);
      }
      if (end - i > protoKey.length && end - i <= longestKey + 1) {
        const key = reservedKey(bytes, i + 1, end);
        if (key !== null) {
          const next = skipBlank(bytes, end + 1);
          // Without a colon it is no key.
          if (bytes[next] === colon) {
            if (key === protoKey || (key === prototypeKey && inConstructor[depth] === 1)) found = "key";
            if (key === constructorKey && bytes[skipBlank(bytes, next + 1)] === openBrace) ofConstructor = 1;
          }
        }
      }
      i = end;
    } else if (kind === numberKind) {
      // Most numbers end here: they have few digits and no exponent.
      const far = i + shortNumber;
      let end = digitsEnd(view, i + 1, far);
      let next = numberGoesOn;
      while (end < length && (next = afterDigit[bytes[end]!]!) === 0 && end < far) end++;
      const isLong = end - i >= longNumber;
      if (next <= numberGoesOn) {
        end = numberEnd(view, i, end);
        if (end < 0) found ??= "number";
        end = Math.abs(end);
        next = 0;
      }
      if (isLong) longNumbers?.push(bytes[i - 1] === minus ? i - 1 : i, end);
      // A comma needs no look.
      i = next === isComma ? end : end - 1;
    } else if (kind === blankKind) {
      if (bytes[i + 1] === blank) i = runEnd(view, i + 1, -1, blanks) - 1;
    } else if (kind === openKind) {
      if (++depth > maxJsonDepth) return "depth";
      inConstructor[depth] = ofConstructor;
      ofConstructor = 0;
    } else if (kind === closeKind) depth--;
    else i += kind === falseKind ? 4 : 3;
  }
  return found;
}

/** A position in a number before which digits and points stand, and at most four behind `far`. */
function digitsEnd({ bytes, words }: Bytes, start: number, far: number): number {
  let end = start;
  if (words === null) return end;
  for (const last = Math.min(far, bytes.length - 4); end <= last; end++) {
    const four = words.getInt32(end, true) ^ zeros;
    // The sum gives the characters from `:` to `?` a bit under the mask too.
    const others = (four | (four + 0x06060606)) & asDigits;
    if (others === 0) end += 3;
    else {
      end += (31 - Math.clz32(others & -others)) >> 3;
      if (bytes[end] !== point) break;
    }
  }
  return end;
}

/** The position of a character from a place on, or the end of the text. */
function placeOf(characters: string, character: string, from: number): number {
  const place = characters.indexOf(character, from);
  return place === -1 ? characters.length : place;
}

/** The bytes between two escapes that are read one at a time before a search is tried. */
const near = 16;

/** The end of a string with escapes, its quotation mark or the end of the document. `start` is the first backslash. */
function escapedEnd(bytes: Uint8Array, characters: string, start: number, traits: JsonTraits | undefined): number {
  const { length } = bytes;
  let mark = start;
  let nextEscape = start;
  let far = start + near;
  for (let i = start; i < length; ) {
    const byte = bytes[i];
    if (byte === quote) return i;
    if (byte === backslash) {
      i +=
        bytes[i + 1] !== u ? 2 : traits === undefined || !isSuspect(bytes[i + 2]!) ? 6 : escapeSize(bytes, i, traits);
      far = i + near;
    } else if (++i >= far) {
      // Each is searched again only when it is passed: together the searches read the document twice.
      if (mark < i) mark = placeOf(characters, '"', i);
      if (nextEscape < i) nextEscape = placeOf(characters, "\\", i);
      i = Math.min(mark, nextEscape);
    }
  }
  return length;
}

/** True if an escape with this first digit can be U+0000 or half of a surrogate pair. */
function isSuspect(digit: number): boolean {
  return digit === 0x30 || (digit | 0x20) === 0x64;
}

/** The length of an escape `\u0041`, or of the two of a surrogate pair. `start` is its backslash. */
function escapeSize(bytes: Uint8Array, start: number, traits: JsonTraits): number {
  const code = codeOfEscape(bytes, start + 1);
  if (code === 0) traits.nulls = true;
  if (code < 0xd800 || code > 0xdfff) return 6;
  const low = bytes[start + 6] === backslash ? codeOfEscape(bytes, start + 7) : -1;
  // The first half comes first.
  if (code <= 0xdbff && low >= 0xdc00 && low <= 0xdfff) return 12;
  traits.halfPair = true;
  return 6;
}

/** The position of the next byte that is no white space. */
export function skipBlank(bytes: Uint8Array, start: number): number {
  let i = start;
  while (i < bytes.length && bytes[i]! <= blank) i++;
  return i;
}

const protoKey = Buffer.from("__proto__");
const constructorKey = Buffer.from("constructor");
const prototypeKey = Buffer.from("prototype");
/** All characters of the longest one as escapes, `\u0063` each. */
const longestKey = 6 * constructorKey.length;

/** The reserved key between two positions, or null. Most others differ in the first character or in the length. */
function reservedKey(bytes: Uint8Array, start: number, end: number): Buffer | null {
  const first = bytes[start];
  if (first === backslash) return escapedKey(bytes, start, end);
  const key =
    first === protoKey[0]
      ? protoKey
      : first === prototypeKey[0]
        ? prototypeKey
        : first === constructorKey[0]
          ? constructorKey
          : null;
  if (key === null || end - start < key.length) return null;
  return isKey(key, bytes, start, end) ? key : null;
}

function escapedKey(bytes: Uint8Array, start: number, end: number): Buffer | null {
  for (const key of [protoKey, constructorKey, prototypeKey]) if (isKey(key, bytes, start, end)) return key;
  return null;
}

/** True if the string between the two positions, with its escapes, is the key. */
function isKey(key: Buffer, bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  for (let i = 0; i < key.length; i++) {
    if (at >= end) return false;
    let code = bytes[at++]!;
    if (code === backslash) {
      code = codeOfEscape(bytes, at);
      at += 5;
    }
    if (code !== key[i]) return false;
  }
  return at === end;
}

/** The character of an escape `\u0063`; `start` is behind the backslash. It is -1 for the other escapes. */
function codeOfEscape(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== u) return -1;
  let code = 0;
  for (let i = start + 1; i < start + 5; i++) {
    const digit = bytes[i]!;
    // Letters as in lower case: "a" has the value 10.
    code = code * 16 + (isDigit(digit) ? digit - 0x30 : (digit | 0x20) - 0x57);
  }
  return code;
}
