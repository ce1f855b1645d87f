import assert from "node:assert/strict";
import type { MessagingError } from "../../engines/messaging/errors.js";
import { type Cases, collect, gate, like, until } from "./harness.js";

/** Messages from the publisher to the handler. */
export const messageCases: Cases = {
  async "A message arrives with its value, key, headers, id and time"({ client, name }) {
    const received: unknown[] = [];
    await client.subscribe(name, {}, (message) => {
      const { id, topic, key, value, headers, timestamp, text, attempt } = message;
      received.push({ id, topic, key, value, tenant: headers.tenant, text, attempt, json: message.json() });
      assert.ok(Math.abs(timestamp.getTime() - before) < 60_000);
    });
    const before = Date.now();
    const value = { total: 12.5, name: "Ünïcode ✓", list: [1, null, true] };
    const { id } = await client.publish(name, value, { key: "k1", headers: { Tenant: "zürich" } });
    await until(() => received.length === 1);
    assert.deepEqual(received, [
      { id, topic: name, key: "k1", value, tenant: "zürich", text: JSON.stringify(value), attempt: 1, json: value },
    ]);
  },

  async "Bytes arrive as they were sent"({ client, name }) {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    let received: unknown;
    await client.subscribe(name, {}, (message) => {
      received = message.value;
    });
    await client.publish(name, bytes);
    await until(() => received !== undefined);
    assert.equal(Buffer.compare(Buffer.from(received as Uint8Array), Buffer.from(bytes)), 0);
  },

  async "Each of many concurrent publishes is confirmed and handled once"({ client, name }) {
    const seen: number[] = [];
    await client.subscribe(name, { concurrency: 50 }, (message) => {
      seen.push((message.value as { n: number }).n);
    });
    const published = await Promise.all(Array.from({ length: 300 }, (_, n) => client.publish(name, { n })));
    assert.equal(new Set(published.map(({ id }) => id)).size, 300);
    await until(() => seen.length >= 300);
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 300 }, (_, n) => n),
    );
  },

  async "A batch arrives whole and in its order for each key"({ client, name }) {
    const seen = await collect<number>(client, name, { concurrency: 5 });
    await client.publishBatch(
      name,
      Array.from({ length: 40 }, (_, value) => ({ value, key: "same" })),
    );
    await until(() => seen.length >= 40);
    assert.deepEqual(
      seen,
      Array.from({ length: 40 }, (_, n) => n),
    );
  },

  async "Messages of one key are handled one after the other, those of others at the same time"({ client, name }) {
    const running = new Map<string, number>();
    const order: Record<string, number[]> = { a: [], b: [], c: [] };
    let most = 0;
    let overlapped = false;
    const three = gate();
    await client.subscribe(name, { concurrency: 10, prefetch: 50 }, async (message) => {
      const key = message.key!;
      running.set(key, (running.get(key) ?? 0) + 1);
      if (running.get(key)! > 1) overlapped = true;
      most = Math.max(most, [...running.values()].filter((n) => n > 0).length);
      if (most === 3) three.open();
      // The first of each key waits until all keys run.
      await three.opened;
      order[key]!.push(message.value as number);
      running.set(key, running.get(key)! - 1);
    });
    const entries = Array.from({ length: 30 }, (_, value) => ({ value, key: "abc"[value % 3]! }));
    await client.publishBatch(name, entries);
    await until(() => Object.values(order).flat().length === 30);
    assert.equal(overlapped, false);
    assert.equal(most, 3);
    for (const list of Object.values(order))
      assert.deepEqual(
        list,
        list.toSorted((a, b) => a - b),
      );
  },

  async "A consumer handles no more messages at a time than its concurrency"({ client, name }) {
    let running = 0;
    let most = 0;
    let done = 0;
    const three = gate();
    await client.subscribe(name, { concurrency: 3, prefetch: 20 }, async () => {
      most = Math.max(most, ++running);
      if (running === 3) three.open();
      await three.opened;
      running--;
      done++;
    });
    await client.publishBatch(
      name,
      Array.from({ length: 20 }, (_, value) => ({ value })),
    );
    await until(() => done === 20);
    assert.equal(most, 3);
  },

  async "A message carries the trace of the one that was handled when it was published"({ client, fresh }) {
    const [first, second] = [await fresh("from"), await fresh("to")];
    let parent: string | undefined;
    await client.subscribe(second, {}, (message) => {
      parent = message.headers.traceparent;
    });
    await client.subscribe(first, {}, async () => {
      await client.publish(second, 1);
    });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await client.publish(first, 1, { headers: { traceparent } });
    await until(() => parent !== undefined);
    assert.equal(parent, traceparent);
  },

  async "A message over the limit of the broker is refused before it is sent"({ client, name, broker }) {
    const { abilities } = await broker.connect();
    const failure = await client.publish(name, "x".repeat(abilities.maxBytes)).catch((error: MessagingError) => error);
    like(failure, { code: "TOO_LARGE" });
  },

  async "The lag is the number of messages that are not handled yet"({ client, name }) {
    const finish = gate();
    let handled = 0;
    const consumer = await client.subscribe(name, { concurrency: 1, prefetch: 2 }, async () => {
      await finish.opened;
      handled++;
    });
    await client.publishBatch(
      name,
      Array.from({ length: 6 }, (_, value) => ({ value })),
    );
    await until(async () => (await consumer.lag()) === 6, "a lag of 6");
    finish.open();
    await until(() => handled === 6);
    await until(async () => (await consumer.lag()) === 0, "a lag of 0");
  },
};
