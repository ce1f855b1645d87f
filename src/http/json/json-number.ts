import { type Bytes, runEnd } from "../body/byte-runs.js";

/** Masks and values for `runEnd`. Under the first one the characters `:;<=>?` are digits too: none follows a number. */
export const asDigits = 0xf0f0f0f0 | 0;
const exactly = -1;
export const zeros = 0x30303030;

export const point = 0x2e;
export const plus = 0x2b;
export const minus = 0x2d;

/**
 * The smallest number that JSON.parse turns into Infinity: it lies halfway between the largest one of JavaScript and 2
 * to the power of 1024. It has 309 digits.
 */
const tooLarge = (2n ** 1024n - 2n ** 970n).toString();

/** The length of the numbers that are read byte by byte. */
export const shortNumber = 24;

/**
 * The position behind a number of a valid document, negative if it is too large. `start` is its first digit, and
 * digits follow until `known`. A number is never converted, which would take as long as JSON.parse.
 */
export function numberEnd(view: Bytes, start: number, known: number): number {
  const { bytes } = view;
  const far = Math.min(start + shortNumber, bytes.length);
  let end = known;
  while (end < far && (isDigit(bytes[end]!) || bytes[end] === point)) end++;
  if (end < far && !isExponent(bytes[end]!)) return end;
  if (end + 1 < far) {
    const mantissa = end - start;
    const sign = bytes[++end];
    if (sign === plus || sign === minus) end++;
    while (end < far && bytes[end] === 0x30) end++;
    const first = end;
    while (end < far && isDigit(bytes[end]!)) end++;
    // With two digits the exponent is at most 99, and the mantissa is short.
    if (end < far && (sign === minus || end - first < 3)) return end;
    let exponent = 0;
    for (let i = first; i < end; i++) exponent = exponent * 10 + bytes[i]! - 0x30;
    if (end < far && mantissa + exponent < 309) return end;
  }
  return longNumberEnd(view, start);
}

function longNumberEnd(view: Bytes, start: number): number {
  const { bytes } = view;
  const integerEnd = runEnd(view, start, asDigits, zeros);
  const mantissaEnd = bytes[integerEnd] === point ? runEnd(view, integerEnd + 1, asDigits, zeros) : integerEnd;
  let end = mantissaEnd;
  let exponent = 0;
  if (isExponent(bytes[end]!)) {
    const sign = bytes[++end];
    if (sign === plus || sign === minus) end++;
    if (bytes[end] === 0x30) end = runEnd(view, end + 1, exactly, zeros);
    for (; exponent < 1e6 && isDigit(bytes[end]!); end++) exponent = exponent * 10 + bytes[end]! - 0x30;
    if (exponent >= 1e6) end = runEnd(view, end, asDigits, zeros);
    if (sign === minus) exponent = -exponent;
  }
  // The power of ten of the first digit, if that is not 0, is one less.
  if (integerEnd - start + exponent < 309) return end;
  return isTooLarge(view, start, integerEnd, mantissaEnd, exponent) ? -end : end;
}

function isTooLarge(view: Bytes, start: number, integerEnd: number, end: number, exponent: number): boolean {
  const { bytes } = view;
  let first = runEnd(view, start, exactly, zeros);
  if (first === integerEnd) first = runEnd(view, first + 1, exactly, zeros);
  if (first >= end) return false;
  const power = integerEnd - first - (first < integerEnd ? 1 : 0) + exponent;
  if (power !== 308) return power > 308;
  for (let i = first, place = 0; place < tooLarge.length; i++) {
    if (i === integerEnd && i < end) continue;
    const digit = i < end ? bytes[i]! : 0x30;
    const limit = tooLarge.charCodeAt(place++);
    if (digit !== limit) return digit > limit;
  }
  return true;
}

export function isExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
