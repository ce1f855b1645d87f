import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { MessagingError } from "../../errors.js";
import { lz4Bound, zstdBound } from "./bounds.js";
import { ByteReader, CorruptError } from "./byte-reader.js";
import type { LibraryCodec } from "./unpack-thread.js";

/** Unpacks the records of a batch, by the number of its compression. Throws or rejects if it cannot. */
export type Unpack = (compression: number, data: Buffer) => Buffer | Promise<Buffer>;

type Decoder = (data: Buffer) => Buffer;

/** The functions of the client library, and of a package that Node 20 needs for zstd. They know no bounds. */
export interface Decoders {
  readonly snappy: Decoder;
  readonly lz4: Decoder;
  /** Takes the memory for the result; null without the package. */
  readonly zstd: ((data: Buffer, into: Uint8Array) => Uint8Array) | null;
  /** The same on another thread. Resolves to null if there is none. */
  beside(codec: LibraryCodec, blocks: readonly Buffer[], bound: number): Promise<Uint8Array | null>;
}

/** Larger results are unpacked by other threads: 64 MiB of zstd would block the event loop for over a second. */
const syncBytes = 1024 * 1024;

interface Bounded {
  readonly maxOutputLength: number;
}

/** zstd in Node, from version 22.15 on. */
const node = zlib as {
  readonly zstdDecompressSync?: (data: Buffer, options: Bounded) => Buffer;
  readonly zstdDecompress?: (
    data: Buffer,
    options: Bounded,
    ended: (error: Error | null, data: Buffer) => void,
  ) => void;
};

/** Makes a function that unpacks at most so many bytes: a batch of a megabyte can hold a gigabyte of zeros. */
export function unpacker(decoders: Decoders, limit: number): Unpack {
  const bounded = (codec: LibraryCodec, blocks: readonly Buffer[], bound: number, unpack: () => Buffer) => {
    if (bound > limit) throw tooLarge(limit);
    if (bound <= syncBytes) return unpack();
    return decoders.beside(codec, blocks, bound).then((data) => (data === null ? unpack() : asBuffer(data)));
  };
  const byCompression: Readonly<Record<number, (data: Buffer) => Buffer | Promise<Buffer>>> = {
    1: (data) => within(limit, zlib.gunzipSync, promisify(zlib.gunzip), data),
    2: (data) => {
      const { blocks, bound } = snappyBlocks(data);
      return bounded("snappy", blocks, bound, () => {
        const parts = blocks.map((block) => decoders.snappy(block));
        return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      });
    },
    3: (data) => bounded("lz4", [data], lz4Bound(data), () => decoders.lz4(data)),
    4: (data) => {
      const { zstdDecompressSync, zstdDecompress } = node;
      if (zstdDecompressSync !== undefined && zstdDecompress !== undefined)
        return within(limit, zstdDecompressSync, promisify(zstdDecompress), data);
      const { zstd } = decoders;
      if (zstd === null)
        throw new MessagingError("UNSUPPORTED", "zstd needs Node 22.15, or the package fzstd: npm install fzstd");
      const bound = zstdBound(data);
      // Longer than the records: their number says where they end.
      return bounded("zstd", [data], bound, () => asBuffer(zstd(data, Buffer.alloc(bound))));
    },
  };
  return (compression, data) => {
    const unpack = byCompression[compression];
    if (unpack === undefined) throw new MessagingError("UNSUPPORTED", `the compression ${compression} is unknown`);
    return unpack(data);
  };
}

/** Small results at once: a thread costs more than they do. */
function within(
  limit: number,
  sync: (data: Buffer, options: Bounded) => Buffer,
  async: (data: Buffer, options: Bounded) => Promise<Buffer>,
  data: Buffer,
): Buffer | Promise<Buffer> {
  try {
    return sync(data, { maxOutputLength: Math.min(limit, syncBytes) });
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    if (limit <= syncBytes) throw tooLarge(limit);
    return async(data, { maxOutputLength: limit }).catch((failure: unknown) => {
      throw isTooLarge(failure) ? tooLarge(limit) : failure;
    });
  }
}

function isTooLarge(error: unknown): boolean {
  return (error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE";
}

function tooLarge(limit: number): MessagingError {
  return new MessagingError("TOO_LARGE", `it has more than ${limit} bytes unpacked ('maxBatchBytes')`);
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The beginning of the framing that snappy-java adds, and with it the Java client and kafka-python. */
const magic = Buffer.from([0x82, ...Buffer.from("SNAPPY"), 0]);
/** The magic and two version numbers. */
const headSize = magic.length + 8;

/** The blocks of snappy data, with the bytes that they have unpacked. librdkafka and others write one block without framing. */
function snappyBlocks(data: Buffer): { readonly blocks: readonly Buffer[]; readonly bound: number } {
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
