import type { Socket } from "node:net";
import { type ChannelModel, type ConfirmChannel, connect, type Options } from "amqplib";
import { createAmqpBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { service } from "../../support/service.js";
import { clients, connected, uniqueTopic, until } from "./harness.js";
import { oddMessagesContract } from "./odd-messages.js";

const url = service("rabbitmq");

interface Sent {
  readonly body: Buffer;
  readonly options: Options.Publish;
}

const of = (options: Options.Publish, body: Buffer | string = "1"): Sent => ({ body: Buffer.from(body), options });
const headed = (headers: Record<string, unknown>, body?: Buffer | string): Sent => of({ headers }, body);
const typed = (type: string, value: unknown) => ({ "!": type, value });
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

describe.skipIf(!url)("Messages that other programs send through RabbitMQ", () => {
  let connection: ChannelModel;
  let channel: ConfirmChannel;
  beforeAll(async () => {
    connection = await connect(url!);
    channel = await connection.createConfirmChannel();
  });
  afterAll(() => connection.close());

  oddMessagesContract<Sent>("RabbitMQ", {
    group: "stoa",
    backend: { connect: () => createAmqpBroker(url) },
    plain: (text) => of({}, text),
    async send(topic, { body, options }) {
      channel.publish(topic, "", body, options);
      await channel.waitForConfirms();
    },
    messages: {
      "a message without anything": of({}),
      "an empty body": of({}, ""),
      "a body of a megabyte": of({}, Buffer.alloc(1_048_576, "x")),
      "a body that is not UTF-8": of({ contentType: "application/json" }, Buffer.from([0xff, 0xfe, 0x22])),
      "a body that begins with a byte order mark": of({}, "\ufeff1"),
      "JSON that is nested deeply": of({}, "[".repeat(100_000)),
      "a number that is too large": of({}, "1e999"),
      "a header of each type": headed({
        null: null,
        bool: true,
        byte: typed("int8", -1),
        long: typed("int64", 2 ** 60),
        double: 0.5,
        decimal: typed("decimal", { digits: 314, places: 2 }),
        timestamp: typed("timestamp", 2 ** 62),
        bytes: Buffer.from([0, 255]),
        list: [1, "a", null, [true]],
        table: { a: { b: Buffer.from("c") } },
      }),
      "a header twice, in upper and lower case": headed({ Tenant: "a", tenant: "b" }),
      "headers with names of the language": headed(
        JSON.parse('{"__proto__":{"polluted":"yes"},"constructor":"c","toString":"t","hasownproperty":1}'),
      ),
      "a list that is nested deeply in a header": headed({ list: nested(500) }),
      "5000 headers": headed(Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`h${n}`, n]))),
      "a header of 50,000 characters": headed({ long: "x".repeat(50_000) }),
      "a content type of 50,000 characters": headed({ "Content-Type": `text/${"x".repeat(50_000)}` }),
      "a negative number of attempts": headed({ "stoa-attempt": "-1" }),
      "a number of attempts that is not one": headed({ "stoa-attempt": "NaN" }),
      "999999 attempts": headed({ "stoa-attempt": "999999" }),
      "forged headers of dead letters": headed({
        "stoa-dead-reason": "invalid",
        "stoa-dead-error": "forged",
        "stoa-dead-issues": "{",
        "stoa-dead-topic": "../../etc",
        "stoa-dead-group": "forged",
        "stoa-dead-at": "never",
        "stoa-dead-cut": "1",
        "stoa-replays": "0",
      }),
      "a reply address that is none": headed({ "stoa-reply-to": "orders", "stoa-correlation-id": "x".repeat(5000) }),
      "a reply address of RabbitMQ that is malformed": of({ replyTo: "amq.rabbitmq.reply-to.x", correlationId: "1" }),
      "an empty id": of({ messageId: "" }),
      "an id with U+0000": of({ messageId: "a\0b" }),
      "a key of 300 characters": headed({ "stoa-key": "k".repeat(300) }),
      "a key of 50,000 characters": headed({ "stoa-key": "k".repeat(50_000) }),
      "a key with U+0000": headed({ "stoa-key": "a\0b" }),
      "a key that is a table": headed({ "stoa-key": { a: 1 } }),
      "a time that is a table": headed({ "stoa-time": { valueOf: "x", toString: "y" } }),
      "a negative time": headed({ "stoa-time": "-5" }),
      "a time in the year 300000": headed({ "stoa-time": "9404640000000000" }),
      "a time in milliseconds where seconds are expected": of({ timestamp: 1_700_000_000_000 }),
      "a forged count of deliveries": headed({ "x-delivery-count": 100 }),
      "forged headers of the broker's own dead letters": headed({
        "x-death": "no list",
        "x-first-death-reason": "expired",
        "x-first-death-queue": "other",
      }),
    },
  });

  const open = clients({ connect: () => createAmqpBroker(url) });

  /** Publishes a message with lists in lists as a header: more than the client library can write. A frame has room for 26,000. */
  async function publishDeep(exchange: string, depth: number): Promise<void> {
    const number = (bytes: number, value: number) => {
      const buffer = Buffer.alloc(bytes);
      buffer.writeUIntBE(value, 0, bytes);
      return buffer;
    };
    const text = (value: string) => Buffer.concat([number(1, value.length), Buffer.from(value)]);
    const list = Buffer.alloc(5 * (depth + 1));
    for (let level = 0; level <= depth; level++) {
      list.write(level === depth ? "I" : "A", 5 * level);
      list.writeUInt32BE(level === depth ? 1 : list.length - 5 * (level + 1), 5 * level + 1);
    }
    const table = Buffer.concat([text("list"), list]);
    const publish = [number(2, 60), number(2, 40), number(2, 0), text(exchange), text(""), number(1, 0)];
    // The flags of content-type, headers and message-id.
    const header = [number(2, 60), number(4, 0), number(6, 1), number(2, 0xa080), text("application/json")];
    const frames = [publish, [...header, number(4, table.length), table, text("deep")], [Buffer.from("1")]];
    const connection = await connect(url!);
    const channel = await connection.createChannel();
    const { stream } = connection.connection as unknown as { stream: Socket };
    for (const [place, parts] of frames.entries()) {
      const payload = Buffer.concat(parts);
      const start = [number(1, place + 1), number(2, 1), number(4, payload.length)];
      stream.write(Buffer.concat([...start, payload, number(1, 0xce)]));
    }
    await channel.close();
    await connection.close();
  }

  it("A message whose headers are too deep for the client library is a dead letter, also of a classic queue, and the connection stays", async () => {
    const topic = uniqueTopic("deep");
    const client = await connected({ connect: () => createAmqpBroker({ url: url!, queueType: "classic" }) });
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    await client.publish(topic, 1);
    await publishDeep(topic, 25_000);
    await client.publish(topic, 2);
    await until(() => seen.length === 2, "the other messages are handled");
    await until(async () => (await client.deadLetters.list(topic)).length === 1, "there is a dead letter");
    const error = expect.stringContaining("the headers of the message cannot be read");
    expect(await client.deadLetters.list(topic)).toMatchObject([{ id: "deep", reason: "unreadable", error }]);
    expect(seen).toEqual([1, 2]);
    // None was delivered twice, as after the end of a connection.
    expect(client.consumers[0]!.stats()).toMatchObject({ results: { done: 2, dead: 1 } });
    await client.close();
  });

  it("A message with a key that AMQP cannot hold as a routing key is handled, since every queue of its topic gets it", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const keys: (string | null)[] = [];
    await client.subscribe(topic, {}, ({ key }) => void keys.push(key));
    await client.publish(topic, 1, { key: "é".repeat(200) });
    await until(() => keys.length === 1);
    expect(keys).toEqual(["é".repeat(200)]);
  });

  it("A message that AMQP cannot hold is refused at once, and those published with it are sent", async () => {
    const topic = uniqueTopic();
    const topics = { [topic]: { type: "topic" as const } };
    const client = await connected({ connect: () => createAmqpBroker({ url: url!, topics }) });
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    const headers = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`h${n}`, "x".repeat(8000)]));
    const results = await Promise.allSettled([
      client.publish(topic, 1),
      client.publish(topic, 2, { key: "k".repeat(300) }),
      client.publish(topic, 3, { headers }),
      client.publish(topic, 4),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    for (const refused of results.slice(1, 3)) {
      const message = expect.stringContaining("AMQP cannot hold the message");
      expect(refused).toMatchObject({ reason: { code: "TOO_LARGE", message } });
    }
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 4]);
    await client.close();
  });
});
