import { type Channel, type ChannelModel, connect } from "amqplib";
import { type ConsumeRequest, createAmqpBroker, type Delivery } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openConsumer } from "../../../src/engines/messaging/amqp/amqp-consumer.js";
import type { AmqpMessage } from "../../../src/engines/messaging/amqp/amqplib.js";
import type { AmqpLink } from "../../../src/engines/messaging/amqp/link.js";
import type { Topology } from "../../../src/engines/messaging/amqp/topology.js";
import { Turns } from "../../../src/engines/messaging/suspects.js";
import { service } from "../../support/service.js";
import { clients, connected, uniqueTopic, until } from "./harness.js";

const url = service("rabbitmq");

/** An operator deletes what a consumer has declared, while it runs. */
describe.skipIf(!url)("Queues and exchanges of RabbitMQ that are deleted", () => {
  const open = clients({ connect: () => createAmqpBroker(url) });
  let connection: ChannelModel;
  let channel: Channel;
  beforeAll(async () => {
    connection = await connect(url!);
    channel = await connection.createChannel();
  });
  afterAll(() => connection.close());

  const again = (publish: () => Promise<unknown>) => () =>
    publish().then(
      () => true,
      () => false,
    );

  it("A consumer declares its queue again, and its publishers find it", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    await client.publish(topic, 1);
    await until(() => seen.length === 1);
    await channel.deleteQueue(`${topic}.stoa`);
    await until(() => !consumer.connected);
    await until(() => consumer.connected);
    await until(again(() => client.publish(topic, 2)));
    await until(() => seen.includes(2));
  });

  it.each(["queue", "exchange"])("A delayed message arrives though the %s of its delay was deleted", async (kind) => {
    const group = uniqueTopic("group");
    const client = await connected({ connect: () => createAmqpBroker({ url: url!, groupId: group }) });
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    await client.publish(topic, 1, { delay: 0.04 });
    await until(() => seen.length === 1);
    const name = `${group}:delay:2`;
    await (kind === "queue" ? channel.deleteQueue(name) : channel.deleteExchange(name));
    await until(again(() => client.publish(topic, 2, { delay: 0.04 })));
    await until(() => seen.includes(2));
    await client.close();
  });

  it("Delayed messages whose topic has no queue any more do not hold up those of other topics", async () => {
    const client = await open();
    const [gone, kept] = [uniqueTopic(), uniqueTopic()];
    const seen: unknown[] = [];
    const consumer = await client.subscribe(gone, {}, () => {});
    await client.subscribe(kept, {}, ({ value }) => void seen.push(value));
    await consumer.close();
    await channel.deleteQueue(`${gone}.stoa`);
    // The broker has at most 32 messages of a delay on their way.
    const values = Array.from({ length: 100 }, (_, n) => n);
    await Promise.all(values.map((n) => client.publish(gone, n, { delay: 0.01 })));
    await client.publish(kept, "arrives", { delay: 0.01 });
    await until(() => seen.length === 1);
  });

  it.each(["queue", "exchange"])(
    "A message becomes a dead letter though the %s of dead letters was deleted",
    async (kind) => {
      const client = await open();
      const topic = uniqueTopic();
      const consumer = await client.subscribe(topic, { retry: false }, () => {
        throw new Error("no");
      });
      await client.publish(topic, 1);
      await until(() => consumer.stats().results.dead === 1);
      if (kind === "queue") await channel.deleteQueue(`${topic}.dead`);
      else await channel.deleteExchange(`${topic}.dead`);
      await client.publish(topic, 2);
      await until(() => consumer.stats().results.dead === 2, "the second dead letter");
      expect((await client.deadLetters.list(topic)).map(({ text }) => text)).toContain("2");
    },
  );
});

describe.skipIf(!url)("The order of RabbitMQ", () => {
  const open = clients({ connect: () => createAmqpBroker(url) });

  it("Messages that are published while the exchange of the first one is being declared do not overtake it", async () => {
    const [consumer, publisher] = [await open(), await open()];
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    await consumer.subscribe(topic, { concurrency: 1 }, ({ value }) => void seen.push(value));
    const publishes: Promise<unknown>[] = [];
    let declared = false;
    for (let n = 0; !declared || n < 100; n++) {
      publishes.push(publisher.publish(topic, n).then(() => (declared = true)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(publishes);
    await until(() => seen.length === publishes.length);
    expect(seen).toEqual(publishes.map((_, n) => n));
  });
});

it("Messages that arrive between a pause and the broker's notice of it wait in the process until the consumer resumes", async () => {
  let receive: (message: AmqpMessage) => void = () => {};
  const back: unknown[] = [];
  const channel = {
    prefetch: async () => {},
    consume: async (_queue: string, callback: typeof receive) => {
      receive = callback;
      return { consumerTag: "tag" };
    },
    cancel: async () => {},
    nack: (...given: unknown[]) => void back.push(given),
  };
  const delivered: Delivery[] = [];
  const sink = { deliver: (delivery: Delivery) => void delivered.push(delivery), lost: () => {}, failed: () => {} };
  const link = { channel: async () => channel } as unknown as AmqpLink;
  const queues = { queue: "queue", suspects: null };
  const topology = { declareConsumer: async () => queues } as unknown as Topology;
  const share = { link, topology, sendLater: async () => {}, turns: new Turns() };
  const consumer = await openConsumer(share, { prefetch: 10 } as ConsumeRequest, sink);
  const message = (deliveryTag: number) =>
    ({ content: Buffer.from("1"), fields: { deliveryTag }, properties: {} }) as unknown as AmqpMessage;
  const [before, after] = [message(1), message(2)];
  receive(before);
  consumer.pause();
  receive(after);
  expect(delivered).toHaveLength(1);
  consumer.resume();
  expect(delivered).toHaveLength(2);
  // Each return to the queue counts as a delivery.
  expect(back).toEqual([]);
});
