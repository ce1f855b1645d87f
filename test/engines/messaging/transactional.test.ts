import { MemoryBroker, type Messaging, type MessagingError, openMessaging, topic } from "stoa/messaging";
import { afterEach, expect, it } from "vitest";
import type { ConsumeRequest, Delivery, DeliverySink, OutgoingRecord } from "../../../src/engines/messaging/broker.js";
import { Partition } from "../../../src/engines/messaging/kafka/partition.js";
import { quiet } from "../../patterns/events/stores.js";
import { gate, until } from "./harness.js";

const opened: Messaging[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
});
async function open(broker = new MemoryBroker()): Promise<Messaging> {
  const client = await openMessaging(broker, { logger: quiet });
  opened.push(client);
  return client;
}

/** A broker that can take a delivery away, as Kafka does when a group shares its partitions again. */
class SharingBroker extends MemoryBroker {
  readonly committed: string[][] = [];
  sink: DeliverySink | null = null;
  readonly deliveries = new Map<string, Delivery>();

  override consume(request: ConsumeRequest, sink: DeliverySink) {
    this.sink = sink;
    return super.consume(request, {
      ...sink,
      deliver: (delivery) => {
        this.deliveries.set(new TextDecoder().decode(delivery.record.body), delivery);
        sink.deliver(delivery);
      },
    });
  }

  override async transact(records: readonly OutgoingRecord[], deliveries: readonly Delivery[]): Promise<void> {
    await super.transact(records, deliveries);
    this.committed.push(deliveries.map(({ record }) => new TextDecoder().decode(record.body)));
  }
}

it("When one message of a transactional batch goes to another consumer, the others of the batch are handled again here", async () => {
  const broker = new SharingBroker();
  const client = await open(broker);
  const calls: unknown[][] = [];
  const first = gate();
  const options = { transactional: true, batch: 2, retry: { delay: 0.01, jitter: 0 } } as const;
  const consumer = await client.subscribe("shared", options, async (messages) => {
    calls.push(messages.map(({ value }) => value));
    await first.opened;
  });
  await client.publishBatch("shared", [{ value: 1 }, { value: 2 }, { value: 3 }]);
  await until(() => calls.length === 1 && broker.deliveries.size >= 2);
  broker.sink!.lost(broker.deliveries.get("2")!);
  first.open();
  await until(() => broker.committed.flat().includes("3"));
  expect(broker.committed.flat()).toEqual(["1", "3"]);
  await until(() => consumer.stats().results.done === 2);
  expect(consumer.stats().results.lost).toBe(1);
});

it("A partition knows that a message before the offsets of a transaction is not part of it", () => {
  const partition = new Partition(0n);
  const [first, second, third, fourth] = [0n, 1n, 2n, 3n].map((offset) => ({ offset, over: false }));
  for (const entry of [first!, second!, third!, fourth!]) partition.add(entry);
  partition.done(first!);
  expect(partition.isGapless(new Set([third!, fourth!]))).toBe(false);
  expect(partition.isGapless(new Set([second!, third!]))).toBe(true);
  partition.done(third!);
  expect(partition.isGapless(new Set([second!, fourth!]))).toBe(true);
});

it("A request to a transactional handler gets its reply when the transaction is committed", async () => {
  const client = await open();
  const prices = topic("tx-prices");
  const order: string[] = [];
  await client.subscribe("receipts", {}, () => void order.push("receipt"));
  await client.subscribe(prices, { transactional: true, retry: false }, async (message, { tx }) => {
    await tx.publish("receipts", 1);
    if (message.value === "rejected") message.reject("no");
    if (message.value === "fails") throw new Error("no price");
    return { price: message.value };
  });
  expect(await client.request(prices, 7, { timeout: 60 })).toEqual({ price: 7 });
  const refused = { code: "REFUSED" } satisfies Partial<MessagingError>;
  await expect(client.request(prices, "rejected", { timeout: 60 })).rejects.toMatchObject(refused);
  await expect(client.request(prices, "fails", { timeout: 60 })).rejects.toMatchObject(refused);
});

it("A batch handler sends no reply, so that of another group is the one that counts", async () => {
  const client = await open();
  await client.subscribe("asked", { group: "batches", batch: 10 }, () => "ignored");
  const answer = gate();
  await client.subscribe("asked", { group: "singles" }, async () => {
    await answer.opened;
    return "reply";
  });
  const reply = client.request("asked", 1, { timeout: 60 });
  await until(() => client.consumers.some((one) => one.group === "batches" && one.stats().results.done === 1));
  answer.open();
  expect(await reply).toBe("reply");
});
