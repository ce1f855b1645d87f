import { MemoryBroker } from "stoa/messaging";
import { expect, it } from "vitest";
import { clients, uniqueTopic, until } from "./harness.js";

const open = clients({ connect: () => new MemoryBroker() });

it("Messages that are handled alone after their batch has failed do not wait until a batch is full, and come one at a time", async () => {
  const client = await open();
  const name = uniqueTopic();
  const batches: string[][] = [];
  // The wait is longer than the test.
  const options = { batch: { size: 3, wait: 60 }, retry: false } as const;
  const consumer = await client.subscribe(name, options, (messages) => {
    batches.push(messages.map(({ value, attempt }) => `${value}:${attempt}`));
    if (messages.some(({ value }) => value === "bad")) throw new Error("bad");
  });
  const entries = ["one", "bad", "two"].map((value) => ({ value, key: "k" }));
  await client.publishBatch(name, entries);
  await until(() => consumer.stats().results.dead === 1 && consumer.stats().results.done === 2);
  expect(batches).toEqual([["one:1", "bad:1", "two:1"], ["one:2"], ["bad:2"], ["two:2"]]);
});

it("An error that cannot be retried ends the attempts of a batch, and each of its messages is handled alone", async () => {
  const client = await open();
  const name = uniqueTopic();
  const batches: unknown[][] = [];
  const retry = { attempts: 5, when: (error: unknown) => !(error instanceof TypeError) };
  const consumer = await client.subscribe(name, { batch: 2, retry }, (messages) => {
    batches.push(messages.map(({ value }) => value));
    if (messages.some(({ value }) => value === 2)) throw new TypeError("never");
  });
  await client.publishBatch(name, [{ value: 1 }, { value: 2 }]);
  await until(() => consumer.stats().results.dead === 1 && consumer.stats().results.done === 1);
  expect(batches).toEqual([[1, 2], [1], [2]]);
});

it("A message for which the handler of a failed batch chose a result is not handled alone", async () => {
  const client = await open();
  const name = uniqueTopic();
  const calls: unknown[][] = [];
  const consumer = await client.subscribe(name, { batch: 3, retry: false }, (messages) => {
    calls.push(messages.map(({ value }) => value));
    messages.find(({ value }) => value === "handled")?.ack();
    messages.find(({ value }) => value === "unwanted")?.deadLetter("unwanted");
    if (messages.length > 1) throw new Error("too many");
  });
  await client.publishBatch(name, [{ value: "handled" }, { value: "unwanted" }, { value: "other" }]);
  await until(() => consumer.stats().results.dead === 1 && consumer.stats().results.done === 2);
  expect(calls).toEqual([["handled", "unwanted", "other"], ["other"]]);
  expect(await client.deadLetters.list(name)).toMatchObject([{ reason: "handler", error: "unwanted" }]);
});

it("Dead letters are found by their ids, up to a limit", async () => {
  const client = await open();
  const name = uniqueTopic();
  const consumer = await client.subscribe(name, { retry: false }, () => {
    throw new Error("never");
  });
  await client.publishBatch(name, [{ value: 1 }, { value: 2 }, { value: 3 }]);
  await until(() => consumer.stats().results.dead === 3);
  const [, second] = await client.deadLetters.list(name, { limit: 2 });
  expect(await client.deadLetters.list(name, { ids: [second!.id] })).toEqual([second]);
  expect(await client.deadLetters.list(name, { limit: 2 })).toHaveLength(2);
});
