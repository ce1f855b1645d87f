import { type Channel, type ChannelModel, connect } from "amqplib";
import { AmqpConfig } from "stoa";
import { type ConsumeRequest, createAmqpBroker, type Delivery } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AmqpConsumer } from "../../../src/engines/messaging/amqp/amqp-consumer.js";
import type { AmqpMessage } from "../../../src/engines/messaging/amqp/amqplib.js";
import type { AmqpLink, PublishChannel } from "../../../src/engines/messaging/amqp/link.js";
import { Topology } from "../../../src/engines/messaging/amqp/topology.js";
import { service } from "../../support/service.js";
import { clients, uniqueTopic, until } from "./harness.js";

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

  it("A publisher declares the exchange again, and a delayed message arrives after its queue was deleted", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    await client.publish(topic, 1);
    await client.publish(topic, 2, { delay: 0.05 });
    await until(() => seen.length === 2);
    await channel.deleteExchange(`${topic}.delay.50`);
    await until(again(() => client.publish(topic, 3, { delay: 0.05 })));
    await until(() => seen.includes(3));
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

it("A queue for delays that was declared half a minute ago is declared again, since it may be about to vanish", () => {
  const topology = new Topology(new AmqpConfig());
  const known = (age: number) => {
    const declared = new Map([["t.delay.50", performance.now() - age]]);
    return topology.knownExchange({ declared } as PublishChannel, "t", 50);
  };
  expect(known(25_000)).toBe("t.delay.50");
  expect(known(35_000)).toBeNull();
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

it("Messages that arrive between a pause and the broker's notice of it go back to the queue", async () => {
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
  const consumer = new AmqpConsumer(link, { prefetch: 10 } as ConsumeRequest, sink, async () => {});
  await consumer.open({ declareConsumer: async () => "queue" } as unknown as Topology);
  const message = (deliveryTag: number) =>
    ({ content: Buffer.from("1"), fields: { deliveryTag }, properties: {} }) as unknown as AmqpMessage;
  const [before, after] = [message(1), message(2)];
  receive(before);
  consumer.pause();
  receive(after);
  expect(delivered).toHaveLength(1);
  expect(back).toEqual([[after, false, true]]);
});
