import assert from "node:assert/strict";
import { type Cases, collect, gate, until } from "./harness.js";

/** The life of a consumer. */
export const consumerCases: Cases = {
  async "A paused consumer takes nothing until it is resumed"({ client, name, fresh }) {
    const seen: unknown[] = [];
    const consumer = await client.subscribe(name, {}, (message) => {
      seen.push(message.value);
    });
    await client.publish(name, 1);
    await until(() => seen.length === 1);
    consumer.pause();
    assert.equal(consumer.paused, true);
    const marker = await fresh();
    await client.subscribe(marker, {}, (message) => {
      seen.push(message.value);
    });
    await client.publish(name, 2);
    await client.publish(marker, "marker");
    await until(() => seen.includes("marker"));
    assert.deepEqual(seen, [1, "marker"]);
    consumer.resume();
    await until(() => seen.length === 3);
  },

  async "A consumer that is closed finishes its messages and gives back the others, with their attempts unchanged"({
    client: first,
    name,
    open,
  }) {
    const second = await open();
    const started = gate();
    const finish = gate();
    const seen: string[] = [];
    const consumer = await first.subscribe(name, { concurrency: 1, prefetch: 5 }, async (message) => {
      started.open();
      await finish.opened;
      seen.push(`first:${message.value}`);
    });
    await first.publishBatch(
      name,
      [1, 2, 3].map((value) => ({ value, key: "k" })),
    );
    await started.opened;
    const closing = consumer.close();
    finish.open();
    await closing;
    assert.deepEqual(seen, ["first:1"]);
    await second.subscribe(name, {}, (message) => {
      seen.push(`second:${message.value}.${message.attempt}`);
    });
    await until(() => seen.length === 3);
    assert.deepEqual(seen, ["first:1", "second:2.1", "second:3.1"]);
  },

  async "Two consumers of one group share the messages: each is handled once"({ client: first, name, open }) {
    const second = await open();
    const seen: number[] = [];
    for (const client of [first, second]) {
      await client.subscribe(name, { concurrency: 2, prefetch: 4 }, (message) => {
        seen.push(message.value as number);
      });
    }
    await first.publishBatch(
      name,
      Array.from({ length: 60 }, (_, value) => ({ value, key: `k${value % 12}` })),
    );
    await until(() => seen.length >= 60);
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 60 }, (_, n) => n),
    );
  },
};

/** Groups: each has its own copy of the messages. For brokers that can broadcast. */
export const groupCases: Cases = {
  async "Each group gets each message"({ client, name }) {
    const billing = await collect(client, name, { group: "billing" });
    const shipping = await collect(client, name, { group: "shipping" });
    await client.publish(name, 1);
    await until(() => billing.length === 1 && shipping.length === 1);
  },

  async "Each of two broadcast handlers in one process gets each message"({ client, name }) {
    const first = await collect(client, name, { broadcast: true });
    const second = await collect(client, name, { broadcast: true });
    await client.publish(name, 1);
    await client.publish(name, 2);
    await until(() => first.length === 2 && second.length === 2);
  },

  async "A dead letter goes back to the group that failed, and to no other"({ client, name }) {
    let broken = true;
    const seen: string[] = [];
    await client.subscribe(name, { group: "billing", retry: false }, (message) => {
      if (broken) throw new Error("no");
      seen.push(`billing:${message.value}`);
    });
    await client.subscribe(name, { group: "shipping" }, (message) => {
      seen.push(`shipping:${message.value}`);
    });
    await client.publish(name, 1);
    await until(async () => (await client.deadLetters.list(name, { group: "billing" })).length === 1);
    broken = false;
    assert.equal(await client.deadLetters.replay(name), 1);
    await client.publish(name, 2);
    await until(() => seen.includes("billing:1") && seen.includes("billing:2") && seen.includes("shipping:2"));
    assert.deepEqual(seen.toSorted(), ["billing:1", "billing:2", "shipping:1", "shipping:2"]);
  },

  async "A broadcast reaches every process"({ client: first, name, open }) {
    const second = await open();
    const one = await collect(first, name, { broadcast: true });
    const two = await collect(second, name, { broadcast: true });
    await first.publish(name, "flush");
    await until(() => one.length === 1 && two.length === 1);
  },
};

/** Delays, for brokers that have them. */
export const delayCases: Cases = {
  async "A delayed message comes after those with a shorter delay or none, whenever they were published"({
    client,
    name: topicName,
  }) {
    const seen = await collect(client, topicName);
    await Promise.all([
      client.publish(topicName, "long", { delay: 2 }),
      client.publish(topicName, "short", { delay: 1 }),
      client.publish(topicName, "now"),
    ]);
    await until(() => seen.length === 3);
    assert.deepEqual(seen, ["now", "short", "long"]);
  },
};

/** Older messages, for brokers that keep them. */
export const seekCases: Cases = {
  async "A new group begins with the oldest message, or at the end if it says so"({ client, name }) {
    await client.publish(name, "old");
    const all = await collect(client, name, { group: "all" });
    const fromEnd = await collect(client, name, { group: "late", from: "end" });
    await client.publish(name, "new");
    await until(() => all.length === 2 && fromEnd.length === 1);
    assert.deepEqual({ all, fromEnd }, { all: ["old", "new"], fromEnd: ["new"] });
  },

  async "A consumer that goes back to the start handles all messages again"({ client, name }) {
    const seen: unknown[] = [];
    const consumer = await client.subscribe(name, { concurrency: 1 }, (message) => {
      seen.push(message.value);
    });
    for (const value of [1, 2, 3]) await client.publish(name, value, { key: "k" });
    await until(() => seen.length === 3);
    await consumer.seek("start");
    await until(() => seen.length === 6);
    assert.deepEqual(seen, [1, 2, 3, 1, 2, 3]);
  },
};
