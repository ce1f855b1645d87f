import { connect } from "amqplib";
import { AmqpConfig, App } from "stoa";
import { type AmqpBroker, createAmqpBroker } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { service } from "../../support/service.js";
import { type Backend, connected, silent, uniqueTopic, until } from "./harness.js";
import { startTunnel } from "./tunnel.js";

const url = service("rabbitmq");

describe("the nodes of RabbitMQ", () => {
  it("The nodes have the user, the password and the rest of the URL, and only their addresses are shown", () => {
    const config = new AmqpConfig({ url: "amqps://ann:secret@a.test:5671/shop?x=1", hosts: ["b.test", "[::1]:5673"] });
    expect(config.urls).toEqual([
      "amqps://ann:secret@a.test:5671/shop?x=1",
      "amqps://ann:secret@b.test/shop?x=1",
      "amqps://ann:secret@[::1]:5673/shop?x=1",
    ]);
    expect(config.address).toBe("a.test:5671, b.test, [::1]:5673/shop");
    expect(JSON.stringify(config)).not.toContain("secret");
    expect(() => new AmqpConfig({ hosts: ["amqp://b"] })).toThrow("an address: host or host:port");
  });

  it("Arguments of queues that the framework sets are refused", () => {
    const given = (name: string) => ({ topics: { orders: { arguments: { [name]: 1 } } } });
    expect(() => new AmqpConfig(given("x-queue-type"))).toThrow("without x-queue-type");
    expect(() => new AmqpConfig(given("x-max-length"))).not.toThrow();
  });
});

describe.skipIf(!url)("RabbitMQ: nodes and queues", () => {
  const opened = (config: ConstructorParameters<typeof AmqpConfig>[0]): Backend => ({
    connect: (): Promise<AmqpBroker> => createAmqpBroker(new AmqpConfig(config)),
  });

  it("Publishers and consumers go to the next node when theirs is gone", async () => {
    const [first, second] = [await startTunnel(portOf(url!)), await startTunnel(portOf(url!))];
    const to = (port: number) => `127.0.0.1:${port}`;
    const config = { url: `amqp://guest:guest@${to(first.port)}`, hosts: [to(second.port)] };
    const client = await connected(opened(config));
    try {
      const topic = uniqueTopic();
      const seen: unknown[] = [];
      const consumer = await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
      for (const [value, gone, back] of [["one", first, second] as const, ["two", second, first] as const]) {
        await gone.cut();
        await until(() => consumer.connected, "the consumer at the other node");
        await client.publish(topic, value);
        await until(() => seen.includes(value), "the message");
        await gone.mend();
        expect(back.port).not.toBe(gone.port);
      }
    } finally {
      await client.close();
      await first.close();
      await second.close();
    }
  });

  it("A pattern of topics is refused at the start, with the cure", async () => {
    const app = new App();
    app.logger = silent();
    app.enableAmqp({ url: url! });
    app.onMessage(/^orders\./, () => {});
    await expect(app.start()).rejects.toThrow(
      "the amqp broker cannot list its topics, so /^orders\\./ cannot be consumed: " +
        "consume one topic whose exchange has the type 'topic', and bind its routing keys",
    );
    await app.stop();
  });

  it("A single active consumer handles all messages, and the next one follows when it ends", async () => {
    const topic = uniqueTopic();
    const group = uniqueTopic("group");
    const config = { url: url!, topics: { [topic]: { singleActiveConsumer: true } } };
    const seen: string[] = [];
    const member = async (name: string) => {
      const client = await connected(opened(config));
      await client.subscribe(topic, { group }, ({ value }) => void seen.push(`${name} ${value}`));
      return client;
    };
    const [first, second] = [await member("a"), await member("b")];
    for (let n = 0; n < 20; n++) await second.publish(topic, n, { key: "k" });
    await until(() => seen.length === 20, "the first messages");
    expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => `a ${n}`));
    await first.close();
    await second.publish(topic, 20, { key: "k" });
    await until(() => seen.length === 21, "the message of the second");
    expect(seen.at(-1)).toBe("b 20");
    await second.close();
  });

  it("A single active consumer stays the active one while messages wait for their next attempt", async () => {
    const topic = uniqueTopic();
    const group = uniqueTopic("group");
    const config = { url: url!, topics: { [topic]: { singleActiveConsumer: true } } };
    const seen: string[] = [];
    const member = async (name: string) => {
      const client = await connected(opened(config));
      const options = { group, prefetch: 4, concurrency: 4, retry: { delay: 0.5, jitter: 0 } };
      await client.subscribe(topic, options, ({ value, attempt }) => {
        if (value === 0 && attempt < 3) throw new Error("no");
        seen.push(`${name} ${value}`);
      });
      return client;
    };
    const [first, second] = [await member("a"), await member("b")];
    // Those of its key wait behind the first one, and take up the prefetch.
    for (let n = 0; n < 10; n++) await second.publish(topic, n, { key: "k" });
    await until(() => seen.length === 10, "all messages");
    expect(seen).toEqual(Array.from({ length: 10 }, (_, n) => `a ${n}`));
    await first.close();
    await second.close();
  });

  it("The arguments of a topic are those of the queues of its groups", async () => {
    const topic = uniqueTopic();
    const args = { "x-max-length": 2, "x-overflow": "reject-publish" };
    const client = await connected(opened({ url: url!, topics: { [topic]: { arguments: args } } }));
    const consumer = await client.subscribe(topic, { group: "g", deadLetter: false }, () => {});
    await consumer.close();
    const model = await connect(url!);
    const channel = await model.createChannel();
    const usual = { "x-queue-type": "quorum", "x-delivery-limit": 50 };
    await channel.assertQueue(`${topic}.g`, { durable: true, arguments: { ...usual, ...args } });
    channel.on("error", () => {});
    await expect(channel.assertQueue(`${topic}.g`, { durable: true, arguments: usual })).rejects.toThrow(
      "x-max-length",
    );
    await model.close();
    await client.close();
  });

  it("Dead letters of a quorum queue can be looked at any number of times, and are sent back", async () => {
    const topic = uniqueTopic();
    const client = await connected(opened({ url: url!, deadLetterQueueType: "quorum" }));
    let broken = true;
    const seen: unknown[] = [];
    await client.subscribe(topic, { retry: false }, ({ value }) => {
      if (broken) throw new Error("no");
      seen.push(value);
    });
    await client.publish(topic, 1);
    for (let looks = 0; looks < 22; looks++)
      await until(async () => (await client.deadLetters.list(topic)).length === 1, "the dead letter");
    const model = await connect(url!);
    const channel = await model.createChannel();
    await channel.assertQueue(`${topic}.dead`, { durable: true, arguments: { "x-queue-type": "quorum" } });
    await model.close();
    broken = false;
    await until(async () => (await client.deadLetters.replay(topic)) === 1, "the way back");
    await until(() => seen.includes(1), "the message that was sent back");
    await client.close();
  });
});

function portOf(address: string): number {
  return Number(new URL(address).port);
}
