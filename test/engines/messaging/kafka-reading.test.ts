import {
  Admin,
  Consumer,
  compressionsAlgorithms,
  Producer,
  ProtocolError,
  stringSerializers,
} from "@platformatic/kafka";
import { createKafkaBroker } from "stoa/messaging";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { service } from "../../support/service.js";
import { clients, connected, silent, uniqueTopic, until } from "./harness.js";
import { framedSnappy } from "./kafka-codecs.js";

const address = service("kafka");

describe.skipIf(!address)("Reading from Kafka", () => {
  const settings = { brokers: [address!], groupId: uniqueTopic("group"), sessionTimeout: 6 };
  const open = clients({ connect: () => createKafkaBroker(settings) });
  const base = { clientId: "test", bootstrapBrokers: [address!] };

  /** A topic of one partition. */
  async function oneLog(config: Record<string, string> = {}) {
    const name = uniqueTopic();
    const admin = new Admin(base);
    onTestFinished(() => admin.close());
    const configs = Object.entries(config).map(([key, value]) => ({ name: key, value }));
    await admin.createTopics({ topics: [name], partitions: 1, replicas: 1, configs });
    return { name, admin };
  }

  /** A producer of another program. */
  function foreign(options: object = {}) {
    const producer = new Producer({ ...base, serializers: stringSerializers, ...options });
    onTestFinished(() => producer.close(true));
    return producer;
  }

  const text = (topic: string, ...values: string[]) => ({
    messages: values.map((value) => ({ topic, value: JSON.stringify(value) })),
  });

  it("Messages of aborted transactions are not handled, though one producer aborts several and others are committed between", async () => {
    const { name } = await oneLog();
    const producer = foreign({ idempotent: true, transactionalId: uniqueTopic("tx") });
    for (const [end, ...values] of [
      ["abort", "aborted 1"],
      ["commit", "committed 1"],
      ["abort", "aborted 2", "aborted 3"],
      ["commit", "committed 2"],
    ] as const) {
      const transaction = await producer.beginTransaction();
      await transaction.send(text(name, ...values));
      await transaction[end]();
    }
    const client = await open();
    const seen: unknown[] = [];
    await client.subscribe(name, { from: "start" }, ({ value }) => void seen.push(value));
    await client.publish(name, "last");
    await until(() => seen.includes("last"));
    expect(seen).toEqual(["committed 1", "committed 2", "last"]);
  });

  it("Messages of an aborted transaction that is larger than a response are not handled", async () => {
    const { name } = await oneLog();
    const producer = foreign({ idempotent: true, transactionalId: uniqueTopic("tx") });
    const transaction = await producer.beginTransaction();
    for (let part = 0; part < 4; part++) await transaction.send(text(name, "x".repeat(700_000)));
    await transaction.abort();
    const client = await open();
    const seen: unknown[] = [];
    await client.subscribe(name, { from: "start" }, ({ value }) => void seen.push(value));
    await client.publish(name, "last");
    await until(() => seen.includes("last"));
    expect(seen).toEqual(["last"]);
  });

  it("A consumer whose next messages were deleted continues with the oldest that is left", async () => {
    const { name, admin } = await oneLog();
    const logger = silent();
    const client = await open({ logger });
    const seen: unknown[] = [];
    const first = await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    await client.publish(name, 0);
    await until(() => seen.length === 1);
    await first.close();
    await client.publishBatch(
      name,
      Array.from({ length: 9 }, (_, n) => ({ value: n + 1 })),
    );
    await admin.deleteRecords({ topics: [{ name, partitions: [{ partition: 0, offset: 6n }] }] });
    const again = await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    await until(() => seen.length >= 5);
    expect(seen).toEqual([0, 6, 7, 8, 9]);
    await until(async () => (await again.lag()) === 0);
    expect(logger.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  it("A group whose offset is after the end of the log begins again where a new group does", async () => {
    const { name, admin } = await oneLog();
    const client = await open();
    await client.publish(name, "before");
    const { groupId } = settings;
    const offsets = { partition: 0, offset: 500n, leaderEpoch: -1 };
    const other = new Consumer({ ...base, groupId: `${groupId}-${name}` });
    onTestFinished(() => other.close(true));
    other.topics.track(name);
    await other.joinGroup({});
    await other.commit({ offsets: [{ topic: name, ...offsets }] });
    await other.leaveGroup();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(
      name,
      { group: `${groupId}-${name}` },
      ({ value }) => void seen.push(value),
    );
    const committed = async () => {
      const groups = await admin.listConsumerGroupOffsets({
        groups: [{ groupId: `${groupId}-${name}`, topics: [{ name, partitionIndexes: [0] }] }],
      });
      return groups[0]?.topics[0]?.partitions[0]?.committedOffset;
    };
    await until(async () => (await committed()) === 1n);
    await client.publish(name, "after");
    await until(() => seen.length > 1);
    expect(seen).toEqual(["before", "after"]);
    await consumer.close();
  });

  it("A consumer whose knowledge of the leaders is out of date asks again and reads on", async () => {
    const { name } = await oneLog();
    const logger = silent();
    const client = await open({ logger });
    const original = Consumer.prototype.metadata as (options: { forceUpdate?: boolean }) => Promise<never>;
    let outdated = 0;
    const asked = vi.spyOn(Consumer.prototype, "metadata").mockImplementation(async function (
      this: unknown,
      options: { forceUpdate?: boolean },
    ) {
      const metadata: { topics: Map<string, { partitions: object[] }> } = await original.call(this, options);
      const topic = metadata.topics.get(name);
      if (topic === undefined || options.forceUpdate) return metadata;
      outdated++;
      // The broker refuses an epoch that it does not know yet.
      const partitions = topic.partitions.map((partition) => ({ ...partition, leaderEpoch: 1000 }));
      return { ...metadata, topics: new Map([[name, { ...topic, partitions }]]) };
    } as never);
    onTestFinished(() => asked.mockRestore());
    const seen: unknown[] = [];
    await client.subscribe(name, { from: "start" }, ({ value }) => void seen.push(value));
    await client.publish(name, 1);
    await until(() => seen.length === 1);
    expect(outdated).toBeGreaterThan(0);
    expect(logger.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  it.each(["gzip", "snappy", "lz4"] as const)("Messages that were compressed with %s are read", async (compression) => {
    const { name } = await oneLog();
    const publisher = await connected({ connect: () => createKafkaBroker({ ...settings, compression }) });
    onTestFinished(() => publisher.close());
    const seen: unknown[] = [];
    const values = Array.from({ length: 50 }, (_, n) => `${n}`.repeat(200));
    await publisher.subscribe(name, {}, ({ value }) => void seen.push(value));
    await publisher.publishBatch(
      name,
      values.map((value) => ({ value, key: "k" })),
    );
    await until(() => seen.length === 50);
    expect(seen).toEqual(values);
  });

  it("Batches of snappy with the framing of the Java client are read, and batches that are too large unpacked become dead letters", async () => {
    const { name } = await oneLog();
    const producer = foreign();
    const compressed = async (compression: "gzip" | "lz4" | "snappy", ...values: string[]) =>
      producer.send({ ...text(name, ...values), compression });
    const packed = vi.spyOn(compressionsAlgorithms.snappy, "compressSync");
    onTestFinished(() => packed.mockRestore());
    packed.mockImplementation((data) => framedSnappy(data instanceof Uint8Array ? data : data.buffer));
    const logger = silent();
    const client = await connected(
      { connect: () => createKafkaBroker({ ...settings, maxBatchBytes: 400_000 }) },
      { logger },
    );
    onTestFinished(() => client.close());
    const seen: unknown[] = [];
    await compressed("snappy", "first", "x".repeat(100_000));
    await compressed("gzip", "y".repeat(500_000), "never");
    await compressed("lz4", "z".repeat(500_000));
    await compressed("snappy", "z".repeat(500_000));
    await compressed("snappy", "last");
    await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    await until(() => seen.includes("last"));
    expect(seen).toEqual(["first", "x".repeat(100_000), "last"]);
    await until(async () => (await client.deadLetters.list(name)).length === 3);
    const dead = await client.deadLetters.list(name);
    expect(dead.map(({ reason }) => reason)).toEqual(["unreadable", "unreadable", "unreadable"]);
    // In any order: the topic of dead letters has several partitions.
    for (const offset of [2, 4, 5]) {
      const place = `(topic '${name}', partition 0, offset ${offset}): it has more than 400000 bytes`;
      expect(dead.filter(({ error }) => error.includes(place))).toHaveLength(1);
    }
    expect(logger.lines.filter(({ message }) => /lost its broker|unreachable/.test(message))).toEqual([]);
  });

  it("A topic whose times are set by the broker gives messages the time of their arrival", async () => {
    const { name } = await oneLog({ "message.timestamp.type": "LogAppendTime" });
    const before = Date.now();
    await foreign().send({ messages: [{ topic: name, value: "1", timestamp: 5n }] });
    const client = await open();
    const times: number[] = [];
    await client.subscribe(name, { from: "start" }, ({ timestamp }) => void times.push(timestamp.getTime()));
    await until(() => times.length === 1);
    expect(times[0]).toBeGreaterThanOrEqual(before - 1000);
  });

  it("A message of another program needs neither a key nor a value nor headers, and has an id of its place", async () => {
    const { name } = await oneLog();
    await foreign().send({ messages: [{ topic: name, value: undefined as never }] });
    const client = await open();
    const seen: unknown[] = [];
    await client.subscribe(name, { from: "start" }, ({ id, key, isTombstone, bytes }) => {
      seen.push({ id, key, isTombstone, size: bytes.length });
    });
    await until(() => seen.length === 1);
    expect(seen).toEqual([{ id: `${name}-0-0`, key: null, isTombstone: true, size: 0 }]);
  });

  it("A consumer waits for the broker of its group, which a new cluster has only after a while", async () => {
    const client = await open();
    const name = uniqueTopic();
    const original = Consumer.prototype.joinGroup as (...args: unknown[]) => unknown;
    let tries = 0;
    const joined = vi.spyOn(Consumer.prototype, "joinGroup").mockImplementation(function (
      this: Consumer,
      ...args: unknown[]
    ) {
      if (++tries > 2) return original.apply(this, args);
      return Promise.reject(new ProtocolError("NOT_COORDINATOR"));
    } as never);
    onTestFinished(() => joined.mockRestore());
    const seen: unknown[] = [];
    await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    await client.publish(name, 1);
    await until(() => seen.length === 1);
    expect(tries).toBe(3);
  });

  it("A broadcast goes back to older messages", async () => {
    const { name } = await oneLog();
    const client = await open();
    await client.publishBatch(name, [{ value: 1 }, { value: 2 }]);
    const seen: unknown[] = [];
    const consumer = await client.subscribe(name, { broadcast: true }, ({ value }) => void seen.push(value));
    await consumer.seek("start");
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 2]);
  });

  it("A broadcast that returns to its group reads on where it was", async () => {
    const { name } = await oneLog();
    const client = await open();
    const original = Consumer.prototype.joinGroup as (...args: unknown[]) => unknown;
    const members: Consumer[] = [];
    const joined = vi.spyOn(Consumer.prototype, "joinGroup").mockImplementation(function (
      this: Consumer,
      ...args: unknown[]
    ) {
      members.push(this);
      return original.apply(this, args);
    } as never);
    onTestFinished(() => joined.mockRestore());
    const seen: unknown[] = [];
    const consumer = await client.subscribe(name, { broadcast: true }, ({ value }) => void seen.push(value));
    await client.publish(name, 1);
    await until(() => seen.length === 1);
    consumer.pause();
    await client.publish(name, 2);
    members[0]!.emit("consumer:group:join" as never);
    consumer.resume();
    await client.publish(name, 3);
    await until(() => seen.includes(3));
    expect(seen).toEqual([1, 2, 3]);
  });
});
