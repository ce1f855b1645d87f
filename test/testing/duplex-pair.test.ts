import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { duplexPair } from "../../src/testing/duplex-pair.js";

describe("two ends of a connection in memory", () => {
  it("A connection in memory carries bytes both ways", async () => {
    const [one, other] = duplexPair();
    one.write("ping");
    expect(String((await once(other, "data"))[0])).toBe("ping");
    other.write("pong");
    expect(String((await once(one, "data"))[0])).toBe("pong");
  });

  it("A connection in memory makes the writer wait for the reader", async () => {
    const [one, other] = duplexPair();
    let taken = 0;
    for (let i = 0; i < 100; i++) one.write(Buffer.alloc(16 * 1024), () => taken++);
    await new Promise((resolve) => setImmediate(resolve));
    expect(taken).toBeLessThan(10);
    expect(one.writableNeedDrain).toBe(true);
    let read = 0;
    other.on("data", (chunk: Buffer) => {
      read += chunk.length;
    });
    await once(one, "drain");
    expect(read).toBe(100 * 16 * 1024);
  });

  it("An end that has finished writing still reads from the other one", async () => {
    const [one, other] = duplexPair();
    one.end("question");
    const received: string[] = [];
    other.on("data", (chunk) => received.push(String(chunk)));
    await once(other, "end");
    other.end("answer");
    expect(received).toEqual(["question"]);
    const answer: string[] = [];
    one.on("data", (chunk) => answer.push(String(chunk)));
    await once(one, "close");
    expect(answer).toEqual(["answer"]);
  });

  it("Destroying either end fails the pending writes", async () => {
    for (const destroyed of [0, 1] as const) {
      const pair = duplexPair();
      for (const end of pair) end.on("error", () => {});
      const failed = new Promise((resolve) => {
        pair[0].write(Buffer.alloc(100_000));
        pair[0].write("behind it", resolve);
      });
      pair[destroyed].destroy();
      expect(await failed).toBeInstanceOf(Error);
    }
  });

  it("Destroying one end shows the other an end, and refuses its writes", async () => {
    const [one, other] = duplexPair();
    other.resume();
    one.destroy();
    await once(other, "end");
    const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
      other.on("error", () => {});
      other.write("late", resolve);
    });
    expect(error?.code).toBe("EPIPE");
  });
});
