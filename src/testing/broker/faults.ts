import assert from "node:assert/strict";
import type { MessagingError } from "../../engines/messaging/errors.js";
import { type Cases, collect, type FaultyBroker, gate, until } from "./harness.js";

/** A server that goes away and comes back. */
export const faultCases: Cases<FaultyBroker> = {
  async "Messages published during an outage of the broker are handled afterwards, in their order"({
    client,
    name,
    broker,
  }) {
    const seen: number[] = [];
    const consumer = await client.subscribe(name, {}, (message) => {
      seen.push(message.value as number);
    });
    await client.publish(name, 0, { key: "k" });
    await until(() => seen.length === 1);
    await broker.stop();
    await until(() => !consumer.connected);
    const published = Promise.all([1, 2, 3].map((value) => client.publish(name, value, { key: "k" })));
    await broker.start();
    await published;
    await until(() => new Set(seen).size === 4);
    assert.deepEqual([...new Set(seen)], [0, 1, 2, 3]);
    assert.equal(consumer.connected, true);
  },

  async "A message that was being handled when the connection broke is handled again, and its late result does not count"({
    client,
    name,
    broker,
  }) {
    const begun = gate();
    const finish = gate();
    const attempts: number[] = [];
    const aborted: boolean[] = [];
    const consumer = await client.subscribe(name, {}, async (message) => {
      attempts.push(message.attempt);
      begun.open();
      await finish.opened;
      aborted.push(message.signal.aborted);
    });
    await client.publish(name, 1);
    await begun.opened;
    await broker.stop();
    await until(() => !consumer.connected);
    await broker.start();
    finish.open();
    await until(() => aborted.length === 2);
    assert.deepEqual(aborted, [true, false]);
    // The first attempt had no result: it does not count.
    assert.deepEqual(attempts, [1, 1]);
    await until(() => consumer.stats().results.done === 1);
    assert.equal(consumer.stats().results.lost, 1);
  },

  async "Connections that are cut in the middle of publishes lose nothing, and each key keeps its order"({
    client,
    name: topicName,
    broker,
  }) {
    const seen = await collect<string>(client, topicName, { prefetch: 20 });
    const confirmed: string[] = [];
    const total = 100;
    const produce = async (key: string) => {
      for (let number = 0; number < total; number++) {
        await client.publish(topicName, `${key}:${number}`, { key });
        confirmed.push(`${key}:${number}`);
      }
    };
    const producing = Promise.all(["a", "b", "c"].map(produce));
    for (const count of [40, 120, 200]) {
      await until(() => confirmed.length > count);
      await broker.stop();
      await broker.start();
    }
    await producing;
    await until(() => new Set(seen).size === 3 * total);
    for (const key of ["a", "b", "c"]) {
      const first = [...new Set(seen.filter((value) => value.startsWith(key)))].map((value) => Number(value.slice(2)));
      assert.deepEqual(
        first,
        first.toSorted((one, other) => one - other),
      );
    }
    console.log(
      `${broker.name}: sent ${confirmed.length}, handled ${new Set(seen).size}, doubled ${seen.length - 3 * total}`,
    );
  },

  async "A publish that the broker does not confirm in time rejects"({ name, open, broker }) {
    const client = await open({ timeout: 0.3 });
    await client.subscribe(name, {}, () => {});
    await broker.stop();
    const failure = await client.publish(name, 1).catch((error: MessagingError) => error);
    await broker.start();
    assert.match((failure as MessagingError).code, /^(TIMEOUT|UNREACHABLE)$/);
  },
};
