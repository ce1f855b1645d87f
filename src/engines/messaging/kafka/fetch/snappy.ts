import { ByteReader, CorruptError } from "./byte-reader.js";

/** The beginning of the framing that snappy-java adds, and with it the Java client and kafka-python. */
const magic = Buffer.from([0x82, ...Buffer.from("SNAPPY"), 0]);
/** The magic and two version numbers. */
const headSize = magic.length + 8;

/** The blocks of snappy data, with the bytes that they have unpacked. librdkafka and others write one block without framing. */
export function snappyBlocks(data: Buffer): { readonly blocks: readonly Buffer[]; readonly bound: number } {
  const blocks = isMagic(data, 0) ? framed(data) : [data];
  let bound = 0;
  // Each block begins with its length.
  for (const block of blocks) bound += new ByteReader(block).unsigned();
  return { blocks, bound };
}

function framed(data: Buffer): Buffer[] {
  const reader = new ByteReader(data);
  const blocks: Buffer[] = [];
  while (reader.position < data.length) {
    // Streams that were put together have several heads.
    if (isMagic(data, reader.position)) {
      reader.skip(headSize);
      continue;
    }
    const size = reader.int32();
    if (size <= 0) throw new CorruptError(`a block of snappy has ${size} bytes`);
    const start = reader.skip(size);
    blocks.push(data.subarray(start, start + size));
  }
  return blocks;
}

function isMagic(data: Buffer, position: number): boolean {
  return data.length - position >= headSize && magic.compare(data, position, position + magic.length) === 0;
}
