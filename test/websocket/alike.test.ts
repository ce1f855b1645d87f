import { expect, it } from "vitest";
import fc from "../support/properties.js";
import { eventually, frame, handshake, RawPeer, type SocketServer, socketServer, socketTransports } from "./server.js";

interface Sent {
  readonly bytes: Buffer;
  /** The sizes of the pieces, again and again; 0 for all at once, with the handshake. */
  readonly pieces: readonly number[];
  /** The client ends its side without a close frame. */
  readonly isCut: boolean;
}

/** What came of the bytes of one client. */
interface Outcome {
  messages: unknown[];
  end: unknown;
  pongs: string[];
  close: string | null;
}

const maxMessageSize = 70_000;
const runs = Number(process.env.STOA_RUNS ?? 60);

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "binary", maxLength: 20 }).map((value) => Buffer.from(value)) },
  fc
    .constantFrom("", "plain", "gr\u00fc\u00dfe \u20ac \u{1f388}", "x".repeat(125), "\u00fc".repeat(63))
    .map((value) => Buffer.from(value)),
);
const dirty = fc.oneof(
  fc.uint8Array({ maxLength: 8 }).map((value) => Buffer.from(value)),
  fc.constantFrom("ff", "c0af", "eda080", "e282", "f4908080", "c3", "61e282").map((value) => Buffer.from(value, "hex")),
);
const sized = fc
  .constantFrom(0, 1, 124, 125, 126, 127, 65_535, 65_536, maxMessageSize, maxMessageSize + 1)
  .map((size) => Buffer.alloc(size, "0123456"));
const data = fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: dirty }, { weight: 2, arbitrary: sized });
const few = fc.string({ unit: "binary", maxLength: 10 }).map((value) => Buffer.from(value));

const closeFrame = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(999, 1000, 1001, 1003, 1004, 1005, 1006, 1007, 1011, 1014, 1015, 1016, 2999, 3000, 4999, 5000),
      fc.nat(65_535),
    ),
    fc.oneof({ weight: 4, arbitrary: few }, { weight: 1, arbitrary: dirty }),
    fc.constantFrom(false, false, true),
  )
  .map(([code, reason, isEmpty]) =>
    isEmpty ? frame(8, "") : frame(8, Buffer.concat([Buffer.of(code >> 8, code & 0xff), reason])),
  );

/** One message, whole or in fragments that may be cut anywhere, with control frames between them. */
const message = fc
  .tuple(fc.constantFrom(1, 1, 2), data, fc.array(fc.nat(1000), { maxLength: 4 }), fc.boolean(), few)
  .map(([opcode, payload, cuts, withPings, ping]) => {
    const ends = [...cuts.map((cut) => cut % (payload.length + 1)).sort((a, b) => a - b), payload.length];
    const frames = ends.map((end, i) => {
      const part = frame(i === 0 ? opcode : 0, payload.subarray(ends[i - 1] ?? 0, end), i === ends.length - 1);
      return withPings && i > 0 ? Buffer.concat([frame(9, ping), part]) : part;
    });
    return Buffer.concat(frames);
  });

/** Any head: reserved bits and opcodes, no mask, a length in more bytes than it needs, or another than that of the payload. */
const odd = fc.oneof(
  fc.tuple(fc.nat(255), few).map(([first, payload]) => {
    const whole = frame(2, payload);
    whole[0] = first;
    return whole;
  }),
  few.map((payload) => Buffer.concat([Buffer.of(0x82, payload.length), payload])),
  fc.tuple(fc.constantFrom(126, 127), fc.constantFrom(0x81, 0x82, 0x88, 0x89), few).map(([form, first, payload]) => {
    const length = Buffer.alloc(form === 126 ? 2 : 8);
    length[length.length - 1] = payload.length;
    return Buffer.concat([Buffer.of(first, 0x80 | form), length, Buffer.alloc(4), payload]);
  }),
  fc
    .constantFrom(2n ** 31n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n)
    .map((size) => frame(2, "", true, size)),
  fc.constantFrom(8, 9, 10).map((opcode) => frame(opcode, Buffer.alloc(126))),
  fc.constantFrom(8, 9, 10).map((opcode) => frame(opcode, "\x03\xe8", false)),
  few.map((payload) => frame(0, payload)),
  few.map((payload) => frame(1, payload, false)),
  fc.nat(255).map((byte) => frame(8, Buffer.of(byte))),
);

const sent: fc.Arbitrary<Sent> = fc
  .record({
    frames: fc.array(
      fc.oneof(
        { weight: 8, arbitrary: message },
        {
          weight: 2,
          arbitrary: fc.tuple(fc.constantFrom(9, 10), few).map(([opcode, payload]) => frame(opcode, payload)),
        },
        { weight: 1, arbitrary: odd },
      ),
      { maxLength: 6 },
    ),
    close: closeFrame,
    after: fc.option(message, { nil: Buffer.alloc(0) }),
    cut: fc.option(fc.nat(), { nil: null, freq: 6 }),
    pieces: fc.oneof(fc.constant([]), fc.array(fc.constantFrom(1, 2, 3, 7, 40, 5000), { minLength: 1, maxLength: 5 })),
  })
  .map(({ frames, close, after, cut, pieces }) => {
    const bytes = Buffer.concat([...frames, close, after]);
    return { bytes: cut === null ? bytes : bytes.subarray(0, cut % (bytes.length + 1)), pieces, isCut: cut !== null };
  });

async function outcomeOf(server: SocketServer, seen: Outcome[], { bytes, pieces, isCut }: Sent): Promise<Outcome> {
  const number = seen.length;
  using peer = new RawPeer(server.port);
  if (pieces.length === 0) {
    peer.socket.write(Buffer.concat([Buffer.from(handshake()), bytes]));
    await peer.request("");
  } else {
    await peer.handshake();
    // Small pieces of a long message would take long.
    const factor = Math.ceil(bytes.length / 2000);
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = pieces[i % pieces.length]! * factor;
      peer.socket.write(bytes.subarray(at, at + size));
      at += size;
      if (i % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const pongs: string[] = [];
  let close: string | null = null;
  if (isCut) peer.socket.end();
  try {
    while (close === null) {
      const { opcode, payload } = await peer.frame();
      if (opcode === 10) pongs.push(payload.toString("hex"));
      if (opcode === 8) close = payload.toString("hex");
    }
  } catch {
    // Without a close frame.
  }
  peer.socket.end();
  await peer.closed();
  await eventually(() => seen.length > number && seen[number]!.end !== undefined);
  // Whether a close frame still leaves after the end of the client depends on when that is noticed.
  return { ...seen[number]!, pongs, close: isCut ? null : close };
}

async function started(on: (typeof socketTransports)[number]): Promise<[SocketServer, Outcome[]]> {
  const seen: Outcome[] = [];
  const server = await socketServer(
    async (socket) => {
      const outcome: Outcome = { messages: [], end: undefined, pongs: [], close: null };
      seen.push(outcome);
      for await (const { text, bytes } of socket) {
        outcome.messages.push(text ?? Buffer.from(bytes!).toString("hex"));
      }
      outcome.end = await socket.closed;
    },
    { maxMessageSize },
    on,
  );
  return [server, seen];
}

it.each(socketTransports.slice(1))("Any frames of a client have the same outcome on %s as on net", async (name) => {
  const [net, onNet] = await started("net");
  const [other, onOther] = await started(name);
  await using _net = net;
  await using _other = other;
  await fc.assert(
    fc.asyncProperty(sent, async (given) => {
      const [expected, found] = [await outcomeOf(net, onNet, given), await outcomeOf(other, onOther, given)];
      expect(found).toEqual(expected);
    }),
    { numRuns: runs },
  );
});
