import type { Message, MessagingError } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Backend, clients, connected, gate, uniqueTopic, until } from "./harness.js";

const quick = { delay: 0.02, factor: 1, jitter: 0 };
const valuesOf = (messages: readonly Message[]) => messages.map(({ value }) => value as number);

/** Batch handlers: cases that every broker must pass. */
export function batchContract(name: string, backend: Backend): void {
  describe(`batches on ${name}`, () => {
    const open = clients(backend);
    const fresh = async (): Promise<string> => {
      const chosen = uniqueTopic();
      await backend.prepare?.(chosen);
      return chosen;
    };

    it("A batch handler gets the messages that have arrived, each once, at most so many, and in the order of each key", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(new Set(all).size).toBe(total);
      expect(Math.max(...batches.map((batch) => batch.length))).toBeLessThanOrEqual(10);
      expect(batches.length).toBeLessThan(total / 2);
      for (const key of [0, 1, 2, 3]) {
        const values = all.filter((value) => value % 4 === key);
        expect(values).toEqual(values.toSorted((a, b) => a - b));
      }
      await until(() => consumer.stats().results.done === total);
    });

    it("A message of a batch that the handler refuses is handled again, and the others are not", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(seen.toSorted()).toEqual(["1:1", "2:1", "2:2", "3:1", "4:1", "5:1"]);
      expect(consumer.stats().results).toMatchObject({ done: 4, dead: 1 });
      await until(async () => (await client.deadLetters.list(name)).length === 1);
    });

    it("A batch whose handler throws is handled again before later messages of its keys, and its messages die after the last attempt", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(handled).toEqual([0, 1, 2, 3, 4, 5]);
      await client.publish(name, 100, { key: "k" });
      await until(() => consumer.stats().results.dead === 1);
      expect(await client.deadLetters.list(name)).toMatchObject([{ text: "100", reason: "failed", attempts: 2 }]);
    });

    it("One message that makes every batch throw is the only dead letter: after the last attempt each message is handled alone", async () => {
      const client = await open();
      const name = await fresh();
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
      expect(handled.toSorted()).toEqual(["a1", "a2", "a3", "b1", "b2"]);
      for (const key of ["a", "b"]) {
        const mine = handled.filter((value) => value.startsWith(key));
        expect(mine).toEqual(mine.toSorted());
      }
      // Two with its batch, and one alone.
      const letters = await client.deadLetters.list(name);
      expect(letters).toMatchObject([{ text: '"poison"', reason: "failed", error: "poison", attempts: 3 }]);
    });

    it("A value in a batch that does not fit the schema is a dead letter, and the handler gets the others", async () => {
      const client = await open();
      const name = await fresh();
      const seen: number[] = [];
      const schema = z.object({ n: z.number() });
      await client.subscribe(name, { batch: { size: 3, wait: 0.2 }, schema }, (messages) => {
        seen.push(...messages.map(({ value }) => value.n));
      });
      await client.publishBatch(name, [{ value: { n: 1 } }, { value: { n: "two" } }, { value: { n: 3 } }]);
      await until(() => seen.length === 2);
      expect(seen.toSorted()).toEqual([1, 3]);
      await until(async () => (await client.deadLetters.list(name))[0]?.reason === "invalid");
    });

    it("A consumer of batches that is closed finishes the batch that runs, and gives back the others unchanged", async () => {
      const [first, second] = [await open(), await open()];
      const name = await fresh();
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
      expect(rest).toEqual([1, 2, 3, 4, 5, 6].slice(running.length).map((value) => `${value}:1`));
    });
  });
}

/** Requests: cases for brokers with a way back. */
export function requestContract(name: string, backend: Backend): void {
  describe(`requests on ${name}`, () => {
    const open = clients(backend);
    const fresh = async (): Promise<string> => {
      const chosen = uniqueTopic();
      await backend.prepare?.(chosen);
      return chosen;
    };

    it("A request resolves to the value that the handler returns, each to its own", async () => {
      const [asking, replying] = [await open(), await open()];
      const name = await fresh();
      await replying.subscribe(name, {}, async (message) => ({ doubled: (message.value as number) * 2 }));
      const replies = await Promise.all([1, 2, 3].map((value) => asking.request(name, value)));
      expect(replies).toEqual([{ doubled: 2 }, { doubled: 4 }, { doubled: 6 }]);
    });

    it("A request rejects with the error of the handler after its last attempt", async () => {
      const client = await open();
      const name = await fresh();
      let attempts = 0;
      await client.subscribe(name, { retry: { ...quick, attempts: 2 } }, () => {
        attempts++;
        throw new Error("no stock");
      });
      await expect(client.request(name, 1)).rejects.toMatchObject({
        code: "REFUSED",
        message: `the request to '${name}' failed: the handler failed: no stock`,
      });
      expect(attempts).toBe(2);
    });

    it("A client that drains rejects the requests that wait, refuses further ones, and still publishes for the handlers that run", async () => {
      const client = await connected(backend);
      const [asked, other] = [await fresh(), await fresh()];
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
      const refused = expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
      await begun.opened;
      const closing = client.close();
      await refused;
      finish.open();
      await closing;
      expect(results).toEqual([
        expect.objectContaining({
          code: "CLOSED",
          message: `the request to '${asked}' was not sent: the application ends, and takes no replies`,
        }),
        { id: expect.any(String) },
      ]);
      await expect(client.publish(other, 1)).rejects.toMatchObject({ code: "CLOSED" });
    });

    it("A request without a reply in time rejects, and a late reply is dropped", async () => {
      const client = await open();
      const name = await fresh();
      const late = gate();
      const consumer = await client.subscribe(name, {}, async () => {
        await late.opened;
        return 1;
      });
      await expect(client.request(name, 1, { timeout: 0.3 })).rejects.toMatchObject({ code: "TIMEOUT" });
      late.open();
      await until(() => consumer.stats().results.done === 1);
      const other = await fresh();
      await client.subscribe(other, {}, () => "in time");
      expect(await client.request(other, 1)).toBe("in time");
    });
  });
}

/** Transactions: cases for brokers that have them. */
export function transactionContract(name: string, backend: Backend): void {
  describe(`transactions on ${name}`, () => {
    const open = clients(backend);
    const fresh = async (): Promise<string> => {
      const chosen = uniqueTopic();
      await backend.prepare?.(chosen);
      return chosen;
    };

    it("The messages of a transaction are all published when it ends, and none if it throws", async () => {
      const client = await open();
      const [one, two] = [await fresh(), await fresh()];
      const seen: unknown[] = [];
      for (const topic of [one, two]) await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
      const failing = client.transaction(async (tx) => {
        await tx.publish(one, "never");
        throw new Error("changed my mind");
      });
      await expect(failing).rejects.toThrow("changed my mind");
      const result = await client.transaction(async (tx) => {
        await tx.publish(one, "a", { key: "k" });
        await tx.publishBatch(two, [{ value: "b" }, { value: "c" }]);
        return "done";
      });
      expect(result).toBe("done");
      await until(() => seen.length === 3);
      expect(seen.toSorted()).toEqual(["a", "b", "c"]);
    });

    it("A transaction that has ended takes no further messages", async () => {
      const client = await open();
      const name = await fresh();
      let late = async (): Promise<unknown> => null;
      await client.transaction(async (tx) => {
        late = () => tx.publish(name, 1);
      });
      await expect(late()).rejects.toMatchObject({ code: "CLOSED" });
    });

    it("A transactional handler publishes and marks its messages as handled together: an attempt that fails publishes nothing", async () => {
      const [client, other] = [await open(), await open()];
      const [input, output] = [await fresh(), await fresh()];
      const out: number[] = [];
      await other.subscribe(output, { group: "out" }, ({ value }) => void out.push(value as number));
      const attempts: string[] = [];
      const options = { transactional: true, batch: 4, retry: quick } as const;
      const consumer = await client.subscribe(input, options, async (messages, { tx }) => {
        for (const message of messages) await tx.publish(output, (message.value as number) * 10, { key: "k" });
        attempts.push(messages.map(({ value, attempt }) => `${value}:${attempt}`).join());
        if (messages.some(({ attempt, value }) => value === 2 && attempt === 1)) throw new Error("once");
      });
      for (const value of [0, 1, 2, 3, 4, 5]) await client.publish(input, value, { key: "k" });
      await until(() => new Set(out).size === 6);
      expect(out).toEqual([0, 10, 20, 30, 40, 50]);
      expect(attempts.some((text) => text.includes("2:2"))).toBe(true);
      await until(async () => (await consumer.lag()) === 0);
      await until(() => consumer.stats().results.done === 6);
    });

    it("One message that fails every transaction of its batch is the only dead letter, and the results of the others are published once", async () => {
      const client = await open();
      const [input, output] = [await fresh(), await fresh()];
      const out: unknown[] = [];
      await client.subscribe(output, { group: "out" }, ({ value }) => void out.push(value));
      const options = { transactional: true, batch: 4, retry: { ...quick, attempts: 2 } } as const;
      const consumer = await client.subscribe(input, options, async (messages, { tx }) => {
        for (const { value } of messages) await tx.publish(output, value, { key: "k" });
        if (messages.some(({ value }) => value === "bad")) throw new Error("bad");
      });
      const entries = ["one", "bad", "two", "three"].map((value) => ({ value, key: "k" }));
      await client.publishBatch(input, entries);
      await until(() => consumer.stats().results.done === 3 && consumer.stats().results.dead === 1);
      await until(() => out.length === 3);
      expect(out).toEqual(["one", "two", "three"]);
      expect(await client.deadLetters.list(input)).toMatchObject([{ text: '"bad"', reason: "failed" }]);
    });

    it("A message that a transactional handler cannot handle is a dead letter after its attempts, and those after it go on", async () => {
      const client = await open();
      const [input, output] = [await fresh(), await fresh()];
      const out: unknown[] = [];
      await client.subscribe(output, { group: "out" }, ({ value }) => void out.push(value));
      const options = { transactional: true, retry: { ...quick, attempts: 2 } } as const;
      await client.subscribe(input, options, async (message, { tx }) => {
        await tx.publish(output, message.value);
        if (message.value === "bad") throw new Error("bad");
      });
      for (const value of ["good", "bad", "better"]) await client.publish(input, value, { key: "k" });
      await until(() => out.includes("better"));
      expect(out).toEqual(["good", "better"]);
      expect(await client.deadLetters.list(input)).toMatchObject([{ text: '"bad"', reason: "failed", attempts: 2 }]);
    });
  });
}
