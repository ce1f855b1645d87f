import { MemoryBroker } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import type { ConsumeRequest, Delivery, DeliverySink } from "../../../src/engines/messaging/broker.js";
import { LogBrokerConfig } from "../../../src/engines/messaging/kafka/config.js";
import { KafkaBroker } from "../../../src/engines/messaging/kafka/kafka-broker.js";
import { type KafkaLibrary, loadKafka } from "../../../src/engines/messaging/kafka/library.js";
import { service } from "../../support/service.js";
import { clients, uniqueTopic, until } from "./harness.js";

/** A broker that applies the first acknowledgement and reports an error all the same. */
class UnsureBroker extends MemoryBroker {
  failures = 1;

  override consume(request: ConsumeRequest, sink: DeliverySink) {
    const deliver = (delivery: Delivery) => {
      const ack = async () => {
        await delivery.ack();
        if (this.failures-- > 0) throw new Error("no reply in time");
      };
      sink.deliver({ ...delivery, ack });
    };
    return super.consume(request, { ...sink, deliver });
  }
}

describe("An acknowledgement that was applied and reported an error", () => {
  const open = clients({ connect: () => new UnsureBroker() });

  it("A message whose acknowledgement was applied but failed is handled once, is no dead letter, and those after it continue", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    for (const value of [1, 2, 3]) await client.publish(name, value, { key: "k" });
    await until(() => consumer.stats().results.done === 2);
    expect(seen).toEqual([1, 2, 3]);
    expect(consumer.stats()).toMatchObject({ held: 0, results: { lost: 1, dead: 0 } });
    expect(await client.deadLetters.list(name)).toEqual([]);
  });
});

const kafka = service("kafka");
describe.skipIf(!kafka)("Commits of Kafka that were applied and reported an error", () => {
  /** Calls of the library that are made, and fail after that: as many as are counted here. */
  const failures = { commit: 0, transaction: 0 };
  const open = clients({
    connect: async () => {
      const library = unsure(await loadKafka());
      return new KafkaBroker(library, new LogBrokerConfig({ brokers: [kafka!], groupId: uniqueTopic("unsure") }));
    },
  });

  it("Offsets that were committed though the commit failed are not handled again, and no message is lost or a dead letter", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    failures.commit = 4;
    await client.publish(name, 1, { key: "k" });
    await until(() => failures.commit === 0 && !consumer.connected, "the commit fails");
    await until(() => consumer.connected, "the consumer is connected again");
    await client.publish(name, 2, { key: "k" });
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 2]);
    await until(async () => (await consumer.lag()) === 0);
    expect(await client.deadLetters.list(name)).toEqual([]);
  });

  it("A transaction that was committed though the commit failed has its effect once, and its messages are not handled again", async () => {
    const client = await open();
    const [input, output] = [uniqueTopic(), uniqueTopic()];
    const out: unknown[] = [];
    await client.subscribe(output, { group: uniqueTopic("out") }, ({ value }) => void out.push(value));
    const calls: unknown[] = [];
    await client.subscribe(input, { transactional: true }, async ({ value }, { tx }) => {
      calls.push(value);
      await tx.publish(output, value, { key: "k" });
    });
    failures.transaction = 1;
    await client.publish(input, 1, { key: "k" });
    await until(() => failures.transaction === 0, "the commit fails");
    await client.publish(input, 2, { key: "k" });
    await until(() => out.includes(2));
    expect(out).toEqual([1, 2]);
    expect(calls).toEqual([1, 2]);
    expect(await client.deadLetters.list(input)).toEqual([]);
  });

  function unsure(library: KafkaLibrary): KafkaLibrary {
    const { api } = library.offsetCommitV9;
    const commitOffsets: KafkaLibrary["offsetCommitV9"]["api"] = {
      async async(connection, ...request) {
        const response = await api.async(connection, ...request);
        const [{ partitions }] = request[4] as [{ partitions: { committedOffset: bigint }[] }];
        // The first commits are those of the place where the group begins.
        if (partitions.some(({ committedOffset }) => committedOffset > 0n)) fail("commit");
        return response;
      },
    };
    class Producer extends library.Producer {
      override async beginTransaction() {
        const transaction = await super.beginTransaction();
        const commit = transaction.commit.bind(transaction);
        transaction.commit = async () => {
          await commit();
          fail("transaction");
        };
        return transaction;
      }
    }
    return { ...library, offsetCommitV9: { api: commitOffsets }, Producer };
  }

  function fail(what: keyof typeof failures): void {
    if (failures[what] === 0) return;
    failures[what]--;
    throw new Error("the connection broke before the reply");
  }
});
