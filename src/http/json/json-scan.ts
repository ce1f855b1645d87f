import { runEnd, stringEnd, wordsOf } from "../body/byte-runs.js";
import { isDigit, minus, numberEnd, shortNumber } from "./json-number.js";

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const colon = 0x3a;
const blank = 0x20;
const blanks = 0x20202020;

/** Kinds of bytes: the first one of a string, a number, an indent or a word, and the brackets. */
const stringKind = 1;
const numberKind = 2;
const blankKind = 3;
const openKind = 4;
const closeKind = 5;
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

/**
 * A double holds every decimal of up to 15 digits: `String` writes the same digits again. With the point counted as a digit,
 * a number of 16 may have more.
 */
const longNumber = 16;

/** By depth: 1 for the object that is the value of a `constructor`. A level is set before it is read. */
const inConstructor = new Uint8Array(maxJsonDepth + 1);

/**
 * Finds a forbidden part of a document in one pass: nesting before keys, and keys before numbers. On the parsed value it
 * would cost more: to list the properties of an object with 200,000 keys takes as long as to parse it. The document must be
 * UTF-8. In one that is not valid a forbidden part can be missed. `longNumbers` gets start and end of each number that a double
 * may not hold exactly.
 */
export function findForbidden(bytes: Uint8Array, longNumbers?: number[]): Forbidden | null {
  const view = wordsOf(bytes);
  const { length } = bytes;
  let ofConstructor = 0;
  let depth = 0;
  let found: Forbidden | null = null;
  for (let i = 0; i < length; i++) {
    const kind = kinds[bytes[i]!];
    if (kind === 0) continue;
    if (kind === stringKind) {
      let end = i + 1;
      // Most strings end here: they are short.
      for (const far = Math.min(i + 32, length); end < far; end++) {
        const byte = bytes[end];
        if (byte === quote || byte === backslash) break;
      }
      if (bytes[end] !== quote) end = stringEnd(view, end);
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
      let next = 0;
      let end = i;
      do next = ++end < length ? afterDigit[bytes[end]!]! : numberGoesOn;
      while (next === 0 && end < far);
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
export function codeOfEscape(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== 0x75) return -1;
  let code = 0;
  for (let i = start + 1; i < start + 5; i++) {
    const digit = bytes[i]!;
    // Letters as in lower case: "a" has the value 10.
    code = code * 16 + (isDigit(digit) ? digit - 0x30 : (digit | 0x20) - 0x57);
  }
  return code;
}
