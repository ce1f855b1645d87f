import { gzipSync } from "node:zlib";
import { compressionsAlgorithms } from "@platformatic/kafka";
import { decompress } from "fzstd";
import { describe, expect, it } from "vitest";
import { unpacker } from "../../../src/engines/messaging/kafka/fetch/unpack.js";
import fc from "../../support/properties.js";
import { framedSnappy, plainZstd } from "./kafka-codecs.js";

const { snappy, lz4 } = compressionsAlgorithms;
const decoders = {
  snappy: (data: Buffer) => snappy.decompressSync(data),
  lz4: (data: Buffer) => lz4.decompressSync(data),
  zstd: decompress,
};
const codecs = [
  { name: "gzip", number: 1, pack: (data: Buffer) => gzipSync(data) },
  { name: "snappy", number: 2, pack: (data: Buffer) => snappy.compressSync(data) },
  { name: "framed snappy", number: 2, pack: framedSnappy },
  { name: "lz4", number: 3, pack: (data: Buffer) => lz4.compressSync(data) },
  { name: "zstd", number: 4, pack: plainZstd },
] as const;
const limit = 4 * 1024 * 1024;

describe.each(codecs)("$name", ({ number, pack }) => {
  const unpack = unpacker(decoders, limit);

  it("Bytes are unpacked as they were, also above the size that is left to other threads", async () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((list) => Buffer.from(list));
    await fc.assert(
      fc.asyncProperty(bytes, fc.integer({ min: 1, max: 400 }), async (part, times) => {
        const data = Buffer.concat(Array.from({ length: times }, () => part));
        const result = await unpack(number, pack(data));
        expect(result.subarray(0, data.length).equals(data)).toBe(true);
      }),
      { numRuns: 30 },
    );
    const large = Buffer.alloc(3_000_000, "abc");
    expect((await unpack(number, pack(large))).subarray(0, large.length).equals(large)).toBe(true);
  });

  it("A batch that is larger than the limit is an error that names the limit, before its bytes exist", async () => {
    const bomb = pack(Buffer.alloc(16 * limit));
    await expect((async () => unpack(number, bomb))()).rejects.toThrow(`more than ${limit} bytes unpacked`);
    await expect((async () => unpacker(decoders, 1024)(number, pack(Buffer.alloc(200_000))))()).rejects.toThrow(
      "more than 1024 bytes unpacked",
    );
  });

  it("Damaged bytes are an error or other bytes, never more than the limit", async () => {
    const good = pack(Buffer.alloc(100_000, "abcdefgh"));
    const change = fc.tuple(fc.nat(good.length - 1), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), fc.nat(good.length), async (changes, end) => {
        const damaged = Buffer.from(good);
        for (const [place, byte] of changes) damaged[place] = byte;
        for (const bytes of [damaged, damaged.subarray(0, end)]) {
          const result = await (async () => unpack(number, bytes))().catch((error: unknown) => error);
          if (result instanceof Uint8Array) expect(result.length).toBeLessThanOrEqual(limit);
          else expect(result).toBeInstanceOf(Error);
        }
      }),
    );
  });
});

it("A compression that is unknown, and zstd without a package that knows it, are errors that say so", () => {
  expect(() => unpacker(decoders, limit)(5, Buffer.alloc(1))).toThrow("the compression 5 is unknown");
});
