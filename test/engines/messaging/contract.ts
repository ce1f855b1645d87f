import { type Messaging, type MessagingError, type Subscription, topic } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Backend, clients, gate, uniqueTopic, until } from "./harness.js";

/** Short pauses, so that tests of attempts end soon. */
const quick = { delay: 0.02, factor: 1, jitter: 0 };

/** The cases that every broker must pass. */
export function contract(name: string, backend: Backend): void {
  describe(`the contract of messaging on ${name}`, () => {
    const open = clients(backend);
    const fresh = async (hint?: string): Promise<string> => {
      const chosen = uniqueTopic(hint);
      await backend.prepare?.(chosen);
      return chosen;
    };

    it("A message arrives with its value, key, headers, id and time", async () => {
      const client = await open();
      const name = await fresh();
      const received: unknown[] = [];
      await client.subscribe(name, {}, (message) => {
        const { id, topic, key, value, headers, timestamp, text, attempt } = message;
        received.push({ id, topic, key, value, tenant: headers.tenant, text, attempt, json: message.json() });
        expect(Math.abs(timestamp.getTime() - before)).toBeLessThan(60_000);
      });
      const before = Date.now();
      const value = { total: 12.5, name: "Ünïcode ✓", list: [1, null, true] };
      const { id } = await client.publish(name, value, { key: "k1", headers: { Tenant: "zürich" } });
      await until(() => received.length === 1);
      expect(received).toEqual([
        { id, topic: name, key: "k1", value, tenant: "zürich", text: JSON.stringify(value), attempt: 1, json: value },
      ]);
    });

    it("Bytes arrive as they were sent", async () => {
      const client = await open();
      const name = await fresh();
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      let received: unknown;
      await client.subscribe(name, {}, (message) => {
        received = message.value;
      });
      await client.publish(name, bytes);
      await until(() => received !== undefined);
      expect(Buffer.compare(Buffer.from(received as Uint8Array), Buffer.from(bytes))).toBe(0);
    });

    it("Each of many concurrent publishes is confirmed and handled once", async () => {
      const client = await open();
      const name = await fresh();
      const seen: number[] = [];
      await client.subscribe(name, { concurrency: 50 }, (message) => {
        seen.push((message.value as { n: number }).n);
      });
      const published = await Promise.all(Array.from({ length: 300 }, (_, n) => client.publish(name, { n })));
      expect(new Set(published.map(({ id }) => id)).size).toBe(300);
      await until(() => seen.length >= 300);
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, n) => n));
    });

    it("A batch arrives whole and in its order for each key", async () => {
      const client = await open();
      const name = await fresh();
      const seen: number[] = [];
      await client.subscribe(name, { concurrency: 5 }, (message) => {
        seen.push(message.value as number);
      });
      await client.publishBatch(
        name,
        Array.from({ length: 40 }, (_, value) => ({ value, key: "same" })),
      );
      await until(() => seen.length >= 40);
      expect(seen).toEqual(Array.from({ length: 40 }, (_, n) => n));
    });

    it("Messages of one key are handled one after the other, those of others at the same time", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(overlapped).toBe(false);
      expect(most).toBe(3);
      for (const list of Object.values(order)) expect(list).toEqual(list.toSorted((a, b) => a - b));
    });

    it("A consumer handles no more messages at a time than its concurrency", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(most).toBe(3);
    });

    it("A handler that throws gets the message again, with the next attempt", async () => {
      const client = await open();
      const name = await fresh();
      const attempts: number[] = [];
      await client.subscribe(name, { retry: quick }, (message) => {
        attempts.push(message.attempt);
        if (message.attempt < 3) throw new Error("not yet");
      });
      await client.publish(name, 1);
      await until(() => attempts.length === 3);
      expect(attempts).toEqual([1, 2, 3]);
      expect(await client.deadLetters.list(name)).toEqual([]);
    });

    it("A message with a key that fails is handled again before those after it", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(seen).toEqual(["1.1", "1.2", "1.3", "2.1", "3.1"]);
    });

    it("After the last attempt a message is a dead letter, with the reason, and does not block the others", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(letter).toMatchObject({
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
      expect(letter!.headers.tenant).toBe("t1");
    });

    it("A value that does not fit the schema is a dead letter at once, with its errors", async () => {
      const client = await open();
      const name = await fresh();
      const orders = topic(name, { schema: z.object({ total: z.number() }) });
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
      expect(letters.map(({ reason, attempts }) => ({ reason, attempts }))).toEqual([
        { reason: "invalid", attempts: 1 },
        { reason: "invalid", attempts: 1 },
      ]);
      const issues = letters.flatMap((letter) => letter.issues);
      expect(issues).toEqual([expect.objectContaining({ loc: ["value", "total"], type: "invalid_type" })]);
      expect(handled).toEqual([7]);
    });

    it("A publish that does not fit the schema is refused before it is sent", async () => {
      const client = await open();
      const name = await fresh();
      const orders = topic(name, { schema: z.object({ total: z.number() }) });
      const wrong = { total: "x" } as unknown as { total: number };
      await expect(client.publish(orders, wrong)).rejects.toThrow(
        `the value does not fit the schema of '${name}': value.total:`,
      );
    });

    it("The calls of ack, reject, nack, requeue and deadLetter choose the result", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(seen.filter((entry) => entry.startsWith("requeue"))).toEqual(Array(4).fill("requeue.1"));
      expect(seen.filter((entry) => entry.startsWith("nack"))).toEqual(["nack.1", "nack.2"]);
      const letters = await client.deadLetters.list(name);
      expect(letters.map(({ reason, error }) => [reason, error]).toSorted()).toEqual([
        ["failed", "no stock"],
        ["handler", "strange"],
      ]);
    });

    it("Dead letters are grouped by failure, sent back and discarded", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(failures.map(({ failure, count }) => ({ failure, count }))).toEqual([
        { failure: "failed: no connection to host #", count: 3 },
        { failure: "failed: RangeError: odd", count: 1 },
      ]);
      broken = false;
      expect(await client.deadLetters.replay(name, { failure: failures[0]!.failure })).toBe(3);
      await until(() => handled.length === 3);
      expect(handled.toSorted()).toEqual([
        [1, 1, "1"],
        [2, 1, "1"],
        [3, 1, "1"],
      ]);
      expect(await client.deadLetters.discard(name)).toBe(1);
      expect(await client.deadLetters.list(name)).toEqual([]);
    });

    it("A dead letter that is sent back and fails again has counted its replays, and is discarded by its failure", async () => {
      const client = await open();
      const name = await fresh();
      await client.subscribe(name, { retry: false }, () => {
        throw new Error("always");
      });
      await client.publish(name, 1);
      const replays = async () => (await client.deadLetters.list(name)).map((letter) => letter.replays);
      await until(async () => (await replays())[0] === 0);
      expect(await client.deadLetters.replay(name)).toBe(1);
      await until(async () => (await replays())[0] === 1);
      expect(await client.deadLetters.failures(name)).toMatchObject([
        { failure: "failed: always", count: 1, replays: 1 },
      ]);
      expect(await client.deadLetters.discard(name, { failure: "failed: another" })).toBe(0);
      expect(await client.deadLetters.discard(name, { failure: "failed: always" })).toBe(1);
      expect(await client.deadLetters.list(name)).toEqual([]);
    });

    it("A handler that takes too long fails, and its signal is aborted", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(aborted).toHaveLength(2);
      const [letter] = await client.deadLetters.list(name);
      expect(letter!.error).toBe("MessagingError: the handler took longer than 0.1 s");
    });

    it("An idempotent consumer handles a message id once", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(handled).toEqual(["first", "first", "other"]);
    });

    it("A paused consumer takes nothing until it is resumed", async () => {
      const client = await open();
      const name = await fresh();
      const seen: unknown[] = [];
      const consumer = await client.subscribe(name, {}, (message) => {
        seen.push(message.value);
      });
      await client.publish(name, 1);
      await until(() => seen.length === 1);
      consumer.pause();
      expect(consumer.paused).toBe(true);
      const marker = await fresh();
      await client.subscribe(marker, {}, (message) => {
        seen.push(message.value);
      });
      await client.publish(name, 2);
      await client.publish(marker, "marker");
      await until(() => seen.includes("marker"));
      expect(seen).toEqual([1, "marker"]);
      consumer.resume();
      await until(() => seen.length === 3);
    });

    it("A consumer that is closed finishes its messages and gives back the others, with their attempts unchanged", async () => {
      const first = await open();
      const second = await open();
      const name = await fresh();
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
      expect(seen).toEqual(["first:1"]);
      await second.subscribe(name, {}, (message) => {
        seen.push(`second:${message.value}.${message.attempt}`);
      });
      await until(() => seen.length === 3);
      expect(seen).toEqual(["first:1", "second:2.1", "second:3.1"]);
    });

    it("Two consumers of one group share the messages: each is handled once", async () => {
      const [first, second] = [await open(), await open()];
      const name = await fresh();
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
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n));
    });

    it("A message carries the trace of the one that was handled when it was published", async () => {
      const client = await open();
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
      expect(parent).toBe(traceparent);
    });

    it("A message over the limit of the broker is refused before it is sent", async () => {
      const broker = await backend.connect();
      const client = await open();
      const name = await fresh();
      const failure = await client
        .publish(name, "x".repeat(broker.abilities.maxBytes))
        .catch((error: MessagingError) => error);
      expect(failure).toMatchObject({ code: "TOO_LARGE" });
    });

    it("The lag is the number of messages that are not handled yet", async () => {
      const client = await open();
      const name = await fresh();
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
    });
  });
}

/** Cases for brokers where each group, or each process, has its own copy of the messages. */
export function groupsContract(name: string, backend: Backend): void {
  describe(`groups on ${name}`, () => {
    const open = clients(backend);
    const collect = async (client: Messaging, topicName: string, options: object): Promise<unknown[]> => {
      const seen: unknown[] = [];
      await client.subscribe(topicName, options, (message) => {
        seen.push(message.value);
      });
      return seen;
    };
    const fresh = async (): Promise<string> => {
      const chosen = uniqueTopic();
      await backend.prepare?.(chosen);
      return chosen;
    };

    it("Each group gets each message", async () => {
      const client = await open();
      const name = await fresh();
      const billing = await collect(client, name, { group: "billing" });
      const shipping = await collect(client, name, { group: "shipping" });
      await client.publish(name, 1);
      await until(() => billing.length === 1 && shipping.length === 1);
    });

    it("A dead letter goes back to the group that failed, and to no other", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(await client.deadLetters.replay(name)).toBe(1);
      await client.publish(name, 2);
      await until(() => seen.includes("billing:1") && seen.includes("billing:2") && seen.includes("shipping:2"));
      expect(seen.toSorted()).toEqual(["billing:1", "billing:2", "shipping:1", "shipping:2"]);
    });

    it("A broadcast reaches every process", async () => {
      const [first, second] = [await open(), await open()];
      const name = await fresh();
      const one = await collect(first, name, { broadcast: true });
      const two = await collect(second, name, { broadcast: true });
      await first.publish(name, "flush");
      await until(() => one.length === 1 && two.length === 1);
    });
  });
}

/** Cases for brokers that can delay messages. */
export function delayContract(name: string, backend: Backend): void {
  describe(`delays on ${name}`, () => {
    const open = clients(backend);

    it("A delayed message comes after those with a shorter delay or none, whenever they were published", async () => {
      const client = await open();
      const topicName = uniqueTopic();
      await backend.prepare?.(topicName);
      const seen: unknown[] = [];
      await client.subscribe(topicName, {}, (message) => {
        seen.push(message.value);
      });
      await Promise.all([
        client.publish(topicName, "long", { delay: 2 }),
        client.publish(topicName, "short", { delay: 1 }),
        client.publish(topicName, "now"),
      ]);
      await until(() => seen.length === 3);
      expect(seen).toEqual(["now", "short", "long"]);
    });
  });
}

/** Cases for brokers that keep messages and can go back to them. */
export function logContract(name: string, backend: Backend): void {
  describe(`older messages on ${name}`, () => {
    const open = clients(backend);
    const fresh = async (): Promise<string> => {
      const chosen = uniqueTopic();
      await backend.prepare?.(chosen);
      return chosen;
    };

    it("A new group begins with the oldest message, or at the end if it says so", async () => {
      const client = await open();
      const name = await fresh();
      await client.publish(name, "old");
      const all: unknown[] = [];
      const fromEnd: unknown[] = [];
      await client.subscribe(name, { group: "all" }, (message) => {
        all.push(message.value);
      });
      await client.subscribe(name, { group: "late", from: "end" }, (message) => {
        fromEnd.push(message.value);
      });
      await client.publish(name, "new");
      await until(() => all.length === 2 && fromEnd.length === 1);
      expect({ all, fromEnd }).toEqual({ all: ["old", "new"], fromEnd: ["new"] });
    });

    it("A consumer that goes back to the start handles all messages again", async () => {
      const client = await open();
      const name = await fresh();
      const seen: unknown[] = [];
      const consumer = await client.subscribe(name, { concurrency: 1 }, (message) => {
        seen.push(message.value);
      });
      for (const value of [1, 2, 3]) await client.publish(name, value, { key: "k" });
      await until(() => seen.length === 3);
      await consumer.seek("start");
      await until(() => seen.length === 6);
      expect(seen).toEqual([1, 2, 3, 1, 2, 3]);
    });
  });
}

export interface FaultyBackend extends Backend {
  /** Ends the server at once. */
  stop(): Promise<void>;
  /** Starts it again, with its data. */
  start(): Promise<void>;
}

/** Cases for a server that goes away and comes back. */
export function faultsContract(name: string, backend: FaultyBackend): void {
  describe(`faults of ${name}`, () => {
    const open = clients(backend);

    it("Messages published while the broker is away are held, and handled when it is back, in their order", async () => {
      const client = await open({ timeout: 120_000 });
      const name = uniqueTopic();
      await backend.prepare?.(name);
      const seen: number[] = [];
      const consumer = await client.subscribe(name, {}, (message) => {
        seen.push(message.value as number);
      });
      await client.publish(name, 0, { key: "k" });
      await until(() => seen.length === 1);
      await backend.stop();
      await until(() => !consumer.connected);
      const published = Promise.all([1, 2, 3].map((value) => client.publish(name, value, { key: "k" })));
      await backend.start();
      await published;
      await until(() => new Set(seen).size === 4);
      expect([...new Set(seen)]).toEqual([0, 1, 2, 3]);
      expect(consumer.connected).toBe(true);
    }, 120_000);

    it("A message that was being handled when the connection broke is handled again, and its late result does not count", async () => {
      const client = await open({ timeout: 120_000 });
      const name = uniqueTopic();
      await backend.prepare?.(name);
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
      await backend.stop();
      await until(() => !consumer.connected);
      await backend.start();
      finish.open();
      await until(() => aborted.length === 2);
      expect(aborted).toEqual([true, false]);
      // The first attempt had no result: it does not count.
      expect(attempts).toEqual([1, 1]);
      await until(() => consumer.stats().results.done === 1);
      expect(consumer.stats().results.lost).toBe(1);
    }, 120_000);

    it("Connections that are cut in the middle of publishes lose nothing, and each key keeps its order", async () => {
      const client = await open({ timeout: 120_000 });
      const topicName = uniqueTopic();
      await backend.prepare?.(topicName);
      const seen: string[] = [];
      await client.subscribe(topicName, { prefetch: 20 }, (message) => {
        seen.push(message.value as string);
      });
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
        await backend.stop();
        await backend.start();
      }
      await producing;
      await until(() => new Set(seen).size === 3 * total);
      for (const key of ["a", "b", "c"]) {
        const first = [...new Set(seen.filter((value) => value.startsWith(key)))].map((value) =>
          Number(value.slice(2)),
        );
        expect(first).toEqual(first.toSorted((one, other) => one - other));
      }
      console.log(
        `${name}: sent ${confirmed.length}, handled ${new Set(seen).size}, doubled ${seen.length - 3 * total}`,
      );
    }, 120_000);

    it("A publish that the broker does not confirm in time rejects", async () => {
      const client = await open({ timeout: 300 });
      const name = uniqueTopic();
      await backend.prepare?.(name);
      await client.subscribe(name, {}, () => {});
      await backend.stop();
      const failure = await client.publish(name, 1).catch((error: MessagingError) => error);
      await backend.start();
      expect((failure as MessagingError).code).toMatch(/^(TIMEOUT|UNREACHABLE)$/);
    }, 120_000);
  });
}
