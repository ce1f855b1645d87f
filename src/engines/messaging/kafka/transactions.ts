import { randomUUID } from "node:crypto";
import type { Delivery, OutgoingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { groupBy } from "../group-by.js";
import type { KafkaClients } from "./clients.js";
import { type DeliveryOwner, KafkaDelivery } from "./kafka-delivery.js";
import type { KafkaProducer } from "./library.js";
import { messageOf } from "./records.js";
import { requestsOf } from "./requests-of.js";

/** The most transactions that run at a time; further ones wait. Each has a producer, as Kafka wants it. */
const mostProducers = 8;

interface Member {
  /** The name by which the broker knows the transactions of a producer. A new one after a failure. */
  id: string;
  producer: KafkaProducer | null;
}

/** Runs transactions. */
export class KafkaTransactions {
  readonly #free: Member[] = [];
  readonly #waiting: ((member: Member) => void)[] = [];
  #made = 0;

  constructor(private readonly clients: KafkaClients) {}

  /** Publishes the records and moves the offsets of the group over the deliveries, all of it or nothing. */
  async run(records: readonly OutgoingRecord[], deliveries: readonly Delivery[]): Promise<void> {
    await this.clients.ensureTopics([...new Set(records.map(({ topic }) => topic))]);
    const consumers = groupsOf(deliveries);
    const member = await this.#take();
    try {
      await this.#transact(member, records, consumers);
    } finally {
      this.#give(member);
    }
    for (const [consumer, list] of consumers) consumer.transacted(list);
  }

  async close(): Promise<void> {
    await Promise.all(this.#free.splice(0).map((member) => member.producer?.close().catch(() => {})));
  }

  async #transact(
    member: Member,
    records: readonly OutgoingRecord[],
    consumers: ReadonlyMap<DeliveryOwner, readonly KafkaDelivery[]>,
  ): Promise<void> {
    let committing = false;
    const added: DeliveryOwner[] = [];
    try {
      member.producer ??= this.clients.producer(member.id);
      const transaction = await member.producer.beginTransaction();
      const { compression } = this.clients.config;
      for (const messages of requestsOf(records)) {
        await transaction.send({ messages: messages.map(messageOf), acks: -1, compression });
      }
      for (const [consumer, deliveries] of consumers) {
        await consumer.addTo(transaction, deliveries);
        added.push(consumer);
      }
      committing = true;
      await transaction.commit();
    } catch (error) {
      const known = await this.#recover(member);
      const failure = this.clients.translate(error);
      if (!committing || consumers.size === 0) {
        for (const consumer of added) consumer.aborted();
        throw failure;
      }
      // Only the group's offsets show if the commit was applied. The consumers begin again there.
      for (const consumer of consumers.keys()) consumer.restart(failure);
      const text = known ? "the commit of a transaction failed" : "the result of a transaction is unknown";
      throw new MessagingError("LOST", text, { cause: failure });
    }
  }

  /**
   * Ends a transaction that failed: a new producer of the same name has the broker finish a commit that it had begun, and
   * abort anything else. False if that was not possible; the broker then aborts it when its time is up. The name is not used
   * again: the library begins with an epoch that is over, and the broker would refuse all further transactions of the name.
   */
  async #recover(member: Member): Promise<boolean> {
    const old = member.producer;
    member.producer = null;
    old?.close(true).catch(() => {});
    const producer = this.clients.producer(member.id);
    member.id = this.#newId();
    try {
      await (await producer.beginTransaction()).abort();
      return true;
    } catch {
      return false;
    } finally {
      producer.close(true).catch(() => {});
    }
  }

  #take(): Promise<Member> {
    const free = this.#free.pop();
    if (free !== undefined) return Promise.resolve(free);
    if (this.#made < mostProducers) {
      this.#made++;
      return Promise.resolve({ id: this.#newId(), producer: null });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #newId(): string {
    return `${this.clients.config.clientId}-${randomUUID()}`;
  }

  #give(member: Member): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(member);
    else next(member);
  }
}

function groupsOf(deliveries: readonly Delivery[]): Map<DeliveryOwner, KafkaDelivery[]> {
  if (deliveries.every((delivery) => delivery instanceof KafkaDelivery))
    return groupBy(deliveries, ({ owner }) => owner);
  throw new MessagingError("LOST", "a delivery of the transaction belongs to no consumer");
}
