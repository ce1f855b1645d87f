/**
 * Checks of JSON text that would cost more on the parsed value: to list the properties of an object with 200,000 keys
 * takes as long as to parse it. Each is one pass over the text.
 */

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const colon = 0x3a;

/** True if objects and arrays are nested deeper than `limit`. The text need not be valid. */
export function scanDepth(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) i = stringEnd(text, i + 1);
    else if (code === openBrace || code === openBracket) {
      if (++depth > limit) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return false;
}

/**
 * Finds the forbidden parts of a valid document: a key that would reach a prototype when the object is copied or merged
 * (`__proto__`, or `prototype` directly below `constructor`), or a number that is too large for JavaScript.
 */
export function findForbidden(text: string): "key" | "number" | null {
  /** By depth: true for the object that is the value of a `constructor`. */
  const inConstructor: boolean[] = [false];
  let ofConstructor = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      const end = stringEnd(text, i + 1);
      const next = skipBlank(text, end + 1);
      if (text.charCodeAt(next) === colon) {
        const key = reservedKey(text, i + 1, end);
        if (key === "__proto__" || (key === "prototype" && inConstructor[inConstructor.length - 1])) return "key";
        ofConstructor = key === "constructor" && text.charCodeAt(skipBlank(text, next + 1)) === openBrace;
        i = next;
      } else i = end;
    } else if (code === openBrace || code === openBracket) {
      inConstructor.push(ofConstructor);
      ofConstructor = false;
    } else if (code === closeBrace || code === closeBracket) inConstructor.pop();
    else if (isDigit(code)) {
      const end = numberEnd(text, i);
      if (isTooLarge(text, i, end)) return "number";
      i = end - 1;
    }
  }
  return null;
}

/**
 * True for a large document that is mostly a few long strings. Such a document is parsed so fast that a search through the
 * strings would take longer; `findForbidden` hops over them.
 */
export function hasLongStrings(text: string): boolean {
  if (text.length < 4096) return false;
  const maxQuotes = text.length / 128;
  let quotes = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) if (++quotes > maxQuotes) return false;
  const maxOutside = text.length / 8;
  let outside = 0;
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf('"', at);
    outside += (start === -1 ? text.length : start) - at;
    if (outside > maxOutside) return false;
    if (start === -1) break;
    at = stringEnd(text, start + 1) + 1;
  }
  return true;
}

/** The position of the quotation mark that ends a string, or the end of the text. `start` is behind the first one. */
function stringEnd(text: string, start: number): number {
  for (let i = start; ; ) {
    for (const near = Math.min(i + 32, text.length); i < near; i++) {
      const code = text.charCodeAt(i);
      if (code === quote) return i;
      if (code === backslash) i++;
    }
    if (i >= text.length) return text.length;
    // A long string: hopping from one quotation mark to the next is faster.
    const found = text.indexOf('"', i);
    if (found === -1) return text.length;
    let escapes = found;
    while (escapes > i && text.charCodeAt(escapes - 1) === backslash) escapes--;
    if ((found - escapes) % 2 === 0) return found;
    i = found + 1;
  }
}

function skipBlank(text: string, start: number): number {
  let i = start;
  while (i < text.length && text.charCodeAt(i) <= 0x20) i++;
  return i;
}

const reservedKeys = ["__proto__", "constructor", "prototype"] as const;
/** All characters of the longest one as escapes, `\u0063` each. */
const longestKey = 6 * "constructor".length;

function reservedKey(text: string, start: number, end: number): string | null {
  const length = end - start;
  if (length < 9 || length > longestKey) return null;
  for (const key of reservedKeys) if (isKey(key, text, start, end)) return key;
  return null;
}

/** True if the string between the two positions, with its escapes, is the key. Most differ in the first character. */
function isKey(key: string, text: string, start: number, end: number): boolean {
  let at = start;
  for (let i = 0; i < key.length; i++) {
    if (at >= end) return false;
    let code = text.charCodeAt(at++);
    if (code === backslash) {
      code = Number.parseInt(text.slice(at + 1, at + 5), 16);
      at += 5;
    }
    if (code !== key.charCodeAt(i)) return false;
  }
  return at === end;
}

function numberEnd(text: string, start: number): number {
  let i = start + 1;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isDigit(code)) continue;
    // ".", "e", "E", "+" and "-".
    if (code !== 0x2e && code !== 0x65 && code !== 0x45 && code !== 0x2b && code !== 0x2d) break;
  }
  return i;
}

/** True for a number that JSON.parse turns into Infinity, such as 1e999: it would then be stored or sent as null. */
function isTooLarge(text: string, start: number, end: number): boolean {
  let exponent = 0;
  let i = end - 1;
  for (let unit = 1; i > start && unit < 1e6 && isDigit(text.charCodeAt(i)); i--, unit *= 10) {
    exponent += (text.charCodeAt(i) - 0x30) * unit;
  }
  const mark = text.charCodeAt(i);
  // "." and "-" begin no exponent that makes a number larger; a number of a few digits has none.
  if (mark === 0x2e || mark === 0x2d || (i === start && isDigit(mark))) exponent = 0;
  // The largest has 309 digits before its point, the exponent included: a number that cannot have them need not be read.
  if (end - start + exponent < 309) return false;
  const number = text.slice(start, end);
  if (number.length < 309 && !number.includes("e") && !number.includes("E")) return false;
  return !Number.isFinite(Number(number));
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
