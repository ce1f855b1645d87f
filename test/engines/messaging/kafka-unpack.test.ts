import * as zlib from "node:zlib";
import { compressionsAlgorithms } from "@platformatic/kafka";
import { decompress } from "fzstd";
import { describe, expect, it, onTestFinished } from "vitest";
import { unpacker } from "../../../src/engines/messaging/kafka/fetch/unpack.js";
import { UnpackThread } from "../../../src/engines/messaging/kafka/fetch/unpack-thread.js";
import fc, { runs } from "../../support/properties.js";
import { framedSnappy, plainZstd } from "./kafka-codecs.js";

const { snappy, lz4 } = compressionsAlgorithms;
const decoders = {
  snappy: (data: Buffer) => snappy.decompressSync(data),
  lz4: (data: Buffer) => lz4.decompressSync(data),
  zstd: decompress,
  beside: async () => null,
};
const codecs = [
  { name: "gzip", number: 1, pack: (data: Buffer) => zlib.gzipSync(data) },
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
      { numRuns: runs(30) },
    );
    const large = Buffer.alloc(3_000_000, "abc");
    expect((await unpack(number, pack(large))).subarray(0, large.length).equals(large)).toBe(true);
  });

  it("A batch that is larger than the limit is an error that names the limit, before its bytes exist", async () => {
    const bomb = pack(Buffer.alloc(2 * limit));
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

/** Node has its own threads for the compressions that it knows. */
const ofLibraries = codecs.filter(({ name }) => !["gzip", "zstdDecompress" in zlib ? "zstd" : ""].includes(name));

describe.each(ofLibraries)("$name on another thread", ({ number, pack }) => {
  const never = () => {
    throw new Error("not on this thread");
  };
  const large = Buffer.from(Array.from({ length: 100_000 }, (_, place) => `record ${place}`).join(""));
  const opened = () => {
    const thread = new UnpackThread();
    onTestFinished(() => thread.close());
    return thread;
  };

  it("Large batches are unpacked beside the event loop, several at a time, each as it was", async () => {
    const thread = opened();
    const beside: typeof thread.unpack = (...request) => thread.unpack(...request);
    const unpack = unpacker({ snappy: never, lz4: never, zstd: never, beside }, limit);
    const results = await Promise.all(
      [large, large.subarray(7), Buffer.alloc(2_000_000)].map((data) => unpack(number, pack(data))),
    );
    expect(results[0]!.subarray(0, large.length).equals(large)).toBe(true);
    expect(results[1]!.subarray(0, large.length - 7).equals(large.subarray(7))).toBe(true);
    expect(results[2]!.subarray(0, 2_000_000).every((byte) => byte === 0)).toBe(true);
    // Small ones are not worth it.
    expect(() => unpack(number, pack(Buffer.alloc(10)))).toThrow("not on this thread");
  });

  it("Large damaged bytes are an error or other bytes, and the thread goes on", async () => {
    const thread = opened();
    const beside: typeof thread.unpack = (...request) => thread.unpack(...request);
    const unpack = unpacker({ snappy: never, lz4: never, zstd: never, beside }, limit);
    const damaged = pack(large);
    damaged.fill(0xff, damaged.length >> 1, (damaged.length >> 1) + 200);
    const result = await (async () => unpack(number, damaged))().catch((error: unknown) => error);
    if (result instanceof Uint8Array) expect(result.length).toBeLessThanOrEqual(limit);
    else expect(result).toBeInstanceOf(Error);
    expect((await unpack(number, pack(large))).subarray(0, large.length).equals(large)).toBe(true);
  });

  it("The end of a thread leaves the next one alone", async () => {
    const thread = opened();
    const beside: typeof thread.unpack = (...request) => thread.unpack(...request);
    const unpack = unpacker({ ...decoders, beside }, limit);
    const ended = unpack(number, pack(large));
    thread.close();
    await ended;
    // The first thread is still ending while the second one begins. Nothing but a thread can do this.
    const next = unpacker({ snappy: never, lz4: never, zstd: never, beside }, limit)(number, pack(large));
    expect((await next).subarray(0, large.length).equals(large)).toBe(true);
  });

  it("A batch whose thread ends is unpacked here", async () => {
    const thread = opened();
    const beside: typeof thread.unpack = (...request) => {
      const unpacking = thread.unpack(...request);
      thread.close();
      return unpacking;
    };
    const result = await unpacker({ ...decoders, beside }, limit)(number, pack(large));
    expect(result.subarray(0, large.length).equals(large)).toBe(true);
  });
});

it("A compression that is unknown, and zstd without a package that knows it, are errors that say so", () => {
  expect(() => unpacker(decoders, limit)(5, Buffer.alloc(1))).toThrow("the compression 5 is unknown");
});
