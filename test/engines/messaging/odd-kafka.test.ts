import { Admin, type CompressionAlgorithmValue, type MessageToProduce, Producer } from "@platformatic/kafka";
import { createKafkaBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { service } from "../../support/service.js";
import { connected, silent, uniqueTopic, until } from "./harness.js";
import { oddMessagesContract } from "./odd-messages.js";

const address = service("kafka");

type Bytes = Omit<MessageToProduce<Buffer, Buffer, Buffer, Buffer>, "topic">;

interface Sent extends Bytes {
  readonly compression?: CompressionAlgorithmValue;
}

const value = Buffer.from("1");
const headed = (headers: Readonly<Record<string, string | Buffer>>): Sent => ({
  value,
  headers: new Map(Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)])),
});
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`h${n}`, String(n)]));

describe.skipIf(!address)("Messages that other programs send through Kafka", () => {
  const group = uniqueTopic("group");
  let producer: Producer<Buffer, Buffer, Buffer, Buffer>;
  beforeAll(() => {
    producer = new Producer({ clientId: "other", bootstrapBrokers: [address!] });
  });
  afterAll(() => producer.close());

  oddMessagesContract<Sent>("Kafka", {
    group,
    backend: {
      connect: () => createKafkaBroker({ brokers: [address!], groupId: group, sessionTimeout: 6, partitions: 1 }),
    },
    plain: (text) => ({ value: Buffer.from(text) }),
    async send(topic, { compression = "none", ...message }) {
      await producer.send({ messages: [{ ...message, topic }], compression });
    },
    messages: {
      "a message without a value": {},
      "an empty value": { value: Buffer.alloc(0) },
      "a value of more bytes than we send": { value: Buffer.alloc(1_040_000, "x") },
      "a value of as many bytes as the broker takes": { value: Buffer.alloc(1_048_000, "x") },
      "a value that is not UTF-8": { value: Buffer.from([0xff, 0xfe]) },
      "JSON that is nested deeply": { value: Buffer.from("[".repeat(100_000)) },
      "10,000 headers": headed(many(10_000)),
      "a header that is not UTF-8": headed({ bytes: Buffer.from([0xff, 0, 0x80]) }),
      "a header twice, in upper and lower case": headed({ Tenant: "a", tenant: "b" }),
      "headers with names of the language": headed({ ["__proto__"]: "p", constructor: "c", toString: "t" }),
      "a content type of 100,000 characters": headed({ "content-type": `text/${"x".repeat(100_000)}` }),
      "an id of 100,000 characters": headed({ "stoa-id": "x".repeat(100_000) }),
      "an empty id": headed({ "stoa-id": "" }),
      "an id with U+0000": headed({ "stoa-id": "a\0b" }),
      "999999 attempts": headed({ "stoa-attempt": "999999" }),
      "a negative number of attempts": headed({ "stoa-attempt": "-1" }),
      "forged headers of dead letters": headed({
        "stoa-dead-reason": "invalid",
        "stoa-dead-topic": "../../etc",
        "stoa-dead-at": "never",
        "stoa-dead-cut": "1",
        "stoa-dead-done": "0:0",
      }),
      "an empty key": { value, key: Buffer.alloc(0) },
      "a key that is not UTF-8": { value, key: Buffer.from([0, 0xff, 0x80]) },
      "a key of 100,000 bytes": { value, key: Buffer.alloc(100_000, "k") },
      "a negative time": { value, timestamp: -5n },
      "a value compressed with gzip": { value, compression: "gzip" },
      "a value compressed with snappy": { value, compression: "snappy" },
      "a value compressed with lz4": { value, compression: "lz4" },
    },
  });

  it("A message that is too large for the broker takes no other one along", async () => {
    const broker = await createKafkaBroker({ brokers: [address!], partitions: 1 });
    const topic = uniqueTopic();
    const record = (id: string, size: number) => {
      const common = { topic, id, key: null, headers: {}, timestamp: Date.now(), delayMs: 0, foreign: true };
      return { ...common, body: Buffer.alloc(size) };
    };
    const outcomes = await broker.publish([record("a", 1), record("b", 2_000_000), record("c", 1)]);
    expect(outcomes.map((outcome) => outcome?.code ?? null)).toEqual([null, "TOO_LARGE", null]);
    await broker.close();
  });

  it("A message that is too large does not make the broker store those of other partitions twice", async () => {
    const admin = new Admin({ clientId: "other", bootstrapBrokers: [address!] });
    const topic = uniqueTopic();
    const configs = [{ name: "max.message.bytes", value: "5000" }];
    await admin.createTopics({ topics: [topic], partitions: 4, replicas: 1, configs });
    const broker = await createKafkaBroker({ brokers: [address!] });
    const record = (key: string, size: number) => {
      return { topic, id: key, key, headers: {}, timestamp: Date.now(), delayMs: 0, body: Buffer.alloc(size) };
    };
    const records = Array.from({ length: 20 }, (_, n) => record(`key-${n}`, n === 7 ? 10_000 : 1));
    const latest = Array.from({ length: 4 }, (_, partitionIndex) => ({ partitionIndex, timestamp: -1n }));
    const listed = () => admin.listOffsets({ topics: [{ name: topic, partitions: latest }] });
    // A new topic has no leaders for a moment.
    await vi.waitFor(listed);
    const outcomes = await broker.publish(records, { ordered: true });
    expect(outcomes.map((outcome) => outcome?.code ?? null)).toEqual(
      records.map((_, n) => (n === 7 ? "TOO_LARGE" : null)),
    );
    const [ends] = await listed();
    expect(ends!.partitions.reduce((sum, { offset }) => sum + Number(offset), 0)).toBe(19);
    await admin.close();
    await broker.close();
  });

  it("The messages of a key behind one that is too large for its topic wait for it in the outbox, and others do not", async () => {
    const admin = new Admin({ clientId: "other", bootstrapBrokers: [address!] });
    const topic = uniqueTopic();
    const configs = [{ name: "max.message.bytes", value: "5000" }];
    await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1, configs });
    await admin.close();
    const client = await connected({ connect: () => createKafkaBroker({ brokers: [address!] }) });
    const record = (id: string, key: string | null, size = 1) => {
      return { topic, id, key, headers: {}, timestamp: Date.now(), delayMs: 0, body: Buffer.alloc(size) };
    };
    const records = [
      record("before", "k"),
      record("large", "k", 10_000),
      record("behind", "k"),
      record("other", "o"),
      record("without", null),
      // In another request to the broker.
      ...Array.from({ length: 300 }, (_, n) => record(`far-${n}`, n % 2 === 0 ? "k" : "o", 4000)),
    ];
    const outcomes = await client.forward("kafka", records);
    const codes = outcomes.map((outcome) => outcome?.code ?? null);
    expect(codes.slice(0, 5)).toEqual([null, "TOO_LARGE", "REFUSED", null, null]);
    expect(codes.slice(5)).toEqual(Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? "REFUSED" : null)));
    await client.close();
  });

  it("A message creates no topic by asking for a reply there", async () => {
    const logger = silent();
    const client = await connected(
      { connect: () => createKafkaBroker({ brokers: [address!], groupId: group }) },
      { logger },
    );
    const [topic, place] = [uniqueTopic(), `${uniqueTopic("made-up")}.replies`];
    const consumer = await client.subscribe(topic, {}, () => "reply");
    await client.publish(topic, 1);
    await producer.send({ messages: [{ ...headed({ "stoa-reply-to": place }), topic }] });
    await until(() => consumer.stats().results.done === 2, "both messages are handled");
    await until(() =>
      logger.lines.some(({ message }) => message === `a reply to a message of '${topic}' was not sent`),
    );
    const admin = new Admin({ clientId: "other", bootstrapBrokers: [address!] });
    expect(await admin.listTopics()).not.toContain(place);
    await admin.close();
    // The replies of requests still find their way.
    expect(await client.request(topic, 2)).toBe("reply");
    await client.close();
  });

  it("A topic that is deleted is created again, for publishers and for its consumer", async () => {
    const settings = { brokers: [address!], groupId: uniqueTopic("group"), sessionTimeout: 6, partitions: 1 };
    const client = await connected({ connect: () => createKafkaBroker(settings) });
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, ({ value: got }) => void seen.push(got));
    await client.publish(topic, "before");
    await until(() => seen.includes("before"), "the first message");
    const admin = new Admin({ clientId: "other", bootstrapBrokers: [address!] });
    await admin.deleteTopics({ topics: [topic] });
    await admin.close();
    await until(
      () =>
        client.publish(topic, "after").then(
          () => true,
          () => false,
        ),
      "a publish to the new topic",
    );
    await until(() => seen.includes("after"), "the message of the new topic", 60_000);
    expect(seen[0]).toBe("before");
    await client.close();
  });
});
