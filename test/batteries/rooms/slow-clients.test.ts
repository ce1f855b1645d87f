import { describe, expect, it } from "vitest";
import { Delivery } from "../../../src/batteries/rooms/client.js";
import { SocketOutput } from "../../../src/batteries/rooms/socket-client.js";
import { StreamClient } from "../../../src/batteries/rooms/stream-client.js";

/** A WebSocket whose peer takes messages when it is told to. */
class SlowSocket {
  isOpen = true;
  bufferedAmount = 0;
  readonly sent: string[] = [];
  readonly closedWith: unknown[] = [];
  #taken: (() => void)[] = [];

  sendText(text: string): Promise<void> {
    this.sent.push(text);
    this.bufferedAmount += text.length;
    return new Promise((resolve) => this.#taken.push(resolve));
  }

  async take(): Promise<void> {
    this.bufferedAmount = 0;
    for (const resolve of this.#taken.splice(0)) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async close(...info: unknown[]): Promise<never> {
    this.isOpen = false;
    this.closedWith.push(...info);
    return undefined as never;
  }
}

const message = (id: number, size = 36): Delivery => new Delivery("lobby", { id, text: `"${"x".repeat(size)}"` });

describe("a WebSocket that is slow", () => {
  it("A slow WebSocket gets all messages in order while few of them wait", async () => {
    const socket = new SlowSocket();
    const output = new SocketOutput(socket, { maxBuffered: 1000, onSlow: "disconnect" });
    for (const text of ["a", "b", "c"]) output.send(text);
    expect(socket.sent.length).toBeLessThan(3);
    for (let i = 0; i < 3; i++) await socket.take();
    expect(socket.sent).toEqual(["a", "b", "c"]);
    output.send("d");
    await socket.take();
    expect(socket.sent).toEqual(["a", "b", "c", "d"]);
  });

  it("A slow WebSocket is disconnected when too many bytes wait for it", async () => {
    const socket = new SlowSocket();
    const output = new SocketOutput(socket, { maxBuffered: 500, onSlow: "disconnect" });
    for (let i = 0; i < 20; i++) output.send(`message ${i}`);
    expect(socket.closedWith).toEqual([1013, "too slow"]);
    await socket.take();
    expect(socket.sent.length).toBeLessThan(10);
  });

  it('A slow WebSocket loses its oldest messages if onSlow is "drop", and gets the newest', async () => {
    const socket = new SlowSocket();
    const output = new SocketOutput(socket, { maxBuffered: 500, onSlow: "drop" });
    for (let i = 0; i < 100; i++) output.send(`message ${i}`);
    for (let i = 0; i < 100; i++) await socket.take();
    expect(socket.closedWith).toEqual([]);
    expect(socket.sent[0]).toBe("message 0");
    expect(socket.sent.at(-1)).toBe("message 99");
    expect(socket.sent.length).toBeLessThan(12);
  });
});

describe("an event stream that is slow", () => {
  it("A slow event stream is ended when too many bytes wait for it, and its end is reported once", async () => {
    let ends = 0;
    const stream = new StreamClient({ maxBuffered: 500, onSlow: "disconnect" }, () => ends++);
    for (let id = 1; id <= 20; id++) stream.deliver(message(id));
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    await stream.return();
    expect(ends).toBe(1);
  });

  it('A slow event stream loses its oldest messages if onSlow is "drop"', async () => {
    const stream = new StreamClient({ maxBuffered: 500, onSlow: "drop" }, () => {});
    for (let id = 1; id <= 20; id++) stream.deliver(message(id));
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push((await stream.next()).value?.id);
    expect(ids).toEqual([16, 17, 18, 19, 20]);
  });
});
