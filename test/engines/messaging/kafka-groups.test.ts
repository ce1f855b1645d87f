import { Consumer, compatibilityPartitioner, Producer, ProtocolError } from "@platformatic/kafka";
import { createKafkaBroker, type Message, type Messaging } from "stoa/messaging";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GroupOffsets } from "../../../src/engines/messaging/kafka/group/group-offsets.js";
import { Joining } from "../../../src/engines/messaging/kafka/group/joining.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { clients, gate, uniqueTopic, until } from "./harness.js";

const address = service("kafka");

describe.skipIf(!address)("Groups of Kafka", () => {
  const settings = { brokers: [address!], groupId: uniqueTopic("group"), sessionTimeout: 6 };
  const open = clients({ connect: () => createKafkaBroker(settings) });
  const openWide = clients({ connect: () => createKafkaBroker({ ...settings, partitions: 12 }) });
  // A third of the session is the time that handlers get.
  const openPatient = clients({ connect: () => createKafkaBroker({ ...settings, sessionTimeout: 300 }) });

  async function publish(client: Messaging, name: string, total: number, keys = 20): Promise<void> {
    for (let value = 0; value < total; value += 100) {
      const entries = Array.from({ length: Math.min(100, total - value) }, (_, i) => {
        return { value: value + i, key: `k${(value + i) % keys}` };
      });
      await client.publishBatch(name, entries);
    }
  }

  it("No message is lost when a consumer joins and leaves a group, and only those whose handlers run can be handled twice", async () => {
    const [first, second] = [await open(), await open()];
    const name = uniqueTopic();
    const seen: number[] = [];
    const options = { concurrency: 4, prefetch: 8 };
    const slow = async ({ value }: Message) => {
      await new Promise((resolve) => setTimeout(resolve, 3));
      seen.push(value as number);
    };
    await first.subscribe(name, options, slow);
    const total = 300;
    const publishing = (async () => {
      for (let value = 0; value < total; value += 10) {
        const entries = Array.from({ length: 10 }, (_, i) => ({ value: value + i, key: `k${(value + i) % 20}` }));
        await first.publishBatch(name, entries);
      }
    })();
    const joined = await second.subscribe(name, options, slow);
    await publishing;
    await joined.close();
    await until(() => new Set(seen).size === total);
    // The group has changed twice.
    expect(seen.length).toBeLessThanOrEqual(total + 2 * options.concurrency);
  });

  /** The consumers of the library, in the order in which they first join. */
  function members(): { readonly all: () => Consumer[]; readonly partitionsOf: (member: Consumer) => number[] } {
    const joined = vi.spyOn(Consumer.prototype, "joinGroup");
    onTestFinished(() => joined.mockRestore());
    return {
      all: () => [...new Set(joined.mock.contexts as Consumer[])],
      partitionsOf: ({ assignments }) => (assignments?.[0]?.partitions ?? []).toSorted((a, b) => a - b),
    };
  }

  /** A key whose messages are in this partition. */
  function keyOf(partition: number, partitions: number): string {
    for (let number = 0; ; number++) {
      const key = `key-${number}`;
      if (compatibilityPartitioner({} as never, Buffer.from(key)) % partitions === partition) return key;
    }
  }

  it("A fourth member takes over the partitions that the others have above their part, and nothing else moves", async () => {
    const group = uniqueTopic("fourth");
    const { all, partitionsOf } = members();
    const [name, seen] = [uniqueTopic(), new Map<number, number>()];
    const options = { group, concurrency: 4, prefetch: 20 };
    const handler = async ({ value }: Message) => {
      seen.set(value as number, (seen.get(value as number) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 2));
    };
    for (let number = 0; number < 3; number++) await (await openWide()).subscribe(name, options, handler);
    const sizes = () => all().map((member) => partitionsOf(member).length);
    await until(() => sizes().join() === "4,4,4", "three members have four partitions each");
    const before = all().map(partitionsOf);
    const publisher = await openWide();
    let [count, running] = [0, true];
    const publishing = (async () => {
      for (; running; count += 20) {
        const entries = Array.from({ length: 20 }, (_, i) => ({ value: count + i, key: `k${(count + i) % 100}` }));
        await publisher.publishBatch(name, entries);
      }
    })();
    await until(() => seen.size > 100, "messages are handled");
    await (await openWide()).subscribe(name, options, handler);
    await until(() => sizes().join() === "3,3,3,3", "four members have three partitions each");
    const handled = seen.size;
    await until(() => seen.size > handled + 100, "messages are handled");
    running = false;
    await publishing;
    await until(() => seen.size === count, "all messages are handled");
    for (const [place, partition] of before.entries())
      expect(partition).toEqual(expect.arrayContaining(partitionsOf(all()[place]!)));
    expect([...seen.values()].filter((times) => times > 1).length).toBeLessThanOrEqual(options.concurrency);
  });

  it("Partitions that stay are handled while one that moves waits for its handler, and its other messages go to the next owner once", async () => {
    const [first, second] = [await openPatient(), await openPatient()];
    const [name, group] = [uniqueTopic(), uniqueTopic("moving")];
    const { all, partitionsOf } = members();
    const held = gate();
    const seen: string[] = [];
    const handlerOf =
      (who: string) =>
      async ({ value }: Message) => {
        seen.push(`${who} ${value}`);
        if (value === "held") await held.opened;
      };
    await first.subscribe(name, { group }, handlerOf("first"));
    const member = all()[0]!;
    expect(partitionsOf(member)).toEqual([0, 1, 2]);
    await first.publish(name, "held", { key: keyOf(2, 3) });
    await until(() => seen.length === 1);
    await second.subscribe(name, { group }, handlerOf("second"));
    await until(() => partitionsOf(member).join() === "0,1", "the group has taken a partition away");
    const entries = [0, 1, 2].map((partition) => ({ value: `in ${partition}`, key: keyOf(partition, 3) }));
    await first.publishBatch(name, entries);
    await until(() => seen.length === 3, "partitions that stay are handled");
    expect(seen.toSorted()).toEqual(["first held", "first in 0", "first in 1"]);
    expect(partitionsOf(all()[1]!)).toEqual([]);
    held.open();
    await until(() => seen.length === 4, "the partition that moved is handled");
    expect(seen.at(-1)).toBe("second in 2");
    expect(partitionsOf(member)).toEqual([0, 1]);
  });

  it("A group uses the protocol that all members know: with a member that knows no other it stops all work before it is shared", async () => {
    const [first, second] = [await open(), await open()];
    const [name, group] = [uniqueTopic(), uniqueTopic("mixed")];
    const shared = vi.spyOn(Joining.prototype, "shared");
    onTestFinished(() => shared.mockRestore());
    /** For each of our members. */
    const isCooperative = () => [...new Set(shared.mock.contexts as Joining[])].map((each) => each.isCooperative);
    const { all, partitionsOf } = members();
    const seen: unknown[] = [];
    const handler = ({ value }: Message) => void seen.push(value);
    await first.subscribe(name, { group }, handler);
    expect(isCooperative()).toEqual([true]);
    const old = new Consumer({ clientId: "old", bootstrapBrokers: [address!], groupId: group, heartbeatInterval: 500 });
    old.topics.track(name);
    await old.joinGroup({});
    await until(() => partitionsOf(all()[0]!).length < 3, "the partitions are shared");
    expect(isCooperative()).toEqual([false]);
    await second.subscribe(name, { group }, handler);
    await until(() => all().every((member) => partitionsOf(member).length === 1), "each has one");
    expect(isCooperative()).toEqual([false, false]);
    await old.leaveGroup();
    await until(() => isCooperative().join() === "true,true", "the group is cooperative again");
    await old.close();
    await publish(first, name, 60, 60);
    await until(() => seen.length === 60);
    expect(new Set(seen).size).toBe(60);
  });

  it("While the group takes no commits, no further messages are taken: a process that ends then doubles no more than its prefetch", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: unknown[] = [];
    const original = GroupOffsets.prototype.commit;
    const refused = vi.spyOn(GroupOffsets.prototype, "commit");
    onTestFinished(() => refused.mockRestore());
    await client.subscribe(name, { group: name, concurrency: 1, prefetch: 2 }, ({ value }) => void seen.push(value));
    refused.mockClear();
    refused.mockImplementation(async () => {
      throw new ProtocolError("REBALANCE_IN_PROGRESS");
    });
    await publish(client, name, 100);
    // The next tries come once a second.
    await until(() => refused.mock.calls.length >= 10);
    expect(seen.length).toBeLessThan(8);
    refused.mockImplementation(original);
    await until(() => seen.length === 100);
    expect(new Set(seen).size).toBe(100);
  });

  it("Messages that are done behind one that is not are not handled again by the next owners of their partitions", async () => {
    const [first, second] = [await open(), await open()];
    const name = uniqueTopic();
    const stuck = gate();
    const seen = new Map<number, number>();
    const handler = async ({ value }: Message) => {
      seen.set(value as number, (seen.get(value as number) ?? 0) + 1);
      // The first message of each partition, at least.
      if ((value as number) < 20) await stuck.opened;
    };
    const options = { concurrency: 40, prefetch: 100 };
    const consumer = await first.subscribe(name, options, handler);
    const total = 420;
    await publish(first, name, total, 420);
    await until(() => seen.size === total);
    await second.subscribe(name, options, handler);
    stuck.open();
    await consumer.close();
    await until(async () => (await second.consumers[0]!.lag()) === 0);
    const twice = [...seen].filter(([, times]) => times > 1).map(([value]) => value);
    expect(twice.filter((value) => value >= 20)).toEqual([]);
  });

  it("A member that joins while a transaction is being committed does not handle its messages again", async () => {
    const [first, second, reader] = [await open(), await open(), await open()];
    const [input, output] = [uniqueTopic("in"), uniqueTopic("out")];
    const out: number[] = [];
    await reader.subscribe(output, { group: uniqueTopic("out") }, ({ value }) => void out.push(value as number));
    const begin = Producer.prototype.beginTransaction as (...args: unknown[]) => Promise<{ commit(): Promise<void> }>;
    const committing = gate();
    const begun = vi.spyOn(Producer.prototype, "beginTransaction").mockImplementation(async function (
      this: unknown,
      ...args: unknown[]
    ) {
      const transaction = await begin.apply(this, args);
      const commit = transaction.commit.bind(transaction);
      transaction.commit = async () => {
        const wait = !committing.passed;
        committing.open();
        // Longer than the member lets the others wait for it.
        if (wait) await new Promise((resolve) => setTimeout(resolve, 4000));
        await commit();
      };
      return transaction;
    } as never);
    onTestFinished(() => begun.mockRestore());
    const options = { transactional: true, batch: 50, prefetch: 100, retry: { delay: 0.05, jitter: 0 } } as const;
    const copy = async (
      messages: readonly Message[],
      { tx }: { readonly tx: { publish(topic: string, value: unknown): Promise<unknown> } },
    ) => {
      for (const { value } of messages) await tx.publish(output, value);
    };
    const total = 300;
    await publish(first, input, total);
    await first.subscribe(input, options, copy);
    await committing.opened;
    await second.subscribe(input, options, copy);
    await until(() => new Set(out).size === total);
    await until(async () => (await second.consumers[0]!.lag()) === 0);
    expect(out).toHaveLength(total);
  });

  /** A consumer whose group waits for a member that is dead, since another one joins. */
  async function waiting() {
    const [first, second] = [await open(), await open()];
    const [name, group] = [uniqueTopic(), uniqueTopic("waiting")];
    const { all, partitionsOf } = members();
    const seen: unknown[] = [];
    await first.subscribe(name, { group }, ({ value }) => void seen.push(value));
    const member = all()[0]!;
    await until(() => member.lastHeartbeat !== null, "the group has heard of the consumer");
    // It gives no sign of life, and its session ends in a minute.
    const times = { sessionTimeout: 60_000, rebalanceTimeout: 60_000, heartbeatInterval: 59_000 };
    const dead = new Consumer({ clientId: "dead", bootstrapBrokers: [address!], groupId: group, ...times });
    dead.topics.track(name);
    await dead.joinGroup({});
    await until(() => partitionsOf(member).length !== 3, "the partitions are shared");
    const changing = new Promise<void>((resolve) => member.once("consumer:group:rebalance" as never, resolve as never));
    const state = { joined: false };
    const joining = second.subscribe(name, { group }, () => {}).then(() => void (state.joined = true));
    await changing;
    const publishSome = () => publish(first, name, 30, 30);
    const end = async () => {
      await dead.leaveGroup();
      await joining;
      await dead.close();
    };
    return { seen, all, state, publishSome, end };
  }

  it("A consumer works on while its group waits for a member that is dead", async () => {
    const { seen, state, publishSome, end } = await waiting();
    await publishSome();
    await until(() => seen.length > 0, "a message is handled");
    expect(state.joined).toBe(false);
    await end();
  });

  it.runIf(isLong)(
    "A consumer keeps its partitions while its group waits for longer than a session and a request",
    async () => {
      const { seen, all, state, publishSome, end } = await waiting();
      const start = performance.now();
      // The session is 6 seconds, and requests have 30.
      while (performance.now() - start < 40_000) {
        const before = seen.length;
        await publishSome();
        await until(() => seen.length > before, "a message is handled");
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
      expect(state.joined).toBe(false);
      await end();
      // A consumer that lost its partitions would have begun again as a new member.
      expect(all()).toHaveLength(3);
    },
    120_000,
  );

  it("A message that waits for its next attempt holds up those of its key alone, in the order of the key", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: number[] = [];
    let waits = true;
    const total = 6000;
    await client.subscribe(name, { retry: { attempts: 1000, delay: 0.2, factor: 1, jitter: 0 } }, ({ value }) => {
      if (value === 0 && waits) throw new Error("not yet");
      seen.push(value as number);
    });
    await publish(client, name, total);
    await until(() => seen.length === total - total / 20);
    expect(seen.filter((value) => value % 20 === 0)).toEqual([]);
    waits = false;
    await until(() => seen.length === total);
    expect(seen.filter((value) => value % 20 === 0)).toEqual(Array.from({ length: total / 20 }, (_, n) => n * 20));
    for (let key = 1; key < 20; key++) {
      const ofKey = seen.filter((value) => value % 20 === key);
      expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
    }
  });
});
