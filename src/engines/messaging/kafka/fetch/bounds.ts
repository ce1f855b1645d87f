import { CorruptError } from "./byte-reader.js";

const lz4Magic = 0x184d2204;
const zstdMagic = 0xfd2fb528;
/** The most bytes of a block of zstd: https://www.rfc-editor.org/rfc/rfc8878#name-blocks */
const zstdBlock = 128 * 1024;
/** The most bytes that one byte of LZ4 stands for. */
const lz4Factor = 255;

/** The bytes that an LZ4 frame has unpacked, at most: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md */
export function lz4Bound(data: Buffer): number {
  let bound = 0;
  let at = 0;
  while (word(data, at) === lz4Magic) {
    const flags = byte(data, at + 4);
    const largest = 2 ** (8 + 2 * ((byte(data, at + 5) >> 4) & 7));
    at += 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0);
    for (;;) {
      const head = word(data, at);
      at += 4;
      if (head === 0) break;
      const size = head & 0x7fffffff;
      bound += Math.min(largest, size * lz4Factor);
      at += size + (flags & 0x10 ? 4 : 0);
    }
    if (flags & 0x04) at += 4;
    if (at >= data.length) return bound;
  }
  throw new CorruptError("a frame of LZ4 has no beginning");
}

/** The bytes that a frame of zstd has unpacked, at most: https://www.rfc-editor.org/rfc/rfc8878#name-zstandard-frames */
export function zstdBound(data: Buffer): number {
  if (word(data, 0) !== zstdMagic) throw new CorruptError("a frame of zstd has no beginning");
  const flags = byte(data, 4);
  const single = (flags >> 5) & 1;
  const dictionary = [0, 1, 2, 4][flags & 3]!;
  const contentSize = [single, 2, 4, 8][flags >> 6]!;
  let at = 5 + (1 - single) + dictionary + contentSize;
  for (let bound = 0; ; ) {
    const head = byte(data, at) | (byte(data, at + 1) << 8) | (byte(data, at + 2) << 16);
    const [last, kind, size] = [head & 1, (head >> 1) & 3, head >> 3];
    // One byte that is repeated; or bytes as they are; or compressed ones.
    at += 3 + (kind === 1 ? 1 : size);
    bound += kind === 2 ? zstdBlock : size;
    if (!last) continue;
    at += flags & 0x04 ? 4 : 0;
    if (at < data.length) throw new CorruptError("bytes follow a frame of zstd");
    return bound;
  }
}

function byte(data: Buffer, at: number): number {
  if (at >= data.length) throw new CorruptError("a compressed batch ends too early");
  return data[at]!;
}

function word(data: Buffer, at: number): number {
  if (at + 4 > data.length) throw new CorruptError("a compressed batch ends too early");
  return data.readUInt32LE(at);
}
