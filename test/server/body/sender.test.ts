import { Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type StreamFraming, StreamSender } from "../../../src/server/body/sender.js";

/** A socket that shows the bytes of each system call, and takes them when the test says so. */
class Wire extends Writable {
  readonly calls: string[] = [];
  #taken: (() => void) | null = null;

  constructor(readonly paced = false) {
    super({ decodeStrings: true, highWaterMark: 16 * 1024 });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#call(chunk.toString("latin1"), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#call(chunks.map(({ chunk }) => chunk.toString("latin1")).join(""), done);
  }

  take(): void {
    const taken = this.#taken;
    this.#taken = null;
    taken?.();
  }

  #call(text: string, done: () => void): void {
    this.calls.push(text);
    if (this.paced) this.#taken = done;
    else done();
  }
}

interface Sent {
  readonly wire: Wire;
  readonly sender: StreamSender;
  readonly outcome: Promise<string>;
}

function send(body: AsyncIterable<string | Uint8Array>, framing: StreamFraming = "chunked", wire = new Wire()): Sent {
  let resolve: (outcome: string) => void;
  const outcome = new Promise<string>((settle) => {
    resolve = settle;
  });
  const host = {
    bodyBehind: () => {},
    bodySent: () => resolve("sent"),
    bodyFailed: (error: unknown, begun: boolean) => resolve(`${(error as Error).message}, begun: ${begun}`),
  };
  const sender = new StreamSender(wire, host, "HEAD\r\n\r\n", body, framing, -1);
  wire.on("drain", () => sender.drained());
  sender.start();
  return { wire, sender, outcome };
}

async function* pieces(...list: (string | Uint8Array | "later")[]): AsyncGenerator<string | Uint8Array> {
  for (const piece of list) {
    if (piece === "later") await wait(5);
    else yield piece;
  }
}

describe("a body that is made while it is sent", () => {
  it("A streamed body that is available at once is written in one call", async () => {
    const { wire, outcome } = send(pieces("a", "é", Buffer.from([0xff]), ""));
    expect(await outcome).toBe("sent");
    expect(wire.calls).toEqual(["HEAD\r\n\r\n1\r\na\r\n2\r\n\xc3\xa9\r\n1\r\n\xff\r\n0\r\n\r\n"]);
  });

  it("The available part of a body is written whenever the next piece has to be awaited", async () => {
    const { wire, outcome } = send(pieces("later", "a", "b", "later", "c"));
    expect(await outcome).toBe("sent");
    expect(wire.calls).toEqual(["HEAD\r\n\r\n", "1\r\na\r\n1\r\nb\r\n", "1\r\nc\r\n0\r\n\r\n"]);
  });

  it("A large piece is written in one call with everything before it", async () => {
    const large = "x".repeat(60_000);
    const { wire, outcome } = send(pieces("a", large, Buffer.from(large)));
    expect(await outcome).toBe("sent");
    expect(wire.calls).toEqual([`HEAD\r\n\r\n1\r\na\r\nea60\r\n${large}\r\n`, `ea60\r\n${large}\r\n`, "0\r\n\r\n"]);
  });

  it("The sender collects no more than fits into one call, and reads no more while the client is slow", async () => {
    let made = 0;
    async function* endless(): AsyncGenerator<string> {
      for (;;) {
        made++;
        yield "x".repeat(1000);
      }
    }
    const { wire, sender } = send(endless(), "close", new Wire(true));
    await wait(10);
    expect(wire.calls).toHaveLength(1);
    // A machine that is slow takes a turn of the event loop in between.
    expect(made).toBeLessThan(140);
    const before = made;
    wire.take();
    await wait(10);
    expect(wire.calls).toHaveLength(2);
    expect(made - before).toBeLessThan(70);
    sender.cancel();
    await wait(10);
    const after = made;
    wire.take();
    await wait(10);
    expect(made).toBe(after);
  });

  it("A failure of a body reports if it has a piece, which is written first", async () => {
    async function* failing(...list: string[]): AsyncGenerator<string> {
      for await (const piece of pieces(...list)) yield piece as string;
      throw new Error("broken");
    }
    const early = send(failing());
    expect(await early.outcome).toBe("broken, begun: false");
    expect(early.wire.calls).toEqual([]);
    const soon = send(failing("a"));
    expect(await soon.outcome).toBe("broken, begun: true");
    expect(soon.wire.calls).toEqual(["HEAD\r\n\r\n1\r\na\r\n"]);
    const late = send(failing("a", "later"));
    expect(await late.outcome).toBe("broken, begun: true");
    expect(late.wire.calls).toEqual(["HEAD\r\n\r\n1\r\na\r\n"]);
  });
});
