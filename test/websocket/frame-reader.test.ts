import { describe, expect, it, vi } from "vitest";
import { FrameReader, readClose } from "../../src/websocket/frame-reader.js";
import { frame } from "./server.js";

type Event = readonly [kind: string, content: string];

/** Reads the bytes in pieces of the sizes that `next` returns; each piece is overwritten afterwards, as a transport does. */
function read(bytes: Buffer, next: () => number, maxSize = 1_000_000): Event[] {
  const events: Event[] = [];
  const reader = new FrameReader(maxSize, {
    message: (data, isBinary) =>
      events.push([isBinary ? "binary" : "text", typeof data === "string" ? data : data.toString("latin1")]),
    control: (opcode, payload) => events.push([`control ${opcode}`, payload.toString("latin1")]),
  });
  const slab = Buffer.alloc(bytes.length + 3);
  for (let at = 0; at < bytes.length; ) {
    const size = Math.min(next(), bytes.length - at);
    bytes.copy(slab, 3, at, at + size);
    reader.read(slab, 3, 3 + size);
    slab.fill(0xff);
    at += size;
  }
  return events;
}

describe("frames of a client", () => {
  const long = "0123456789".repeat(700);
  const stream = Buffer.concat([
    frame(1, "plain"),
    frame(1, ""),
    frame(1, "gr\u00fc\u00dfe"),
    frame(9, ""),
    frame(2, Uint8Array.of(0, 1, 254, 255)),
    frame(1, "first, ", false),
    frame(9, "ping"),
    frame(0, "", false),
    frame(0, "second \u20ac", false),
    frame(0, ""),
    frame(2, "x".repeat(126)),
    frame(1, long),
    frame(2, "", false),
    frame(0, long, false),
    frame(10, "pong"),
    frame(0, "end"),
    frame(2, "y".repeat(70_000)),
    frame(8, "\x03\xe8"),
  ]);
  const utf8 = (text: string): string => Buffer.from(text).toString("latin1");
  const events: Event[] = [
    ["text", "plain"],
    ["text", ""],
    ["text", utf8("gr\u00fc\u00dfe")],
    ["control 9", ""],
    ["binary", "\x00\x01\xfe\xff"],
    ["control 9", "ping"],
    ["text", utf8("first, second \u20ac")],
    ["binary", "x".repeat(126)],
    ["text", long],
    ["control 10", "pong"],
    ["binary", `${long}end`],
    ["binary", "y".repeat(70_000)],
    ["control 8", utf8("\x03\xe8")],
  ];

  it.each([1, 2, 3, 5, 7, 13, 14, 15, 64, 1000, 4096, 65_536, 1_000_000])(
    "Frames are read alike from pieces of any size: %i bytes",
    (size) => {
      expect(read(stream, () => size)).toEqual(events);
    },
  );

  it("Frames are read alike from pieces of random sizes", () => {
    let seed = 1;
    for (let round = 0; round < 50; round++) {
      const next = (): number => {
        seed = (seed * 48_271) % 0x7fff_ffff;
        return 1 + (seed % (round % 2 === 0 ? 20 : 3000));
      };
      expect(read(stream, next)).toEqual(events);
    }
  });

  it("A message is refused by its length before its bytes have arrived, also as the sum of its fragments", () => {
    const head = frame(2, "", true, 101n);
    expect(() => read(head, () => 1, 100)).toThrow("Max payload size exceeded");
    const parts = Buffer.concat([frame(2, "x".repeat(60), false), frame(0, "x".repeat(41))]);
    expect(() => read(parts, () => 1000, 100)).toThrow("Max payload size exceeded");
    expect(read(parts, () => 1000, 101)).toEqual([["binary", "x".repeat(101)]]);
  });

  it("A head is refused by its first two bytes", () => {
    expect(() => read(Buffer.from([0x81, 0x05]), () => 2)).toThrow("MASK must be set");
    expect(() => read(Buffer.from([0x80, 0x80]), () => 2)).toThrow("invalid opcode 0");
    expect(() => read(Buffer.from([0x89, 0xfe]), () => 2)).toThrow("invalid payload length 126");
  });

  it("A message is refused by its length before its mask has arrived", () => {
    expect(() => read(frame(2, "", true, 65_536n).subarray(0, 10), () => 1, 100)).toThrow("Max payload size exceeded");
    expect(() => read(frame(1, "", true, 200n).subarray(0, 4), () => 1, 100)).toThrow("Max payload size exceeded");
    expect(() => read(frame(2, "", true, 2n ** 53n), () => 1000)).toThrow("payload length > 2^53 - 1");
  });

  it("Many small fragments after a long one do not copy it again and again", () => {
    const allocated = vi.spyOn(Buffer, "allocUnsafeSlow");
    const parts = [frame(2, "x".repeat(50_000), false), ...Array(1000).fill(frame(0, "y", false)), frame(0, "z")];
    try {
      const [event] = read(Buffer.concat(parts), () => 65_536);
      expect(event).toEqual(["binary", `${"x".repeat(50_000)}${"y".repeat(1000)}z`]);
      expect(allocated.mock.calls.length).toBeLessThan(5);
    } finally {
      allocated.mockRestore();
    }
  });

  it("A message may have 16,384 fragments, the last included", () => {
    const fragments = (count: number): Buffer =>
      Buffer.concat([frame(2, "a", false), ...Array(count - 2).fill(frame(0, "", false)), frame(0, "z")]);
    const bytes = Buffer.concat([fragments(16_384), fragments(16_384)]);
    expect(read(bytes, () => 65_536)).toEqual([
      ["binary", "az"],
      ["binary", "az"],
    ]);
    expect(() => read(fragments(16_385), () => 65_536)).toThrow("Too many message fragments");
  });

  it("Each first byte of a frame is accepted or refused as RFC 6455 says, inside a fragmented message and outside", () => {
    const isAccepted = (bytes: Buffer): boolean => {
      try {
        read(bytes, () => 1000);
        return true;
      } catch {
        return false;
      }
    };
    for (let first = 0; first < 256; first++) {
      const bytes = frame(0, "");
      bytes[0] = first;
      const isControl = first >= 0x88 && first <= 0x8a;
      expect([first, isAccepted(bytes)]).toEqual([first, isControl || [0x01, 0x02, 0x81, 0x82].includes(first)]);
      const inside = Buffer.concat([frame(1, "", false), bytes]);
      expect([first, isAccepted(inside)]).toEqual([first, isControl || first === 0 || first === 0x80]);
    }
  });

  it("Each code of a close frame is accepted or refused as RFC 6455 and its registry say", () => {
    const isAccepted = (code: number): boolean => {
      try {
        return readClose(Buffer.of(code >> 8, code & 0xff)).code === code;
      } catch {
        return false;
      }
    };
    const codes = Array.from({ length: 65_536 }, (_, code) => code).filter(isAccepted);
    const registered = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014];
    expect(codes).toEqual([...registered, ...Array.from({ length: 2000 }, (_, i) => 3000 + i)]);
    expect(readClose(Buffer.alloc(0)).code).toBe(1005);
    expect(() => readClose(Buffer.of(3, 232, 0xff))).toThrow("invalid UTF-8 sequence");
  });

  it("A message that is only announced takes no memory", () => {
    const allocated = vi.spyOn(Buffer, "allocUnsafeSlow");
    try {
      read(frame(2, "x", true, 900_000n), () => 1000);
      read(Buffer.concat([frame(2, "x", false), frame(0, "y", false, 900_000n)]), () => 1000);
      expect(allocated.mock.calls.slice(0, 3)).toEqual([[4096], [4096]]);
    } finally {
      allocated.mockRestore();
    }
  });

  it.each(["80", "0080", "c3", "ff"])("Text that is not UTF-8 is refused, whole and in fragments: %s", (hex) => {
    const bytes = Buffer.from(hex, "hex");
    expect(() => read(frame(1, bytes), () => 1000)).toThrow("invalid UTF-8 sequence");
    const parts = Buffer.concat([frame(1, bytes, false), frame(0, "")]);
    expect(() => read(parts, () => 1000)).toThrow("invalid UTF-8 sequence");
  });
});
