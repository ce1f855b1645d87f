import { describe, expect, it } from "vitest";
import { Delivery } from "../../../src/batteries/rooms/client.js";
import { LocalRoom } from "../../../src/batteries/rooms/local-room.js";
import { MemoryRoomStore } from "../../../src/batteries/rooms/memory-store.js";
import { SocketClient, SocketOutput } from "../../../src/batteries/rooms/socket-client.js";
import { StreamClient, Subscription } from "../../../src/batteries/rooms/stream-client.js";

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

describe("a client that comes back", () => {
  /** A room with so many messages of 100 characters. */
  function fullRoom(count: number, history = 10_000): { room: LocalRoom; send: () => number; ids: number[] } {
    const store = new MemoryRoomStore();
    const rooms: LocalRoom[] = [];
    store.open(
      { history, keepMs: 60_000, maxRooms: 10 },
      { message: (_, message) => rooms[0]?.hear(message), gap: () => {}, changed: () => {} },
    );
    const send = (): number => store.send("lobby", `"${"x".repeat(100)}"`);
    const ids = Array.from({ length: count }, send);
    rooms.push(new LocalRoom("lobby", store));
    return { room: rooms[0]!, send, ids };
  }

  it("An event stream gets all that it missed in one connection, as fast as it reads", async () => {
    const { room, send, ids } = fullRoom(1000);
    const stream = new StreamClient({ maxBuffered: 1000, onSlow: "disconnect" }, () => {});
    const joined = room.join("a", stream, ids[0]!);
    const seen: unknown[] = [];
    for (let i = 0; i < 999; i++) seen.push((await stream.next()).value?.id);
    await joined;
    expect(seen).toEqual(ids.slice(1));
    const last = send();
    expect((await stream.next()).value?.id).toBe(last);
  });

  it("An event stream gets the messages that are sent while it takes what it missed, each once and in order", async () => {
    const { room, send, ids } = fullRoom(300);
    const stream = new StreamClient({ maxBuffered: 1000, onSlow: "disconnect" }, () => {});
    const joined = room.join("a", stream, ids[0]!);
    const seen: unknown[] = [];
    const sent = [...ids.slice(1)];
    while (seen.length < sent.length) {
      seen.push((await stream.next()).value?.id);
      // Faster than it reads, and far more than are held back for one client.
      if (sent.length < 1500) for (let i = 0; i < 3; i++) sent.push(send());
    }
    await joined;
    expect(seen).toEqual(sent);
  });

  it("An event stream is told of messages that were dropped while it took the others", async () => {
    const { room, send, ids } = fullRoom(50, 50);
    const stream = new StreamClient({ maxBuffered: 1000, onSlow: "disconnect" }, () => {});
    void room.join("a", stream, ids[0]!);
    await stream.next();
    for (let i = 0; i < 1000; i++) send();
    const events: (string | undefined)[] = [];
    while (!events.includes("gap")) events.push((await stream.next()).value?.event as string | undefined);
    expect(events.length).toBeLessThan(60);
  });

  it("A WebSocket gets all that it missed in one connection, as fast as it takes it", async () => {
    const { room, ids } = fullRoom(200);
    const socket = new SlowSocket();
    const output = new SocketOutput(socket, { maxBuffered: 1000, onSlow: "disconnect" });
    const joined = room.join("a", new SocketClient(output, "lobby", true), ids[0]!);
    for (let i = 0; i < 250; i++) await socket.take();
    await joined;
    expect(socket.closedWith).toEqual([]);
    expect(socket.sent.map((text) => Number(JSON.parse(text).id))).toEqual(ids.slice(1));
  });

  it("A client that leaves while it takes what it missed gets no more", async () => {
    const { room, ids } = fullRoom(200);
    const stream = new StreamClient({ maxBuffered: 1000, onSlow: "disconnect" }, () => room.leave("a"));
    const joined = room.join("a", stream, ids[0]!);
    await stream.next();
    await stream.return();
    await joined;
    expect(room.isEmpty).toBe(true);
  });
});

it("A subscription ends with an error when messages were lost, after those that it has", async () => {
  let ends = 0;
  const client = new Subscription({ maxBuffered: 1000, onSlow: "disconnect" }, undefined, () => ends++);
  client.deliver(message(1));
  client.missed();
  expect(ends).toBe(1);
  expect(await client.next()).toEqual({ done: false, value: "x".repeat(36) });
  await expect(client.next()).rejects.toThrow("were lost");
  expect(await client.next()).toEqual({ done: true, value: undefined });
});
