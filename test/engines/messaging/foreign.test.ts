import {
  type Broker,
  MemoryBroker,
  MemoryHub,
  MessagingError,
  type OutgoingRecord,
  openMessaging,
} from "stoa/messaging";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { deadLetterRecord } from "../../../src/engines/messaging/consume/dead-letter.js";
import { foreignId, foreignTime } from "../../../src/engines/messaging/foreign.js";
import { silent, uniqueTopic, until } from "./harness.js";

const once = { retry: false } as const;

async function opened(hub: MemoryHub, broker: Broker = new MemoryBroker({ hub })) {
  const logger = silent();
  const client = await openMessaging(broker, { logger });
  onTestFinished(() => client.close());
  return { client, logger };
}

function recordOf(topic: string, fields: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return { topic, id: "1", key: null, headers: {}, body: Buffer.from("1"), timestamp: 1, delayMs: 0, ...fields };
}

describe("Ids and times of other programs", () => {
  it("An id is kept as it is, unless it is too long or has control characters: then its hash stands for it", () => {
    expect(foreignId("order/17 é")).toBe("order/17 é");
    expect(foreignId("x".repeat(255))).toBe("x".repeat(255));
    expect(foreignId("x".repeat(256))).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(foreignId("a\0b")).toMatch(/^sha256:/);
    expect(foreignId("a\0b")).toBe(foreignId("a\0b"));
    expect(foreignId("a\0b")).not.toBe(foreignId("a\0c"));
  });

  it("An empty id, and one that is no text, is none", () => {
    expect([foreignId(""), foreignId(undefined), foreignId(7), foreignId({})]).toEqual([null, null, null, null]);
  });

  it("A time that a Date cannot hold is none", () => {
    expect(foreignTime(1_700_000_000_000.7)).toBe(1_700_000_000_000);
    expect(foreignTime(8.64e15)).toBe(8.64e15);
    for (const odd of [0, -5, 8.64e15 + 1, Number.NaN, Number.POSITIVE_INFINITY]) expect(foreignTime(odd)).toBeNull();
  });
});

describe("Dead letters", () => {
  it.each([
    ["an object without a prototype", Object.create(null)],
    ["an error whose text is no string", Object.assign(new Error("x"), { message: { text: 1 } })],
    ["a function", () => 1],
    ["nothing", undefined],
  ])("A handler that throws %s makes one dead letter, and the next message is handled", async (_name, thrown) => {
    const { client } = await opened(new MemoryHub());
    const seen: unknown[] = [];
    const consumer = await client.subscribe("t", once, ({ value }) => {
      seen.push(value);
      if (value === 1) throw thrown;
    });
    await client.publish("t", 1);
    await client.publish("t", 2);
    await until(() => consumer.stats().results.dead === 1 && seen.includes(2));
    expect(seen).toEqual([1, 2]);
    expect(await client.deadLetters.list("t")).toHaveLength(1);
  });

  it("A dead letter that is too large for its broker keeps the beginning of its value, and cannot be sent back", async () => {
    const hub = new MemoryHub();
    const broker = new MemoryBroker({ hub });
    const publish = broker.publish.bind(broker);
    // As a topic of Kafka that takes smaller messages than the one before it.
    broker.publish = async (records) =>
      (
        await Promise.all(
          records.map(async (record) => (record.body.length > 20_000 ? [tooLarge()] : publish([record]))),
        )
      ).flat();
    const { client } = await opened(hub, broker);
    const seen: unknown[] = [];
    await client.subscribe("t", once, ({ text }) => {
      seen.push(text.length);
      if (text.length > 1) throw new Error("no");
    });
    const headers = { tenant: "a", "stoa-replays": "2" };
    hub.append(recordOf("t", { body: Buffer.alloc(50_000, "x"), key: "k", headers }));
    hub.append(recordOf("t", { id: "2", key: "k" }));
    await until(() => seen.length === 2);
    const [letter] = await client.deadLetters.list("t");
    expect(letter).toMatchObject({ cut: 50_000, reason: "failed", error: "no", topic: "t", group: "stoa", replays: 2 });
    expect(letter!.bytes).toHaveLength(10_000);
    expect(letter!.headers).toEqual({});
    expect(await client.deadLetters.replay("t")).toBe(0);
    expect(await client.deadLetters.discard("t")).toBe(1);
  });

  it("A dead letter of a transaction that is too large for the broker is cut, and the transaction continues", async () => {
    const hub = new MemoryHub();
    const { client } = await opened(hub, new MemoryBroker({ hub, maxBytes: 1000 }));
    const seen: unknown[] = [];
    await client.subscribe("t", { ...once, transactional: true, schema: z.number() }, ({ value }) => {
      seen.push(value);
    });
    hub.append(recordOf("t", { body: Buffer.alloc(5000, "x") }));
    hub.append(recordOf("t", { id: "2" }));
    await until(() => seen.length === 1);
    expect(await client.deadLetters.list("t")).toMatchObject([{ cut: 5000, reason: "invalid" }]);
  });

  it("One that nobody says the group of goes back to all groups", async () => {
    const hub = new MemoryHub();
    const { client } = await opened(hub);
    const seen: string[] = [];
    for (const group of ["a", "b"]) await client.subscribe("t", { group }, () => void seen.push(group));
    // As a queue makes it that moves messages by itself.
    hub.append(recordOf("t.dead"));
    expect(await client.deadLetters.replay("t")).toBe(1);
    await until(() => seen.length === 2);
    expect(seen.toSorted()).toEqual(["a", "b"]);
  });

  it("Two messages with one id are two dead letters, and one call discards both", async () => {
    const hub = new MemoryHub();
    const { client } = await opened(hub);
    const consumer = await client.subscribe("t", once, () => {
      throw new Error("no");
    });
    for (const text of ["1", "2"]) hub.append(recordOf("t", { id: "same", body: Buffer.from(text) }));
    await until(() => consumer.stats().results.dead === 2);
    expect((await client.deadLetters.list("t")).map(({ text }) => text)).toEqual(["1", "2"]);
    expect(await client.deadLetters.discard("t")).toBe(2);
  });

  it("A filter with a misspelt name, or whose only value is missing, discards nothing", async () => {
    const hub = new MemoryHub();
    const { client } = await opened(hub);
    hub.append(recordOf("t.dead"));
    const misspelt = { failures: "unknown: " } as object;
    await expect(client.deadLetters.discard("t", misspelt)).rejects.toThrow(
      "unknown option 'failures' in a filter of dead letters; did you mean 'failure'?",
    );
    await expect(client.deadLetters.discard("t", { limit: 0 })).rejects.toThrow("must be an integer of at least 1");
    class Lost {
      get ids(): undefined {
        return undefined;
      }
    }
    for (const lost of [null, new Lost(), { failure: null }, { ids: undefined }, { group: undefined, failure: null }]) {
      await expect(client.deadLetters.discard("t", lost as never)).rejects.toThrow("a filter without a value");
    }
    expect(await client.deadLetters.list("t", { limit: Infinity })).toHaveLength(1);
    expect(await client.deadLetters.discard("t", {})).toBe(1);
  });

  it("Times and topics that another program wrote into a dead letter do not keep it from being listed and sent back", async () => {
    const hub = new MemoryHub();
    const { client } = await opened(hub);
    const seen: unknown[] = [];
    await client.subscribe("t", {}, ({ value }) => void seen.push(value));
    hub.append(recordOf("t.dead", { headers: { "stoa-dead-at": "never", "stoa-dead-topic": "a b" } }));
    const [failure] = await client.deadLetters.failures("t");
    expect(failure!.last.toISOString()).toBe("1970-01-01T00:00:00.001Z");
    expect(await client.deadLetters.replay("t")).toBe(1);
    await until(() => seen.length === 1);
  });

  it("A count of replays that another program forged is not copied: no broker would take the dead letter, not even cut", () => {
    const headers = { "stoa-replays": "9".repeat(1_000_000), kept: "yes" };
    const record = { id: "a", key: null, headers, body: new Uint8Array(1), timestamp: 1 };
    const death = { topic: "t", group: "g", reason: "failed", error: new Error("x"), attempts: 1 } as const;
    const letter = deadLetterRecord(record, "t.dead", death);
    expect(letter.headers["stoa-replays"]).toBeUndefined();
    expect(letter.headers.kept).toBe("yes");
    const replayed = { ...record, headers: { "stoa-replays": "2" } };
    expect(deadLetterRecord(replayed, "t.dead", death).headers["stoa-replays"]).toBe("2");
  });

  it("The issues of a value with long names stay readable", async () => {
    const { client } = await opened(new MemoryHub());
    const consumer = await client.subscribe("t", { ...once, schema: z.record(z.string(), z.number()) }, () => {});
    const names = Array.from({ length: 20 }, (_, n) => `${"x".repeat(5000)}${n}`);
    await client.publish("t", Object.fromEntries(names.map((name) => [name, "no number"])));
    await until(() => consumer.stats().results.dead === 1);
    const [letter] = await client.deadLetters.list("t");
    expect(letter!.issues).toHaveLength(10);
  });
});

it("A message that asks for a reply to a place that takes none is handled, and nothing is sent there", async () => {
  const hub = new MemoryHub();
  const { client, logger } = await opened(hub);
  const consumer = await client.subscribe("t", once, () => "reply");
  for (const address of ["payments", "a b.replies", "x.replies/../y"]) {
    hub.append(recordOf("t", { headers: { "stoa-reply-to": address } }));
  }
  await until(() => consumer.stats().results.done === 3);
  await until(() => logger.lines.length === 3);
  expect(logger.lines[0]).toMatchObject({ level: "warn", message: "a reply to a message of 't' was not sent" });
  expect(hub.topics.toSorted()).toEqual(["t", "t.dead"]);
});

it("A message creates no topic by asking for a reply there", async () => {
  const hub = new MemoryHub();
  const { client, logger } = await opened(hub);
  const consumer = await client.subscribe("t", once, () => "reply");
  hub.append(recordOf("t", { headers: { "stoa-reply-to": "made-up.replies" } }));
  await until(() => consumer.stats().results.done === 1);
  await until(() => logger.lines.length === 1);
  expect(logger.lines[0]).toMatchObject({ level: "warn", message: "a reply to a message of 't' was not sent" });
  expect(hub.topics.toSorted()).toEqual(["t", "t.dead"]);
});

it("A broker that has no requests sends no replies, whatever a message asks for", async () => {
  const hub = new MemoryHub();
  const broker = new MemoryBroker({ hub });
  Object.assign(broker.abilities, { broadcast: false });
  const { client } = await opened(hub, broker);
  const consumer = await client.subscribe("t", once, () => "reply");
  hub.append(recordOf("t", { headers: { "stoa-reply-to": "x.replies" } }));
  await until(() => consumer.stats().results.done === 1);
  // A reply would have been sent before this.
  await client.publish("t", 2);
  await until(() => consumer.stats().results.done === 2);
  expect(hub.topics.toSorted()).toEqual(["t", "t.dead"]);
});

it("The trace context of another program goes on to the messages of the handler only if a header can hold it", async () => {
  const hub = new MemoryHub();
  const { client } = await opened(hub);
  const [from, to] = [uniqueTopic(), uniqueTopic()];
  const consumer = await client.subscribe(from, once, ({ value }) => client.publish(to, value).then(() => {}));
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  hub.append(recordOf(from, { headers: { traceparent, baggage: "x".repeat(100_000), tracestate: "a\nb" } }));
  await until(() => consumer.stats().results.done === 1);
  expect(hub.records(to)[0]!.headers).toEqual({ "content-type": "application/json", traceparent });
});

function tooLarge() {
  return new MessagingError("TOO_LARGE", "too large");
}
