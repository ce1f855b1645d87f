import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { OutgoingRecord } from "stoa/messaging";
import { expect, it } from "vitest";
import type { ConfirmChannel } from "../../../src/engines/messaging/amqp/amqplib.js";
import { mostBytes, type Publish, writePublish } from "../../../src/engines/messaging/amqp/publish-frames.js";
import { PublishWriter } from "../../../src/engines/messaging/amqp/publish-writer.js";
import { propertiesOf } from "../../../src/engines/messaging/amqp/records.js";
import fc, { runs } from "../../support/properties.js";

const require = createRequire(import.meta.url);
const inside = (name: string) => require(join(dirname(require.resolve("amqplib")), "lib", name));
const { Connection } = inside("connection.js");
const defs = inside("defs.js");
const args = inside("api_args.js");

/** The bytes that amqplib sends for a publish. */
function expected({ record, exchange, routingKey, mandatory }: Publish, channel: number): Buffer {
  const chunks: Buffer[] = [];
  const connection = {
    channels: { [channel]: { buffer: { write: (chunk: Buffer) => chunks.push(chunk) } } },
    frameMax: 131_072,
    sendContent: Connection.prototype.sendContent,
  };
  const fields = args.publish(exchange, routingKey, { ...propertiesOf(record), mandatory });
  const content = Buffer.from(record.body);
  const send = Connection.prototype.sendMessage;
  send.call(connection, channel, defs.BasicPublish, fields, defs.BasicProperties, fields, content);
  return Buffer.concat(chunks);
}

function recordOf(fields: Partial<OutgoingRecord> = {}): OutgoingRecord {
  const body = Buffer.from("1");
  return { topic: "t", id: "1", key: null, headers: {}, body, timestamp: 1_700_000_000_000, delayMs: 0, ...fields };
}

function publishOf(fields: Partial<OutgoingRecord> = {}): Publish {
  return { record: recordOf(fields), exchange: "t", routingKey: "", mandatory: true };
}

const text = (maxLength: number) => fc.oneof(fc.string({ maxLength }), fc.string({ maxLength, unit: "grapheme" }));
/** Names that are whole numbers would have another order in the object that amqplib gets. */
const headers = fc.dictionary(
  fc.oneof(
    fc.constantFrom("content-type", "stoa-reply-to", "stoa-correlation-id", "traceparent"),
    text(20).map((name) => `h${name}`),
  ),
  text(80),
  { maxKeys: 6 },
);
const publishes = fc.record<Publish>({
  exchange: text(60),
  routingKey: text(80),
  mandatory: fc.boolean(),
  record: fc.record<OutgoingRecord>({
    topic: fc.constant("t"),
    id: text(70),
    key: fc.option(text(200)),
    headers,
    body: fc.uint8Array({ maxLength: 3000 }),
    timestamp: fc.oneof(fc.constantFrom(0, 8.64e15, Date.now()), fc.nat(), fc.double({ min: 0, max: 8e15 })),
    delayMs: fc.constant(0),
  }),
});

it("The frames of a publish are byte for byte those of amqplib, and never longer than foretold", () => {
  fc.assert(
    fc.property(publishes, fc.integer({ min: 1, max: 65_535 }), fc.nat(100), (publish, channel, start) => {
      const most = mostBytes(publish);
      fc.pre(most !== Number.POSITIVE_INFINITY);
      const target = Buffer.alloc(start + most, 0xaa);
      const end = writePublish(target, start, channel, publish);
      expect(end).toBeLessThanOrEqual(target.length);
      expect(target.subarray(start, end).equals(expected(publish, channel))).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

it.each<[string, Publish]>([
  ["a routing key of over 255 bytes", { ...publishOf(), routingKey: "ü".repeat(128) }],
  ["an id of over 255 bytes", publishOf({ id: "x".repeat(256) })],
  ["a content type of over 255 bytes", publishOf({ headers: { "content-type": "x".repeat(256) } })],
  ["a name of a header of over 255 bytes", publishOf({ headers: { ["x".repeat(256)]: "1" } })],
  ["a time that is no number", publishOf({ timestamp: Number.NaN })],
  ["a time before 1970", publishOf({ timestamp: -1 })],
  ["a time without an end", publishOf({ timestamp: Number.POSITIVE_INFINITY })],
])("A record with %s is left to amqplib", (_what, publish) => {
  expect(mostBytes(publish)).toBe(Number.POSITIVE_INFINITY);
  const { writer, written } = opened();
  expect(writer.publish(publish, () => {})).toBe(false);
  writer.flush();
  expect(written).toEqual([]);
});

it("The messages of one turn are written once, in their order, each with its place among the confirms", async () => {
  const { writer, written, waiting } = opened();
  const [first, second] = [publishOf({ id: "1" }), publishOf({ id: "2", body: Buffer.alloc(0) })];
  const confirms = [() => {}, () => {}];
  expect(writer.publish(first, confirms[0]!)).toBe(true);
  expect(writer.publish(second, confirms[1]!)).toBe(true);
  expect(written).toEqual([]);
  await turn();
  expect(written).toEqual([Buffer.concat([expected(first, 3), expected(second, 3)])]);
  expect(waiting).toEqual(confirms);
  await turn();
  expect(written).toHaveLength(1);
});

it("Messages that fill several blocks of memory arrive whole, and memory that was written is not used again", async () => {
  const { writer, written } = opened();
  const all = Array.from({ length: 60 }, (_, n) => publishOf({ id: String(n), body: Buffer.alloc(n * 150, n) }));
  for (const [n, publish] of all.entries()) {
    expect(writer.publish(publish, () => {})).toBe(true);
    if (n % 7 === 0) await turn();
  }
  await turn();
  expect(Buffer.concat(written).equals(Buffer.concat(all.map((publish) => expected(publish, 3))))).toBe(true);
});

it("A message that is larger than a frame may be is left to amqplib", () => {
  const { writer } = opened({ frameMax: 4096 });
  expect(writer.publish(publishOf({ body: Buffer.alloc(4096) }), () => {})).toBe(false);
  expect(writer.publish(publishOf({ body: Buffer.alloc(3000) }), () => {})).toBe(true);
});

it.each(["channel", "connection"] as const)("Nothing is written to a %s that has closed meanwhile", async (which) => {
  const { writer, written, waiting, close } = opened();
  expect(writer.publish(publishOf(), () => {})).toBe(true);
  close(which);
  await turn();
  expect(writer.publish(publishOf(), () => {})).toBe(false);
  expect(written).toEqual([]);
  // The one that was taken is among those that amqplib fails when the channel closes.
  expect(waiting).toHaveLength(1);
});

it("A channel of another inside has no writer", () => {
  const { channel } = opened();
  const { ch: _ch, ...withoutNumber } = channel;
  const others = [{}, withoutNumber, { ...channel, connection: {} }, { ...channel, pushConfirmCallback: null }];
  for (const other of others) expect(PublishWriter.of(other as unknown as ConfirmChannel)).toBeNull();
});

it("A channel that is closed has no writer, also if another channel has its number now", () => {
  const { channel } = opened();
  channel.connection.channels[3]!.channel = { ...channel };
  expect(PublishWriter.of(channel as unknown as ConfirmChannel)).toBeNull();
});

/** A writer on a channel of the same inside as amqplib's. */
function opened({ frameMax = 131_072 } = {}) {
  const written: Buffer[] = [];
  const waiting: unknown[] = [];
  const buffer = { write: (bytes: Buffer) => void written.push(Buffer.from(bytes)) };
  const connection = {
    sendMessage: () => {},
    frameMax,
    sentSinceLastCheck: false,
    channels: [null, null, null, { channel: null as unknown, buffer }],
  };
  const channel = {
    ch: 3,
    sendMessage: () => {},
    connection,
    pushConfirmCallback: (confirmed: unknown) => void waiting.push(confirmed),
  };
  connection.channels[3]!.channel = channel;
  const close = (which: "channel" | "connection") => {
    (which === "channel" ? channel : connection).sendMessage = () => {
      throw new Error("closed");
    };
  };
  return { writer: PublishWriter.of(channel as unknown as ConfirmChannel)!, channel, written, waiting, close };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
