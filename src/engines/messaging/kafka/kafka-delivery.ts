import type { Delivery, IncomingRecord } from "../broker.js";
import type { MessagingError } from "../errors.js";
import type { KafkaTransaction } from "./library.js";
import type { Partition, PartitionEntry } from "./partition.js";
import { identityOf, placeAttributes } from "./records.js";

/** The consumer of a delivery. */
export interface DeliveryOwner {
  ack(delivery: KafkaDelivery): void;
  release(delivery: KafkaDelivery): void;
  /** The message waits for its next attempt. */
  wait(delivery: KafkaDelivery): void;
  /** Makes the offsets after these deliveries part of a transaction. */
  addTo(transaction: KafkaTransaction, deliveries: readonly KafkaDelivery[]): Promise<void>;
  /** The transaction to which deliveries were added has ended without effect. */
  aborted(): void;
  /** These deliveries are done: a transaction has moved the offsets of the group. */
  transacted(deliveries: readonly KafkaDelivery[]): void;
  /** Ends with an error, so that another one begins at the offsets of the group. */
  restart(error: unknown): void;
}

/** A message of a partition. It knows its place itself: a weak map of the deliveries would cost the garbage collector too much. */
export class KafkaDelivery implements Delivery, PartitionEntry {
  /** Counted for messages that are handled alone, since they may have killed a process. */
  earlier = 0;
  readonly unreadable: MessagingError | undefined;
  /** True if the delivery has its result, or is not ours any more. Set by the partition. */
  over = false;

  constructor(
    readonly record: IncomingRecord,
    readonly owner: DeliveryOwner,
    /** The partition as it was at the delivery. */
    readonly partition: Partition<KafkaDelivery>,
    readonly number: number,
    readonly offset: bigint,
    unreadable?: MessagingError,
  ) {
    this.unreadable = unreadable;
  }

  get identity(): string {
    return identityOf(this.number, this.offset, this.record);
  }

  get spanAttributes(): Record<string, string | number> {
    return placeAttributes(this.number, this.offset);
  }

  ack(): void {
    this.owner.ack(this);
  }

  wait(): void {
    this.owner.wait(this);
  }

  async release(): Promise<void> {
    this.owner.release(this);
  }
}
