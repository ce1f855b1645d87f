import { MessagingError } from "../../errors.js";
import type { KafkaClientConsumer, KafkaTransaction } from "../library.js";
import type { GroupOffset } from "../partition.js";
import type { GroupOffsets } from "./group-offsets.js";
import type { Joining } from "./joining.js";

/** A consumer as a member of its group: it commits nothing that belongs to another member. */
export class Membership {
  /** The last assignment seen from the group, and this topic's partitions in it. */
  #assignments: KafkaClientConsumer["assignments"] = null;
  #partitions: readonly number[] = [];

  constructor(
    private readonly consumer: KafkaClientConsumer,
    private readonly offsets: GroupOffsets,
    /** The partitions that are not given up. */
    private readonly held: { has(partition: number): boolean },
    private readonly topic: string,
    private readonly joining: Joining,
  ) {}

  get isAlive(): boolean {
    return this.joining.isAlive;
  }

  /** The partitions that the group has given to this consumer. */
  get partitions(): readonly number[] {
    const { assignments } = this.consumer;
    // The library makes a new list for each share.
    if (assignments !== this.#assignments) {
      this.#assignments = assignments;
      this.#partitions = assignments?.find(({ topic }) => topic === this.topic)?.partitions ?? [];
    }
    return this.#partitions;
  }

  /** Commits offsets by partition. Those of partitions that now belong to others are left out. */
  async commit(given: ReadonlyMap<number, GroupOffset>): Promise<void> {
    const offsets = new Map([...given].filter(([partition]) => this.#isOurs(partition)));
    if (offsets.size === 0) return;
    this.#checkAlive();
    await this.offsets.commit(offsets);
  }

  /** Makes the offsets after these messages part of a transaction. */
  async addTo(transaction: KafkaTransaction, last: ReadonlyMap<number, bigint>): Promise<void> {
    this.#checkAlive();
    await transaction.addConsumer(this.consumer);
    for (const [partition, offset] of last) {
      if (!this.#isOurs(partition)) throw lost();
      // With the current generation: the broker refuses it after a rebalance.
      const { groupId, memberId, generationId, coordinatorId } = this.consumer;
      const metadata = { consumer: { groupId, memberId, generationId, coordinatorId } };
      await transaction.addOffset({ topic: this.topic, partition, offset, metadata });
    }
  }

  /** True also for a partition that the group has taken away, until it is given up. */
  #isOurs(partition: number): boolean {
    return this.held.has(partition) || this.partitions.includes(partition);
  }

  #checkAlive(): void {
    if (this.isAlive) return;
    throw new MessagingError("LOST", "the consumer gave no sign of life for longer than its session");
  }
}

export function lost(): MessagingError {
  return new MessagingError("LOST", "the partition now belongs to another consumer");
}
