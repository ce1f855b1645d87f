import { startFauxqs } from "fauxqs";
import { createAmqpBroker, createSqsBroker, MemoryBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Parked } from "../../../src/engines/messaging/parked.js";
import { service } from "../../support/service.js";
import { type Backend, clients, gate, uniqueTopic, until } from "./harness.js";

const url = service("rabbitmq");

interface Item {
  readonly key: string | null;
  readonly bytes?: number;
}

describe("Messages that wait for their next attempt", () => {
  const parkedOf = () => {
    const open = new Set<Item>();
    const parked = new Parked<Item>({ keyOf: ({ key }) => key, bytesOf: ({ bytes = 1 }) => bytes, open: () => open });
    const add = (item: Item) => {
      open.add(item);
      parked.add(item);
      return item;
    };
    const settle = (item: Item) => {
      open.delete(item);
      parked.settled(item);
    };
    return { parked, add, settle };
  };

  it("Those of a key behind one that waits take up no room until it has its result", () => {
    const { parked, add, settle } = parkedOf();
    const [first] = [add({ key: "a" }), add({ key: "a" }), add({ key: "b" })];
    parked.wait(first!);
    expect(parked.size).toBe(2);
    add({ key: "a" });
    parked.wait(add({ key: null }));
    expect(parked.size).toBe(4);
    settle(first!);
    expect(parked.size).toBe(1);
  });

  it("At most 2000 of them, or 16 MiB, take up no room, and each that ends leaves its place to another", () => {
    const { parked, add, settle } = parkedOf();
    const all = Array.from({ length: 2001 }, (_, number) => add({ key: `${number}` }));
    for (const item of all) parked.wait(item);
    expect([parked.size, parked.hasRoom]).toEqual([2000, false]);
    for (const item of all) settle(item);
    expect([parked.size, parked.hasRoom]).toEqual([0, true]);
    // Nothing is left of one that found no place.
    add({ key: "2000" });
    expect(parked.size).toBe(0);
    parked.wait(add({ key: "large", bytes: 16 * 1024 * 1024 }));
    expect(parked.hasRoom).toBe(false);
  });
});

describe("Keys that fail, of the memory broker", () => continues({ connect: () => new MemoryBroker() }));

describe.skipIf(!url)("Keys that fail, of RabbitMQ", () => {
  describe("quorum queue", () => continues({ connect: () => createAmqpBroker({ url: url! }) }));
  describe("classic queue", () => continues({ connect: () => createAmqpBroker({ url: url!, queueType: "classic" }) }));
  describe("broadcast", () => continues({ connect: () => createAmqpBroker({ url: url! }) }, { broadcast: true }));
});

describe("Keys that fail, of SQS", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server?.stop());
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  continues(
    { connect: () => createSqsBroker({ endpoint: server.address, credentials, waitTime: 1 }) },
    { ordered: false },
  );
});

function continues(backend: Backend, { broadcast = false, ordered = true } = {}): void {
  const open = clients(backend);

  it("More keys than the prefetch wait for their next attempt, all others are handled, and each key keeps its order", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const handled: string[] = [];
    const failing = gate();
    const options = { broadcast, prefetch: 4, concurrency: 2, retry: { attempts: 100, delay: 0.2, maxDelay: 0.2 } };
    await client.subscribe(topic, options, async ({ key, value }) => {
      if (key!.startsWith("bad") && !failing.passed) throw new Error("not yet");
      handled.push(`${key} ${value}`);
    });
    const bad = Array.from({ length: 15 }, (_, key) => [1, 2].map((value) => ({ value, key: `bad${key}` }))).flat();
    const good = Array.from({ length: 50 }, (_, value) => ({ value, key: `good${value % 5}` }));
    await client.publishBatch(topic, [...bad, ...good]);
    await until(() => handled.length >= good.length, "the others are handled", 60_000);
    failing.open();
    await until(() => handled.length >= good.length + bad.length, "all are handled", 60_000);
    expect(handled).toHaveLength(good.length + bad.length);
    // Standard queues of SQS promise no order.
    if (!ordered) return;
    for (let key = 0; key < 15; key++) {
      const own = handled.filter((line) => line.startsWith(`bad${key} `));
      expect(own).toEqual([`bad${key} 1`, `bad${key} 2`]);
    }
    for (let key = 0; key < 5; key++) {
      const own = handled.filter((line) => line.startsWith(`good${key} `)).map((line) => Number(line.split(" ")[1]));
      expect(own).toEqual(own.toSorted((a, b) => a - b));
    }
  });
}
