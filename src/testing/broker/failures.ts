import assert from "node:assert/strict";
import type { Subscription } from "../../engines/messaging/consume/consumer.js";
import { topic } from "../../engines/messaging/topic.js";
import { type Cases, like, numberIn, quick, until } from "./harness.js";

/** Handlers that fail, and the messages that they leave. */
export const failureCases: Cases = {
  async "A handler that throws gets the message again, with the next attempt"({ client, name }) {
    const attempts: number[] = [];
    await client.subscribe(name, { retry: quick }, (message) => {
      attempts.push(message.attempt);
      if (message.attempt < 3) throw new Error("not yet");
    });
    await client.publish(name, 1);
    await until(() => attempts.length === 3);
    assert.deepEqual(attempts, [1, 2, 3]);
    assert.deepEqual(await client.deadLetters.list(name), []);
  },

  async "A message with a key that fails is handled again before those after it"({ client, name }) {
    const seen: string[] = [];
    await client.subscribe(name, { retry: quick }, (message) => {
      seen.push(`${message.value}.${message.attempt}`);
      if (message.value === 1 && message.attempt < 3) throw new Error("not yet");
    });
    await client.publishBatch(
      name,
      [1, 2, 3].map((value) => ({ value, key: "k" })),
    );
    await until(() => seen.length === 5);
    assert.deepEqual(seen, ["1.1", "1.2", "1.3", "2.1", "3.1"]);
  },

  async "After the last attempt a message is a dead letter, with the reason, and does not block the others"({
    client,
    name,
  }) {
    const handled: unknown[] = [];
    await client.subscribe(name, { retry: { ...quick, attempts: 3 } }, (message) => {
      if (message.value === "poison") throw new TypeError("cannot read 17 of undefined");
      handled.push(message.value);
    });
    const { id } = await client.publish(name, "poison", { key: "k", headers: { tenant: "t1" } });
    await client.publish(name, "good", { key: "k" });
    await until(() => handled.length === 1);
    await until(async () => (await client.deadLetters.list(name)).length === 1);
    const [letter] = await client.deadLetters.list(name);
    like(letter, {
      id,
      topic: name,
      key: "k",
      text: '"poison"',
      reason: "failed",
      error: "TypeError: cannot read 17 of undefined",
      attempts: 3,
      replays: 0,
      failure: "failed: TypeError: cannot read # of undefined",
    });
    assert.equal(letter!.headers.tenant, "t1");
  },

  async "A value that does not fit the schema is a dead letter at once, with its errors"({ client, name }) {
    const orders = topic(name, { schema: numberIn("total") });
    const handled: number[] = [];
    await client.subscribe(orders, { retry: quick }, (message) => {
      handled.push(message.value.total);
    });
    await client.publish(name, { total: "much" });
    await client.publish(name, new TextEncoder().encode("{not json"), {
      headers: { "content-type": "application/json" },
    });
    await client.publish(orders, { total: 7 });
    await until(() => handled.length === 1);
    await until(async () => (await client.deadLetters.list(name)).length === 2);
    const letters = await client.deadLetters.list(name);
    assert.deepEqual(
      letters.map(({ reason, attempts }) => ({ reason, attempts })),
      [
        { reason: "invalid", attempts: 1 },
        { reason: "invalid", attempts: 1 },
      ],
    );
    const places = letters.flatMap((letter) => letter.issues ?? []).map((issue) => (issue as { loc: unknown }).loc);
    assert.deepEqual(places, [["value", "total"]]);
    assert.deepEqual(handled, [7]);
  },

  async "A publish that does not fit the schema is refused before it is sent"({ client, name }) {
    const orders = topic(name, { schema: numberIn("total") });
    const wrong = { total: "x" } as unknown as { total: number };
    await assert.rejects(client.publish(orders, wrong), (error: Error) =>
      error.message.includes(`the value does not fit the schema of '${name}': value.total:`),
    );
  },

  async "The calls of ack, reject, nack, requeue and deadLetter choose the result"({ client, name }) {
    const seen: string[] = [];
    await client.subscribe(name, { retry: { ...quick, attempts: 2 } }, (message) => {
      const kind = message.value as "ack" | "reject" | "nack" | "requeue" | "deadLetter";
      seen.push(`${kind}.${message.attempt}`);
      const times = seen.filter((entry) => entry.startsWith(`${kind}.`)).length;
      if (kind === "ack") {
        message.ack();
        throw new Error("too late");
      }
      if (kind === "requeue") {
        if (times < 4) message.requeue({ delay: 0.01 });
      } else if (kind === "nack") message.nack({ delay: 0.01, reason: "no stock" });
      else if (kind === "reject") message.reject("unwanted");
      else message.deadLetter("strange");
    });
    for (const kind of ["ack", "reject", "nack", "requeue", "deadLetter"]) await client.publish(name, kind);
    await until(() => seen.length === 9);
    await until(async () => (await client.deadLetters.list(name)).length === 2);
    // Requeueing is not an attempt.
    assert.deepEqual(
      seen.filter((entry) => entry.startsWith("requeue")),
      Array(4).fill("requeue.1"),
    );
    assert.deepEqual(
      seen.filter((entry) => entry.startsWith("nack")),
      ["nack.1", "nack.2"],
    );
    const letters = await client.deadLetters.list(name);
    assert.deepEqual(letters.map(({ reason, error }) => [reason, error]).toSorted(), [
      ["failed", "no stock"],
      ["handler", "strange"],
    ]);
  },

  async "Dead letters are grouped by failure, sent back and discarded"({ client, name }) {
    let broken = true;
    const handled: unknown[] = [];
    await client.subscribe(name, { retry: false }, (message) => {
      if (message.value === "odd") throw new RangeError("odd");
      if (broken) throw new Error(`no connection to host ${message.value}`);
      handled.push([message.value, message.attempt, message.headers["stoa-replays"]]);
    });
    for (const value of [1, 2, 3, "odd"]) await client.publish(name, value);
    await until(async () => (await client.deadLetters.list(name)).length === 4);
    const failures = await client.deadLetters.failures(name);
    assert.deepEqual(
      failures.map(({ failure, count }) => ({ failure, count })),
      [
        { failure: "failed: no connection to host #", count: 3 },
        { failure: "failed: RangeError: odd", count: 1 },
      ],
    );
    broken = false;
    assert.equal(await client.deadLetters.replay(name, { failure: failures[0]!.failure }), 3);
    await until(() => handled.length === 3);
    assert.deepEqual(handled.toSorted(), [
      [1, 1, "1"],
      [2, 1, "1"],
      [3, 1, "1"],
    ]);
    assert.equal(await client.deadLetters.discard(name), 1);
    assert.deepEqual(await client.deadLetters.list(name), []);
  },

  async "A dead letter that is sent back and fails again has counted its replays, and is discarded by its failure"({
    client,
    name,
  }) {
    await client.subscribe(name, { retry: false }, () => {
      throw new Error("always");
    });
    await client.publish(name, 1);
    const replays = async () => (await client.deadLetters.list(name)).map((letter) => letter.replays);
    await until(async () => (await replays())[0] === 0);
    assert.equal(await client.deadLetters.replay(name), 1);
    await until(async () => (await replays())[0] === 1);
    like(await client.deadLetters.failures(name), [{ failure: "failed: always", count: 1, replays: 1 }]);
    assert.equal(await client.deadLetters.discard(name, { failure: "failed: another" }), 0);
    assert.equal(await client.deadLetters.discard(name, { failure: "failed: always" }), 1);
    assert.deepEqual(await client.deadLetters.list(name), []);
  },

  async "A handler that takes too long fails, and its signal is aborted"({ client, name }) {
    const aborted: string[] = [];
    await client.subscribe(name, { timeout: 0.1, retry: { ...quick, attempts: 2 } }, (message) => {
      return new Promise((_resolve, reject) => {
        message.signal.addEventListener("abort", () => {
          aborted.push(String(message.signal.reason));
          reject(message.signal.reason);
        });
      });
    });
    await client.publish(name, 1);
    await until(async () => (await client.deadLetters.list(name)).length === 1);
    assert.equal(aborted.length, 2);
    const [letter] = await client.deadLetters.list(name);
    assert.equal(letter!.error, "MessagingError: the handler took longer than 0.1 s");
  },

  async "An idempotent consumer handles a message id once"({ client, name }) {
    const handled: unknown[] = [];
    let consumer: Subscription | undefined;
    consumer = await client.subscribe(name, { idempotent: true, retry: quick }, (message) => {
      handled.push(message.value);
      // A failed attempt does not count as handled.
      if (handled.length === 1) throw new Error("not yet");
    });
    await client.publish(name, "first", { id: "order-1" });
    await until(() => handled.length === 2);
    await client.publish(name, "again", { id: "order-1" });
    await client.publish(name, "other", { id: "order-2" });
    await until(() => handled.length === 3 && consumer.stats().results.duplicate === 1);
    assert.deepEqual(handled, ["first", "first", "other"]);
  },
};
