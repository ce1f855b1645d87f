import assert from "node:assert/strict";
import type { MessagingError } from "../../engines/messaging/errors.js";
import { type Cases, collect, gate, like, quick, until } from "./harness.js";

/** Requests, for brokers that can broadcast. */
export const requestCases: Cases = {
  async "A request resolves to the value that the handler returns, each to its own"({ client: asking, name, open }) {
    const replying = await open();
    await replying.subscribe(name, {}, async (message) => ({ doubled: (message.value as number) * 2 }));
    const replies = await Promise.all([1, 2, 3].map((value) => asking.request(name, value)));
    assert.deepEqual(replies, [{ doubled: 2 }, { doubled: 4 }, { doubled: 6 }]);
  },

  async "A request rejects with the error of the handler after its last attempt"({ client, name }) {
    let attempts = 0;
    await client.subscribe(name, { retry: { ...quick, attempts: 2 } }, () => {
      attempts++;
      throw new Error("no stock");
    });
    await assert.rejects(client.request(name, 1), {
      code: "REFUSED",
      message: `the request to '${name}' failed: the handler failed: no stock`,
    });
    assert.equal(attempts, 2);
  },

  async "A client that drains rejects the requests that wait, refuses further ones, and still publishes for the handlers that run"({
    name: asked,
    connect,
    fresh,
  }) {
    const client = await connect();
    const other = await fresh();
    const begun = gate();
    const finish = gate();
    const results: unknown[] = [];
    await client.subscribe(other, {}, () => {});
    await client.subscribe(asked, {}, async () => {
      begun.open();
      await finish.opened;
      results.push(await client.request(asked, 2).catch((error: MessagingError) => error));
      results.push(await client.publish(other, 1));
      return 1;
    });
    const waiting = client.request(asked, 1);
    const refused = assert.rejects(waiting, { code: "CLOSED" });
    await begun.opened;
    const closing = client.close();
    await refused;
    finish.open();
    await closing;
    const [request, published] = results;
    like(request, {
      code: "CLOSED",
      message: `the request to '${asked}' was not sent: the application ends, and takes no replies`,
    });
    assert.equal(typeof (published as { id: unknown }).id, "string");
    await assert.rejects(client.publish(other, 1), { code: "CLOSED" });
  },

  async "A request without a reply in time rejects, and a late reply is dropped"({ client, name, fresh }) {
    const late = gate();
    const consumer = await client.subscribe(name, {}, async () => {
      await late.opened;
      return 1;
    });
    await assert.rejects(client.request(name, 1, { timeout: 0.3 }), { code: "TIMEOUT" });
    late.open();
    await until(() => consumer.stats().results.done === 1);
    const other = await fresh();
    await client.subscribe(other, {}, () => "in time");
    assert.equal(await client.request(other, 1), "in time");
  },
};

/** Transactions, for brokers that have them. */
export const transactionCases: Cases = {
  async "The messages of a transaction are all published when it ends, and none if it throws"({
    client,
    name: one,
    fresh,
  }) {
    const two = await fresh();
    const seen: unknown[] = [];
    for (const topic of [one, two]) await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    const failing = client.transaction(async (tx) => {
      await tx.publish(one, "never");
      throw new Error("changed my mind");
    });
    await assert.rejects(failing, (error: Error) => error.message.includes("changed my mind"));
    const result = await client.transaction(async (tx) => {
      await tx.publish(one, "a", { key: "k" });
      await tx.publishBatch(two, [{ value: "b" }, { value: "c" }]);
      return "done";
    });
    assert.equal(result, "done");
    await until(() => seen.length === 3);
    assert.deepEqual(seen.toSorted(), ["a", "b", "c"]);
  },

  async "A transaction that has ended takes no further messages"({ client, name }) {
    let late = async (): Promise<unknown> => null;
    await client.transaction(async (tx) => {
      late = () => tx.publish(name, 1);
    });
    await assert.rejects(late(), { code: "CLOSED" });
  },

  async "A transactional handler publishes and marks its messages as handled together: an attempt that fails publishes nothing"({
    client,
    name: input,
    open,
    fresh,
  }) {
    const other = await open();
    const output = await fresh();
    const out = await collect<number>(other, output, { group: "out" });
    const attempts: string[] = [];
    const options = { transactional: true, batch: 4, retry: quick } as const;
    const consumer = await client.subscribe(input, options, async (messages, { tx }) => {
      for (const message of messages) await tx.publish(output, (message.value as number) * 10, { key: "k" });
      attempts.push(messages.map(({ value, attempt }) => `${value}:${attempt}`).join());
      if (messages.some(({ attempt, value }) => value === 2 && attempt === 1)) throw new Error("once");
    });
    for (const value of [0, 1, 2, 3, 4, 5]) await client.publish(input, value, { key: "k" });
    await until(() => new Set(out).size === 6);
    assert.deepEqual(out, [0, 10, 20, 30, 40, 50]);
    assert.equal(
      attempts.some((text) => text.includes("2:2")),
      true,
    );
    await until(async () => (await consumer.lag()) === 0);
    await until(() => consumer.stats().results.done === 6);
  },

  async "One message that fails every transaction of its batch is the only dead letter, and the results of the others are published once"({
    client,
    name: input,
    fresh,
  }) {
    const output = await fresh();
    const out = await collect(client, output, { group: "out" });
    const options = { transactional: true, batch: 4, retry: { ...quick, attempts: 2 } } as const;
    const consumer = await client.subscribe(input, options, async (messages, { tx }) => {
      for (const { value } of messages) await tx.publish(output, value, { key: "k" });
      if (messages.some(({ value }) => value === "bad")) throw new Error("bad");
    });
    const entries = ["one", "bad", "two", "three"].map((value) => ({ value, key: "k" }));
    await client.publishBatch(input, entries);
    await until(() => consumer.stats().results.done === 3 && consumer.stats().results.dead === 1);
    await until(() => out.length === 3);
    assert.deepEqual(out, ["one", "two", "three"]);
    like(await client.deadLetters.list(input), [{ text: '"bad"', reason: "failed" }]);
  },

  async "A message that a transactional handler cannot handle is a dead letter after its attempts, and those after it continue"({
    client,
    name: input,
    fresh,
  }) {
    const output = await fresh();
    const out = await collect(client, output, { group: "out" });
    const options = { transactional: true, retry: { ...quick, attempts: 2 } } as const;
    await client.subscribe(input, options, async (message, { tx }) => {
      await tx.publish(output, message.value);
      if (message.value === "bad") throw new Error("bad");
    });
    for (const value of ["good", "bad", "better"]) await client.publish(input, value, { key: "k" });
    await until(() => out.includes("better"));
    assert.deepEqual(out, ["good", "better"]);
    like(await client.deadLetters.list(input), [{ text: '"bad"', reason: "failed", attempts: 2 }]);
  },
};
