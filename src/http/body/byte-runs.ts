/**
 * Reads bytes four at a time: to search 10 MiB byte by byte takes as long as JSON.parse of long strings and numbers.
 * `words[0]` begins `offset` bytes before the first byte, where memory is aligned.
 */
export interface Bytes {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly offset: number;
}

const noWords = new Int32Array(0);

export function wordsOf(bytes: Uint8Array): Bytes {
  const offset = bytes.byteOffset & 3;
  // To create the other view takes as long as to read a few hundred bytes.
  if (bytes.length < 512) return { bytes, words: noWords, offset };
  const words = new Int32Array(bytes.buffer, bytes.byteOffset - offset, (bytes.length + offset) >> 2);
  return { bytes, words, offset };
}

/** The number of bytes that are read one at a time before words are tried: most runs are short. */
const near = 12;

/** The position behind a run of bytes that are equal to those of `value` under a mask; both have four equal bytes. */
export function runEnd(view: Bytes, start: number, mask: number, value: number): number {
  const { bytes } = view;
  const end = Math.min(start + near, bytes.length);
  for (let i = start; i < end; i++) if ((bytes[i]! & mask & 0xff) !== (value & 0xff)) return i;
  return end === bytes.length ? end : longRunEnd(view, end, mask, value);
}

function longRunEnd({ bytes, words, offset }: Bytes, start: number, mask: number, value: number): number {
  let word = (start + offset) >> 2;
  // The first bytes of this word are part of the run: there were more than four.
  while (word < words.length && (words[word]! & mask) === value) word++;
  let i = Math.max(start, (word << 2) - offset);
  while (i < bytes.length && (bytes[i]! & mask & 0xff) === (value & 0xff)) i++;
  return i;
}

const quote = 0x22;
const backslash = 0x5c;

/** The position of the quotation mark that ends a JSON string, or the end of the bytes. `start` is in the string. */
export function stringEnd(view: Bytes, start: number): number {
  const { bytes } = view;
  const { length } = bytes;
  let i = start;
  let far = i + near;
  while (i < length) {
    const byte = bytes[i];
    if (byte === quote) return i;
    if (byte === backslash) {
      // The four digits of `\u0041` are plain characters, and need no look.
      i += i + 1 < length && bytes[i + 1] === 0x75 ? 6 : 2;
      far = i + near;
    } else if (++i >= far) {
      i = plainEnd(view, i);
      far = i + near;
    }
  }
  return length;
}

/** A position up to three bytes before the next quotation mark or backslash; the bytes from `start` to it are others. */
function plainEnd({ bytes, words, offset }: Bytes, start: number): number {
  let i = start;
  for (; ((i + offset) & 3) !== 0; i++) if (bytes[i] === quote || bytes[i] === backslash) return i;
  let word = (i + offset) >> 2;
  for (; word < words.length; word++) {
    const four = words[word]!;
    const quotes = four ^ 0x22222222;
    const backslashes = four ^ 0x5c5c5c5c;
    // Not 0 if a byte of one of the two is 0 (Bit Twiddling Hacks, "Determine if a word has a zero byte").
    if ((((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080) break;
  }
  return Math.max(i, (word << 2) - offset);
}
