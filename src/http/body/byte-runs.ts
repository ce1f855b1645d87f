/** Reads bytes four at a time: to search 10 MiB byte by byte takes as long as JSON.parse of long numbers. */
export class Bytes {
  /** V8 drops the code that it has optimized for a class when it collects the last instance. */
  static readonly kept = new Bytes(new Uint8Array(0));
  readonly bytes: Uint8Array;
  /** Null for few bytes: to create it takes as long as to read a few hundred. */
  readonly words: DataView | null;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.words = bytes.length < 512 ? null : wordsOf(bytes);
  }
}

export function wordsOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The position behind a run of bytes that are equal to those of `value` under a mask; both have four equal bytes. */
export function runEnd({ bytes, words }: Bytes, start: number, mask: number, value: number): number {
  const { length } = bytes;
  let i = start;
  if (words !== null) while (i + 4 <= length && (words.getInt32(i, true) & mask) === value) i += 4;
  while (i < length && (bytes[i]! & mask & 0xff) === (value & 0xff)) i++;
  return i;
}
