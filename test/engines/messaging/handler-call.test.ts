import {
  type ConsumeRequest,
  type Delivery,
  type DeliverySink,
  MemoryBroker,
  type Message,
  topic,
} from "stoa/messaging";
import { expect, it } from "vitest";
import { z } from "zod";
import { clients, connected, gate, uniqueTopic, until } from "./harness.js";

/** A broker that takes acknowledgements at once, as RabbitMQ and Kafka do. */
class PromptBroker extends MemoryBroker {
  override consume(request: ConsumeRequest, sink: DeliverySink) {
    const prompt = (delivery: Delivery): Delivery => ({ ...delivery, ack: () => void delivery.ack() });
    return super.consume(request, { ...sink, deliver: (delivery) => sink.deliver(prompt(delivery)) });
  }
}

const open = clients({ connect: () => new PromptBroker() });

it("A handler that returns a thenable other than a promise has the same limit of time", async () => {
  const client = await open();
  const name = uniqueTopic();
  // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested
  const never = { then() {} };
  await client.subscribe(name, { timeout: 0.05, retry: { attempts: 1 } }, () => never);
  await client.publish(name, 1);
  await until(async () => (await client.deadLetters.list(name)).length === 1);
  const [letter] = await client.deadLetters.list(name);
  expect(letter!.error).toBe("MessagingError: the handler took longer than 0.05 s");
});

it("A handler whose time was up finds its signal aborted, whatever becomes of the message", async () => {
  const client = await open();
  const name = uniqueTopic();
  const seen: Message[] = [];
  const retry = { attempts: 2, delay: 0.001 };
  await client.subscribe(name, { timeout: 0.05, retry }, (message) => new Promise(() => void seen.push(message)));
  await client.publish(name, 1);
  await until(async () => (await client.deadLetters.list(name)).length === 1);
  expect(seen.map(({ attempt, signal }) => [attempt, signal.aborted])).toEqual([
    [1, true],
    [2, true],
  ]);
});

it("The stop aborts all handlers that run on, also if the broker does not take their messages back", async () => {
  const broker = gate();
  class SlowBroker extends MemoryBroker {
    override consume(request: ConsumeRequest, sink: DeliverySink) {
      const slow = (delivery: Delivery): Delivery => ({ ...delivery, release: () => broker.opened });
      return super.consume(request, { ...sink, deliver: (delivery) => sink.deliver(slow(delivery)) });
    }
  }
  const client = await connected({ connect: () => new SlowBroker() });
  const name = uniqueTopic();
  const seen: Message[] = [];
  await client.subscribe(name, {}, (message) => new Promise(() => void seen.push(message)));
  await client.publish(name, 1);
  await client.publish(name, 2);
  await until(() => seen.length === 2);
  expect(seen.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  const ended = client.drain(1);
  await until(() => seen.every(({ signal }) => signal.aborted));
  broker.open();
  await ended;
  await client.close();
});

it("The delay of nack and requeue can be text with a unit", async () => {
  const client = await open();
  const name = uniqueTopic();
  let calls = 0;
  // The pause of the options would be longer than the test.
  const consumer = await client.subscribe(name, { retry: { delay: "1h", maxDelay: "1h" } }, (message) => {
    calls++;
    if (calls === 1) message.nack({ delay: "10ms" });
    if (calls === 2) message.requeue({ delay: "10ms" });
  });
  await client.publish(name, 1);
  await until(() => consumer.stats().results.done === 1);
  expect(calls).toBe(3);
});

it("Thousands of waiting messages whose handler returns at once are all handled, without a call within a call", async () => {
  const client = await open();
  const name = uniqueTopic();
  const count = 5000;
  const waiting = gate();
  // The others wait behind the first message, and end at once after it.
  const options = { concurrency: 1, prefetch: count };
  const consumer = await client.subscribe(name, options, ({ value }) => (value === 0 ? waiting.opened : null));
  await client.publishBatch(
    name,
    Array.from({ length: count }, (_, value) => ({ value })),
  );
  await until(() => consumer.stats().held === count);
  waiting.open();
  await until(() => consumer.stats().results.done === count);
  expect(consumer.stats()).toMatchObject({ running: 0, held: 0 });
});

it("An error of the program's own log leaves a message to the broker, which delivers it again", async () => {
  const line = () => {};
  let broken = true;
  const fails = () => {
    if (broken) throw new Error("the log is broken");
  };
  const logger = { debug: line, info: line, warn: fails, error: line, child: () => logger };
  const client = await open({ logger });
  const name = uniqueTopic();
  let calls = 0;
  // A failed attempt is logged before its retry: that is where the log breaks.
  const consumer = await client.subscribe(name, {}, () => {
    if (++calls > 1) broken = false;
    if (broken) throw new Error("no");
  });
  await client.publish(name, 1);
  await until(() => consumer.stats().results.done === 1);
  expect(consumer.stats().results).toMatchObject({ released: 1, done: 1 });
});

it("A metric that fails leaves its message handled, once, and the next ones too", async () => {
  const client = await open();
  client.meter = {
    published: () => {},
    attempted: () => {},
    ended: () => {
      throw new Error("the metric is broken");
    },
  };
  const name = uniqueTopic();
  const schema = z.number();
  let calls = 0;
  const consumer = await client.subscribe(topic(name, { schema }), {}, () => void calls++);
  for (let value = 0; value < 3; value++) await client.publish(name, value);
  await client.publish(name, "no number");
  await until(() => consumer.stats().results.dead === 1 && consumer.stats().results.done === 3);
  expect(calls).toBe(3);
  expect(consumer.stats()).toMatchObject({ running: 0, held: 0 });
});
