import { compressionsAlgorithms } from "@platformatic/kafka";

// Taken before a test replaces it.
const { compressSync } = compressionsAlgorithms.snappy;
const blockSize = 32 * 1024;

/** Snappy as the Java client and kafka-python write it: blocks of 32 KiB behind their lengths, after a head. */
export function framedSnappy(data: Uint8Array): Buffer {
  const parts: Uint8Array[] = [Buffer.from([0x82, ...Buffer.from("SNAPPY"), 0, 0, 0, 0, 1, 0, 0, 0, 1])];
  for (let start = 0; start < data.length; start += blockSize) {
    const block = compressSync(Buffer.from(data.subarray(start, start + blockSize)));
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

/** A frame of zstd whose blocks are not compressed, or one byte that is repeated. */
export function plainZstd(data: Buffer): Buffer {
  const parts: Uint8Array[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])];
  for (let start = 0; start === 0 || start < data.length; start += 4 * blockSize) {
    const block = data.subarray(start, start + 4 * blockSize);
    const repeated = block.length > 0 && block.every((byte) => byte === block[0]);
    const last = start + 4 * blockSize >= data.length ? 1 : 0;
    const head = last | ((repeated ? 1 : 0) << 1) | (block.length << 3);
    parts.push(Buffer.from([head & 255, (head >> 8) & 255, head >> 16]), repeated ? block.subarray(0, 1) : block);
  }
  return Buffer.concat(parts);
}
