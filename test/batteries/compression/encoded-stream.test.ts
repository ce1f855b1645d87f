import { constants, createGzip, type Gzip, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { EncodedStream } from "../../../src/batteries/compression/encoded-stream.js";

/** A source that gives what is pushed, and tells whether it was ended. */
class Source implements AsyncIterableIterator<string> {
  readonly items: string[];
  returned = 0;

  constructor(...items: string[]) {
    this.items = items;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<string>> {
    const value = this.items.shift();
    if (value === "throw") return Promise.reject(new Error("the source failed"));
    if (value === "wait") return new Promise(() => {});
    return Promise.resolve(value === undefined ? { done: true, value } : { done: false, value });
  }

  async return(): Promise<IteratorResult<string>> {
    this.returned++;
    return { done: true, value: undefined };
  }
}

function encode(
  source: Source,
  flush: number | null = constants.Z_SYNC_FLUSH,
): { stream: EncodedStream; opened: Gzip[] } {
  const opened: Gzip[] = [];
  const open = (): Gzip => {
    const gzip = createGzip();
    opened.push(gzip);
    return gzip;
  };
  return { stream: new EncodedStream(source, open, flush), opened };
}

async function readAll(stream: EncodedStream): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe("EncodedStream", () => {
  it.each([constants.Z_SYNC_FLUSH, null])(
    "An encoded stream gives its whole source compressed, and frees the compressor",
    async (flush) => {
      const items = Array.from({ length: 200 }, (_, i) => `item ${i} `.repeat(i));
      const { stream, opened } = encode(new Source(...items), flush);
      expect(gunzipSync(await readAll(stream)).toString()).toBe(items.join(""));
      expect(opened.map((gzip) => gzip.destroyed)).toEqual([true]);
      expect(await stream.next()).toEqual({ done: true, value: undefined });
    },
  );

  it("An encoded stream reads no more than one piece ahead of its reader", async () => {
    const source = new Source("a", "b", "c");
    const { stream } = encode(source);
    await stream.next();
    expect(source.items).toEqual(["b", "c"]);
  });

  it("A body that is never read makes no compressor", async () => {
    const source = new Source("a");
    const { stream, opened } = encode(source);
    await stream.return();
    expect([opened.length, source.returned]).toEqual([0, 1]);
  });

  it("A reader that stops frees the compressor and ends the source", async () => {
    const source = new Source("a", "b");
    const { stream, opened } = encode(source);
    await stream.next();
    await stream.return();
    await stream.return();
    expect([opened[0]!.destroyed, source.returned]).toEqual([true, 1]);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it("A reader that stops while the source is awaited frees the compressor", async () => {
    const source = new Source("a", "wait");
    const { stream, opened } = encode(source);
    while (source.items.length > 1) await stream.next();
    void stream.next();
    void stream.next();
    await stream.return();
    expect([opened[0]!.destroyed, source.returned]).toEqual([true, 1]);
  });

  it("A reader that stops ends a read that waits for the compressor", async () => {
    const { stream, opened } = encode(new Source("a".repeat(5_000_000)));
    const reading = stream.next();
    await new Promise((resolve) => setImmediate(resolve));
    await stream.return();
    expect((await reading).done).toBe(true);
    expect(opened[0]!.destroyed).toBe(true);
  });

  it("An error of the source reaches the reader, and frees the compressor", async () => {
    const { stream, opened } = encode(new Source("a", "throw"));
    await expect(readAll(stream)).rejects.toThrow("the source failed");
    expect(opened[0]!.destroyed).toBe(true);
  });

  it("An error of the compressor reaches the reader", async () => {
    const { stream, opened } = encode(new Source("a", "b"));
    await stream.next();
    opened[0]!.destroy(new Error("the compressor failed"));
    await expect(readAll(stream)).rejects.toThrow();
  });
});
