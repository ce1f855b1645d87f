import { Admin, Producer } from "@platformatic/kafka";
import { App, type LogBrokerOptions } from "stoa";
import { createKafkaBroker } from "stoa/messaging";
import { describe, expect, it, onTestFinished } from "vitest";
import { service } from "../../support/service.js";
import { clients, connected, silent, uniqueTopic, until } from "./harness.js";

const address = service("kafka");

describe.skipIf(!address)("Kafka: consumers by pattern", () => {
  const settings: LogBrokerOptions = {
    brokers: [address!],
    sessionTimeout: 6,
    partitions: 1,
    patternInterval: "200ms",
  };
  const backend = { connect: () => createKafkaBroker({ ...settings, groupId: uniqueTopic("group") }) };
  const open = clients(backend);

  it("Topics that exist and those that come later are consumed from their first message, each message once", async () => {
    const [client, other] = [await open(), await open()];
    const prefix = uniqueTopic("p");
    const [first, second] = [`${prefix}.a`, `${prefix}.b`];
    const seen: string[] = [];
    await other.publish(first, 1);
    await client.subscribe(new RegExp(`^${prefix}\\.`), {}, ({ topic, value }) => {
      seen.push(`${topic.at(-1)}${value}`);
    });
    await until(() => seen.length === 1, "the message of the topic that exists");
    // The first topic has messages while the second one is joined.
    const sending = (async () => {
      for (let value = 2; value <= 40; value++) await other.publish(first, value);
    })();
    await other.publishBatch(second, [{ value: 1 }, { value: 2 }]);
    await other.publish(`${uniqueTopic("q")}.${prefix}.c`, 1);
    await sending;
    await until(() => seen.length >= 42, "all messages");
    await other.publish(second, 3);
    await until(() => seen.includes("b3"));
    expect(seen.filter((entry) => entry.startsWith("b"))).toEqual(["b1", "b2", "b3"]);
    expect(seen.filter((entry) => entry.startsWith("a"))).toEqual(Array.from({ length: 40 }, (_, i) => `a${i + 1}`));
    expect(client.consumers.map(({ topic }) => topic).sort()).toEqual([first, second]);
  });

  it("Two processes share the topics, and one that ends leaves its part to the other", async () => {
    const groupId = uniqueTopic("group");
    const connect = () => createKafkaBroker({ ...settings, groupId, partitions: 2 });
    const [one, two, publisher] = [await connected({ connect }), await connected({ connect }), await open()];
    onTestFinished(() => two.close());
    const prefix = uniqueTopic("p");
    const seen = { one: [] as unknown[], two: [] as unknown[] };
    const pattern = new RegExp(`^${prefix}\\.`);
    await one.subscribe(pattern, {}, ({ topic, value }) => void seen.one.push(`${topic}:${value}`));
    await two.subscribe(pattern, {}, ({ topic, value }) => void seen.two.push(`${topic}:${value}`));
    const all = () => new Set([...seen.one, ...seen.two]).size;
    for (const name of ["a", "b"])
      await publisher.publishBatch(
        `${prefix}.${name}`,
        Array.from({ length: 20 }, (_, value) => ({ value, key: `k${value}` })),
      );
    await until(() => all() === 40, "the messages of both topics");
    await one.close();
    await publisher.publishBatch(
      `${prefix}.a`,
      Array.from({ length: 20 }, (_, i) => ({ value: i + 20, key: `k${i}` })),
    );
    await until(() => all() === 60, "the messages after the end of one process");
  });

  it("Retries and dead letters are those of the topic of the message, and match no pattern", async () => {
    const client = await open();
    const prefix = uniqueTopic("p");
    const topics = [`${prefix}.a`, `${prefix}.b`];
    const attempts: string[] = [];
    const retry = { attempts: 2, delay: 0.02, factor: 1, jitter: 0 };
    await client.subscribe(new RegExp(`^(__.*|${prefix}.*)$`), { retry }, ({ topic, attempt }) => {
      attempts.push(`${topic} ${attempt}`);
      throw new Error("broken");
    });
    for (const topic of topics) await client.publish(topic, topic);
    await until(() => attempts.length === 4);
    for (const topic of topics) {
      await until(async () => (await client.deadLetters.list(topic)).length === 1, "the dead letter");
      expect(await client.deadLetters.list(topic)).toMatchObject([{ topic, text: JSON.stringify(topic), attempts: 2 }]);
    }
    const admin = new Admin({ clientId: "judge", bootstrapBrokers: [address!] });
    onTestFinished(() => admin.close());
    expect(await admin.listTopics({ includeInternals: true })).toEqual(
      expect.arrayContaining(["__consumer_offsets", ...topics, ...topics.map((topic) => `${topic}.dead`)]),
    );
    // A topic that comes after those of the dead letters has been found: they were looked at.
    await client.publish(`${prefix}.c`, 1);
    await until(() => attempts.length === 6);
    expect(client.consumers.map(({ topic }) => topic).sort()).toEqual([...topics, `${prefix}.c`]);
    expect(attempts.every((entry) => !entry.includes("dead"))).toBe(true);
  });

  it("A topic that is deleted is left, not created again, and consumed again when it comes back", async () => {
    const client = await open();
    const name = uniqueTopic("gone");
    const admin = new Admin({ clientId: "judge", bootstrapBrokers: [address!] });
    onTestFinished(() => admin.close());
    await admin.createTopics({ topics: [name], partitions: 1, replicas: 1 });
    const seen: unknown[] = [];
    await client.subscribe(new RegExp(`^${name}$`), { deadLetter: false }, ({ value }) => void seen.push(value));
    expect(client.consumers).toHaveLength(1);
    await admin.deleteTopics({ topics: [name] });
    await until(() => client.consumers.length === 0, "the end of the consumer");
    expect(await admin.listTopics({})).not.toContain(name);
    await admin.createTopics({ topics: [name], partitions: 1, replicas: 1 });
    const producer = new Producer({ clientId: "judge", bootstrapBrokers: [address!] });
    onTestFinished(() => producer.close());
    await producer.send({ messages: [{ topic: name, value: Buffer.from('"back"') }] });
    await until(() => seen.length === 1, "the message of the new topic");
    expect(seen).toEqual(["back"]);
  });

  it("An application without a topic that matches starts, and learns of the first one", async () => {
    const app = new App();
    app.logger = silent();
    const name = uniqueTopic("first");
    app.enableMessaging({ ...settings, groupId: uniqueTopic("group") });
    const seen: unknown[] = [];
    app.onMessage(new RegExp(`^${name}`), ({ value }) => void seen.push(value));
    await app.start();
    onTestFinished(() => app.stop());
    expect(app.messaging.consumers).toEqual([]);
    await app.publish(`${name}.x`, 1);
    await until(() => seen.length === 1);
  });
});
