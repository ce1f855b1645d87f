import { MessagingError } from "../errors.js";
import type { KafkaClientConsumer, KafkaTransaction } from "./library.js";

/** A consumer as a member of its group: it commits nothing that belongs to another member. */
export class Membership {
  readonly #consumer: KafkaClientConsumer;
  readonly #topic: string;
  readonly #sessionTimeout: number;
  /** The last share of the group, with the partitions of the topic in it. */
  #assignments: KafkaClientConsumer["assignments"] = null;
  #partitions: readonly number[] = [];

  constructor(consumer: KafkaClientConsumer, topic: string, sessionTimeout: number) {
    this.#consumer = consumer;
    this.#topic = topic;
    this.#sessionTimeout = sessionTimeout;
  }

  /** A process that was paused for longer than its session has lost its partitions, though it does not know it yet. */
  get isAlive(): boolean {
    const last = this.#consumer.lastHeartbeat;
    return last === null || Date.now() - last.getTime() < this.#sessionTimeout;
  }

  /** False also between the moment the group gave the partition to another and the moment that reading begins anew. */
  owns(partition: number): boolean {
    return this.isAlive && this.#isAssigned(partition);
  }

  /** Commits offsets by partition. Those of partitions that belong to others by now are left out. */
  async commit(given: ReadonlyMap<number, bigint>): Promise<void> {
    const offsets = [...given]
      .filter(([partition]) => this.#isAssigned(partition))
      .map(([partition, offset]) => ({ topic: this.#topic, partition, offset, leaderEpoch: -1 }));
    if (offsets.length === 0) return;
    this.#checkAlive();
    await this.#consumer.commit({ offsets });
  }

  /** Makes the offsets after these messages part of a transaction. */
  async addTo(transaction: KafkaTransaction, last: ReadonlyMap<number, bigint>): Promise<void> {
    this.#checkAlive();
    await transaction.addConsumer(this.#consumer);
    for (const [partition, offset] of last) {
      if (!this.#isAssigned(partition)) throw lost();
      // With the generation of now: the broker refuses it if the group has shared its partitions anew meanwhile.
      const { groupId, memberId, generationId, coordinatorId } = this.#consumer;
      const metadata = { consumer: { groupId, memberId, generationId, coordinatorId } };
      await transaction.addOffset({ topic: this.#topic, partition, offset, metadata });
    }
  }

  #isAssigned(partition: number): boolean {
    const { assignments } = this.#consumer;
    // The library makes a new list for each share.
    if (assignments !== this.#assignments) {
      this.#assignments = assignments;
      this.#partitions = assignments?.find(({ topic }) => topic === this.#topic)?.partitions ?? [];
    }
    return this.#partitions.includes(partition);
  }

  #checkAlive(): void {
    if (this.isAlive) return;
    throw new MessagingError("LOST", "the consumer gave no sign of life for longer than its session");
  }
}

export function lost(): MessagingError {
  return new MessagingError("LOST", "the partition belongs to another consumer by now");
}
