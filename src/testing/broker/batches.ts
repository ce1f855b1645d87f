import assert from "node:assert/strict";
import type { Message } from "../../engines/messaging/message.js";
import { type Cases, gate, like, numberIn, quick, until } from "./harness.js";

const valuesOf = (messages: readonly Message[]) => messages.map(({ value }) => value as number);

/** Handlers of batches. */
export const batchCases: Cases = {
  async "A batch handler gets the messages that have arrived, each once, at most so many, and in the order of each key"({
    client,
    name,
  }) {
    const batches: number[][] = [];
    const first = gate();
    const consumer = await client.subscribe(name, { batch: 10 }, async (messages) => {
      batches.push(valuesOf(messages));
      await first.opened;
    });
    const total = 40;
    const entries = Array.from({ length: total }, (_, value) => ({ value, key: `k${value % 4}` }));
    await client.publishBatch(name, entries);
    await until(() => batches.length === 1);
    first.open();
    await until(() => batches.flat().length === total);
    const all = batches.flat();
    assert.equal(new Set(all).size, total);
    assert.ok(Math.max(...batches.map((batch) => batch.length)) <= 10);
    assert.ok(batches.length < total / 2);
    for (const key of [0, 1, 2, 3]) {
      const values = all.filter((value) => value % 4 === key);
      assert.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
      );
    }
    await until(() => consumer.stats().results.done === total);
  },

  async "A message of a batch that the handler refuses is handled again, and the others are not"({ client, name }) {
    const seen: string[] = [];
    const consumer = await client.subscribe(name, { batch: { size: 5, wait: 0.2 }, retry: quick }, (messages) => {
      for (const message of messages) {
        seen.push(`${message.value}:${message.attempt}`);
        if (message.value === 2 && message.attempt === 1) message.nack({ reason: "not now" });
        if (message.value === 3) message.deadLetter("never");
      }
    });
    await client.publishBatch(
      name,
      [1, 2, 3, 4, 5].map((value) => ({ value, key: `k${value}` })),
    );
    await until(() => seen.includes("2:2"));
    await until(() => consumer.stats().held === 0);
    assert.deepEqual(seen.toSorted(), ["1:1", "2:1", "2:2", "3:1", "4:1", "5:1"]);
    like(consumer.stats().results, { done: 4, dead: 1 });
    await until(async () => (await client.deadLetters.list(name)).length === 1);
  },

  async "A batch whose handler throws is handled again before later messages of its keys, and its messages die after the last attempt"({
    client,
    name,
  }) {
    const handled: number[] = [];
    let failures = 0;
    const consumer = await client.subscribe(name, { batch: 3, retry: { ...quick, attempts: 2 } }, (messages) => {
      const values = valuesOf(messages);
      if (values.includes(0) || values.some((value) => value >= 100)) failures++;
      if (values.includes(0) && failures === 1) throw new Error("once");
      if (values.some((value) => value >= 100)) throw new Error("always");
      handled.push(...values);
    });
    for (const value of [0, 1, 2, 3, 4, 5]) await client.publish(name, value, { key: "k" });
    await until(() => handled.length === 6);
    assert.deepEqual(handled, [0, 1, 2, 3, 4, 5]);
    await client.publish(name, 100, { key: "k" });
    await until(() => consumer.stats().results.dead === 1);
    like(await client.deadLetters.list(name), [{ text: "100", reason: "failed", attempts: 2 }]);
  },

  async "One message that makes every batch throw is the only dead letter: after the last attempt each message is handled alone"({
    client,
    name,
  }) {
    const handled: string[] = [];
    const retry = { ...quick, attempts: 2 };
    const consumer = await client.subscribe(name, { batch: { size: 6, wait: 0.5 }, retry }, (messages) => {
      const values = messages.map(({ value }) => value as string);
      if (values.includes("poison")) throw new Error("poison");
      handled.push(...values);
    });
    const values = ["a1", "b1", "poison", "a2", "b2", "a3"];
    await client.publishBatch(
      name,
      values.map((value) => ({ value, key: value.slice(0, 1) })),
    );
    await until(() => consumer.stats().results.dead === 1 && consumer.stats().results.done === 5);
    assert.deepEqual(handled.toSorted(), ["a1", "a2", "a3", "b1", "b2"]);
    for (const key of ["a", "b"]) {
      const mine = handled.filter((value) => value.startsWith(key));
      assert.deepEqual(mine, mine.toSorted());
    }
    // Two with its batch, and one alone.
    const letters = await client.deadLetters.list(name);
    like(letters, [{ text: '"poison"', reason: "failed", error: "poison", attempts: 3 }]);
  },

  async "A value in a batch that does not fit the schema is a dead letter, and the handler gets the others"({
    client,
    name,
  }) {
    const seen: number[] = [];
    const schema = numberIn("n");
    await client.subscribe(name, { batch: { size: 3, wait: 0.2 }, schema }, (messages) => {
      seen.push(...messages.map(({ value }) => value.n));
    });
    await client.publishBatch(name, [{ value: { n: 1 } }, { value: { n: "two" } }, { value: { n: 3 } }]);
    await until(() => seen.length === 2);
    assert.deepEqual(seen.toSorted(), [1, 3]);
    await until(async () => (await client.deadLetters.list(name))[0]?.reason === "invalid");
  },

  async "A consumer of batches that is closed finishes the batch that runs, and gives back the others unchanged"({
    client: first,
    name,
    open,
  }) {
    const second = await open();
    const begun = gate();
    const finish = gate();
    const running: number[] = [];
    const consumer = await first.subscribe(name, { batch: 2, prefetch: 6 }, async (messages) => {
      running.push(...valuesOf(messages));
      begun.open();
      await finish.opened;
    });
    const entries = [1, 2, 3, 4, 5, 6].map((value) => ({ value, key: "k" }));
    await first.publishBatch(name, entries);
    await begun.opened;
    const closing = consumer.close();
    finish.open();
    await closing;
    const rest: string[] = [];
    await second.subscribe(name, { batch: 10 }, (messages) => {
      rest.push(...messages.map(({ value, attempt }) => `${value}:${attempt}`));
    });
    await until(() => running.length + rest.length === 6);
    assert.deepEqual(
      rest,
      [1, 2, 3, 4, 5, 6].slice(running.length).map((value) => `${value}:1`),
    );
  },
};
