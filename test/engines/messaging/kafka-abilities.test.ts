import { Consumer, Producer } from "@platformatic/kafka";
import { App, LogBrokerConfig } from "stoa";
import { createKafkaBroker, topic as declare, type Message } from "stoa/messaging";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { hostOf } from "../../../src/app/app.js";
import { Joining } from "../../../src/engines/messaging/kafka/group/joining.js";
import { messagesPanel } from "../../../src/patterns/outbox/operations.js";
import { service } from "../../support/service.js";
import { clients, connected, silent, uniqueTopic, until } from "./harness.js";

const address = service("kafka");

describe.skipIf(!address)("Kafka: tombstones, partitions and members", () => {
  const settings = { brokers: [address!], groupId: uniqueTopic("group"), sessionTimeout: 6, partitions: 1 };
  const open = clients({ connect: () => createKafkaBroker(settings) });

  it("A tombstone is published as a null value, and is not an empty value when it is received", async () => {
    const client = await open();
    const orders = declare(uniqueTopic(), {
      schema: z.object({ id: z.string() }).nullable(),
      key: (order) => order!.id,
    });
    await client.publish(orders, { id: "o1" });
    await client.publish(orders, null, { key: "o1", tombstone: true });
    const foreign = new Producer({ clientId: "other", bootstrapBrokers: [address!] });
    const key = Buffer.from("o1");
    const claim = new Map([[Buffer.from("content-type"), Buffer.from("application/x-no-value")]]);
    const { name } = orders;
    await foreign.send({ messages: [{ topic: name, key, value: null as never }] });
    await foreign.send({ messages: [{ topic: name, key, value: Buffer.alloc(0), headers: claim }] });
    await foreign.close();

    const other = new Consumer({ clientId: "other", groupId: uniqueTopic("raw"), bootstrapBrokers: [address!] });
    const stream = await other.consume({ topics: [name], mode: "earliest" as never });
    const raw: unknown[] = [];
    for await (const message of stream) if (raw.push(message.value?.length ?? null) === 4) break;
    await other.close(true);
    expect(raw).toEqual([11, null, null, 0]);

    const seen: unknown[] = [];
    await client.subscribe(name, { concurrency: 1 }, (message) => {
      seen.push([message.key, message.isTombstone, message.bytes.length]);
      if (message.isTombstone) expect(message.value).toBeNull();
    });
    await until(() => seen.length === 4, "all messages");
    expect(seen).toEqual([
      ["o1", false, 11],
      ["o1", true, 0],
      ["o1", true, 0],
      ["o1", false, 0],
    ]);
  });

  it("A tombstone fits a schema that allows null, and stays one as a dead letter that is sent back", async () => {
    const client = await open();
    const Value = z.object({ id: z.string() });
    const [strict, nullable] = [
      declare(uniqueTopic(), { schema: Value }),
      declare(uniqueTopic(), { schema: Value.nullable() }),
    ];
    const options = { key: "k", tombstone: true };
    await expect(client.publish(strict, null as never, options)).rejects.toThrow("does not fit the schema");
    await expect(client.publish(nullable, { id: "o1" }, options)).rejects.toThrow("a tombstone has the value null");
    await expect(client.publish(nullable, null, { tombstone: true })).rejects.toThrow("needs the key that it deletes");
    const seen: unknown[] = [];
    await client.subscribe(nullable, { retry: false }, ({ value, isTombstone }) => {
      seen.push([value, isTombstone]);
      if (seen.length === 1) throw new Error("no");
    });
    await client.publish(nullable, null, options);
    await until(async () => (await client.deadLetters.list(nullable)).length === 1, "the dead letter");
    expect(await client.deadLetters.replay(nullable)).toBe(1);
    await until(() => seen.length === 2, "the message that was sent back");
    expect(seen).toEqual([
      [null, true],
      [null, true],
    ]);
  });

  it("A consumer tells the lag of each partition, which is in the metrics too", async () => {
    const app = new App();
    app.logger = silent();
    const groupId = uniqueTopic("group");
    app.enableMessaging(new LogBrokerConfig({ ...settings, groupId, partitions: 2 })).enableMetrics();
    const topic = uniqueTopic();
    const seen: string[] = [];
    app.onMessage(topic, { concurrency: 1, prefetch: 1 }, ({ key }) => void seen.push(key!));
    await app.start();
    try {
      const [consumer] = app.messaging.consumers;
      await until(async () => (await consumer!.lags())?.size === 2, "both partitions");
      consumer!.pause();
      // All of one key are in one partition.
      for (let n = 0; n < 5; n++) await app.publish(topic, n, { key: "k" });
      const lags = async () => [...(await consumer!.lags())!.values()].sort();
      const [none, all] = await vi.waitFor(async () => {
        const found = await lags();
        // The messages that were on their way before the pause are handled.
        expect(found[1]).toBe(5 - seen.length);
        return found;
      }, 30_000);
      expect([none, await consumer!.lag()]).toEqual([0, all]);
      const text = await (await app.request("/metrics")).text();
      const series = text.split("\n").filter((line) => line.includes(`_partition_lag{`));
      expect(
        series
          .filter((line) => line.includes(`topic="${topic}"`))
          .map((line) => line.split(" ")[1])
          .sort(),
      ).toEqual(["0", String(all)]);
      expect(text).toContain(`messages_lag{topic="${topic}",group="${groupId}"} ${all}`);
      const { tables } = await messagesPanel(app.messaging, null);
      expect(tables![0]!.rows[0]![3]).toMatch(new RegExp(`^${all} \\([01]: ${all}\\)$`));
    } finally {
      await app.stop();
    }
  });

  it("A consumer goes to an offset of a partition that it has, and to no other", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(topic, {}, ({ value }: Message) => void seen.push(value));
    for (let n = 0; n < 5; n++) await client.publish(topic, n, { key: "k" });
    await until(() => seen.length === 5, "all messages");
    await consumer.seek({ partition: 0, offset: 3 });
    await until(() => seen.length === 7, "the last two once more");
    expect(seen.slice(5)).toEqual([3, 4]);
    // One that the partition does not have leads to the nearest.
    await consumer.seek({ partition: 0, offset: 100n });
    await until(() => seen.length === 12, "all messages, as a new group");
    await expect(consumer.seek({ partition: 7, offset: 0 })).rejects.toMatchObject({ code: "LOST" });
    await expect(consumer.seek({ partition: 0, offset: -1 })).rejects.toThrow("{ partition, offset }");
  });

  it("A static member that starts again gets its partitions back, and the others keep theirs without a break", async () => {
    const groupId = uniqueTopic("static");
    const shares = vi.spyOn(Joining.prototype, "shared");
    const topic = uniqueTopic();
    const seen: string[] = [];
    const member = async (name: string) => {
      const config = { ...settings, groupId, groupInstanceId: name, partitions: 2, sessionTimeout: 30 };
      const client = await connected({ connect: () => createKafkaBroker(config) });
      const consumer = await client.subscribe(topic, {}, ({ value }) => void seen.push(`${name} ${value}`));
      return { client, consumer };
    };
    const names = () => [...new Set(seen.map((text) => text.split(" ")[0]))].sort();
    const first = await member("a");
    const alone = shares.mock.contexts.length;
    const ofFirst = () => shares.mock.contexts.filter((context) => context === shares.mock.contexts[0]).length;
    const second = await member("b");
    let sent = 0;
    const both = async () => {
      seen.length = 0;
      await until(async () => {
        await first.client.publish(topic, sent++);
        return names().length === 2;
      }, "messages for both");
    };
    await both();
    // Each share since the second has joined is one of both. The first may hear of it a moment later.
    await until(() => 2 * (ofFirst() - alone) === shares.mock.contexts.length - alone, "the same shares for both");
    const before = ofFirst();
    await second.client.close();
    const again = await member("b");
    await both();
    expect(ofFirst()).toBe(before);
    shares.mockRestore();
    await first.client.close();
    await again.client.close();
  });

  it("A static member is one process: several workers cannot have its name", async () => {
    expect(() => new LogBrokerConfig({ groupInstanceId: "a b" })).toThrow("letters, digits");
    const app = new App().enableMessaging({ ...settings, groupInstanceId: "a" });
    app.logger = silent();
    const host = hostOf(app);
    host.configure({ ...host.settings, workers: 2 });
    await expect(app.start()).rejects.toThrow("names one process, and the application has 2 workers");
  });
});
