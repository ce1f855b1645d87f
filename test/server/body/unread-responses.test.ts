import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { UnreadResponses } from "../../../src/server/body/unread-responses.js";
import { WriteWatch } from "../../../src/server/body/write-watch.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

function counted(max: number) {
  const ended: string[] = [];
  const codes: string[] = [];
  const unread = new UnreadResponses(max, (code) => codes.push(code));
  const client = (name: string) => ({ destroy: () => ended.push(name) });
  return { unread, ended, codes, client };
}

it("Connections end in the order in which their clients took their last bytes, until the rest fits", () => {
  const { unread, ended, codes, client } = counted(100);
  const [a, b, c, d] = ["a", "b", "c", "d"].map(client);
  unread.set(a!, 40);
  unread.set(b!, 30);
  unread.set(c!, 30);
  expect(ended).toEqual([]);
  // More bytes leave a client where it is; fewer show that it reads.
  unread.set(b!, 20);
  unread.set(c!, 35);
  expect(unread.used).toBe(95);
  unread.set(d!, 60);
  expect(ended).toEqual([]);
  vi.advanceTimersByTime(5000);
  expect(ended).toEqual(["a", "c"]);
  expect(codes).toEqual(["RESPONSES_UNREAD", "RESPONSES_UNREAD"]);
  expect(unread.used).toBe(80);
});

it("A client that has taken everything, or has left, does not count", () => {
  const { unread, ended, client } = counted(100);
  const [a, b] = ["a", "b"].map(client);
  unread.set(a!, 90);
  unread.set(a!, 0);
  unread.set(a!, 0);
  expect(unread.used).toBe(0);
  unread.set(b!, 100);
  expect(ended).toEqual([]);
  unread.set(b!, 101);
  vi.advanceTimersByTime(4999);
  expect(ended).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ended).toEqual(["b"]);
  expect(unread.used).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

it("Many responses at once end no client that takes bytes of its own within five seconds, up to twice the bound", () => {
  const { unread, ended, client } = counted(100);
  const clients = Array.from({ length: 8 }, (_, n) => client(String(n)));
  for (const one of clients) unread.set(one, 25);
  vi.advanceTimersByTime(4000);
  for (const one of clients.slice(1)) unread.set(one, 20);
  vi.advanceTimersByTime(4000);
  expect(ended).toEqual(["0"]);
  for (const one of clients.slice(1)) unread.set(one, 0);
  vi.advanceTimersByTime(10_000);
  expect(ended).toEqual(["0"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("Twice the bound is never exceeded, not even by clients that were only just sent something", () => {
  const { unread, ended, client } = counted(100);
  for (const name of ["a", "b", "c"]) unread.set(client(name), 80);
  expect(ended).toEqual(["a"]);
  unread.set(client("d"), 201);
  expect(ended).toEqual(["a", "b", "c", "d"]);
  expect(unread.used).toBe(0);
});

it("A bound of 0 is none", () => {
  const { unread, ended, client } = counted(0);
  unread.set(client("a"), 1e12);
  expect(ended).toEqual([]);
});

it("A body that is sent in parts counts beside its parts; bytes that many responses send count once", () => {
  const { unread, ended, client } = counted(1000);
  const [a, b, c] = ["a", "b", "c"].map(client);
  const text = { buffer: null, size: 300 };
  const bytes = { buffer: new ArrayBuffer(400), size: 400 };
  unread.set(a!, 10);
  unread.hold(a!, text);
  unread.hold(a!, bytes);
  unread.hold(b!, bytes);
  unread.hold(b!, bytes);
  expect(unread.used).toBe(710);
  unread.set(a!, 0);
  unread.release(a!, bytes);
  unread.release(b!, bytes);
  expect(unread.used).toBe(700);
  unread.hold(c!, text);
  unread.hold(c!, text);
  expect(unread.used).toBe(1300);
  unread.hold(c!, { buffer: null, size: 5000 });
  unread.hold(c!, { buffer: null, size: 201 });
  expect(ended).toEqual(["b"]);
  expect(unread.used).toBe(1601);
  // What a client releases after its end changes nothing.
  unread.release(b!, bytes);
  vi.advanceTimersByTime(5000);
  expect(ended).toEqual(["b", "a", "c"]);
  unread.release(a!, text);
  expect(unread.used).toBe(0);
});

it("One body counts with half of the bound at most: its client is not ended while it reads", () => {
  const { unread, ended, client } = counted(100);
  const a = client("a");
  unread.hold(a, { buffer: new ArrayBuffer(1000), size: 1000 });
  for (let i = 0; i < 10; i++) {
    unread.set(a, 60);
    vi.advanceTimersByTime(4000);
    unread.set(a, 0);
  }
  expect([unread.used, ended]).toEqual([50, []]);
});

it("The bytes of a connection that was ended do not count again before it is closed", () => {
  const { unread, ended, client } = counted(100);
  const sockets = ["a", "b", "c"].map((name) => {
    const socket = {
      writableLength: 0,
      destroyed: false,
      destroy: () => {
        socket.destroyed = true;
        client(name).destroy();
      },
    };
    return { socket, watch: new WriteWatch(socket, unread) };
  });
  for (const { socket, watch } of sockets) {
    socket.writableLength = 40;
    watch.count();
  }
  for (const { watch } of sockets) watch.isStalled(10);
  vi.advanceTimersByTime(5000);
  for (const { watch } of sockets) watch.isStalled(10);
  expect(ended).toEqual(["a"]);
  expect(unread.used).toBe(80);
});
