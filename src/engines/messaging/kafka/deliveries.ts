import type { DeliverySink, IncomingRecord } from "../broker.js";
import type { MessagingError } from "../errors.js";
import type { Assignment } from "./group/assignment.js";
import type { GroupCommits } from "./group/group-commits.js";
import { lost, type Membership } from "./group/membership.js";
import { type DeliveryOwner, KafkaDelivery } from "./kafka-delivery.js";
import type { KafkaTransaction } from "./library.js";
import { Suspects } from "./suspects.js";

interface DeliveriesParts {
  readonly assignment: Assignment;
  readonly membership: Membership;
  readonly commits: GroupCommits;
  readonly sink: DeliverySink;
  /** True if the consumer takes no further messages. */
  isStopped(): boolean;
  isEnded(): boolean;
  /** There may be room for further messages. */
  update(): void;
  failed(error: unknown): void;
}

/** Delivers the messages of a consumer and takes their results. */
export class Deliveries implements DeliveryOwner {
  readonly suspects: Suspects;
  readonly #parts: DeliveriesParts;

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
    const { assignment, commits, update, failed } = parts;
    const deliver = (delivery: KafkaDelivery) => this.#deliver(delivery);
    this.suspects = new Suspects({ assignment, commits, deliver, ended: update, failed });
  }

  receive(record: IncomingRecord, number: number, offset: bigint, unreadable?: MessagingError): void {
    const { assignment, sink } = this.#parts;
    const partition = assignment.expecting(number, offset);
    if (partition === null) return;
    const delivery = new KafkaDelivery(record, this, partition, number, offset, unreadable);
    assignment.add(delivery);
    if (partition.suspects === 0) {
      sink.deliver(delivery);
      return;
    }
    partition.suspects--;
    if (partition.trying?.offset === offset) delivery.earlier = partition.trying.deliveries;
    this.suspects.handle(delivery);
  }

  ack(delivery: KafkaDelivery): void {
    const { assignment, commits, update } = this.#parts;
    this.#settle(delivery);
    assignment.done(delivery);
    commits.soon();
    update();
  }

  release(delivery: KafkaDelivery): void {
    this.#settle(delivery);
    // It stays uncommitted: the next owner of the partition gets it. While this one continues, it is delivered again.
    if (this.#parts.isStopped()) return;
    const { record, partition, number, offset, unreadable } = delivery;
    const next = new KafkaDelivery(record, this, partition, number, offset, unreadable);
    this.#parts.assignment.addAgain(next, delivery);
    setImmediate(() => this.#deliver(next));
  }

  wait(delivery: KafkaDelivery): void {
    this.#parts.assignment.wait(delivery);
    this.suspects.settled(delivery);
    this.#parts.update();
  }

  async addTo(transaction: KafkaTransaction, deliveries: readonly KafkaDelivery[]): Promise<void> {
    const { assignment, membership, commits, failed } = this.#parts;
    const last = assignment.lastOf(deliveries);
    if (!assignment.isGapless(deliveries)) {
      // A message was given up without a result: it is read again from the offsets of the group.
      failed(lost());
      throw lost();
    }
    await commits.beginTransaction();
    try {
      await membership.addTo(transaction, last);
    } catch (error) {
      commits.endTransaction();
      throw error;
    }
  }

  aborted(): void {
    this.#parts.commits.endTransaction();
  }

  transacted(deliveries: readonly KafkaDelivery[]): void {
    const { assignment, commits, update } = this.#parts;
    commits.endTransaction();
    assignment.committed(deliveries);
    for (const delivery of deliveries) this.suspects.settled(delivery);
    update();
  }

  restart(error: unknown): void {
    this.#parts.failed(error);
  }

  /** Delivers a message unless its partition now belongs to another consumer, which gets the message then. */
  #deliver(delivery: KafkaDelivery): void {
    const { assignment, sink, isEnded } = this.#parts;
    if (assignment.isOpen(delivery) && !isEnded()) sink.deliver(delivery);
  }

  /** Counts the result of a delivery. Throws LOST if it now belongs to another consumer. */
  #settle(delivery: KafkaDelivery): void {
    const { assignment, membership, isEnded, failed } = this.#parts;
    if (!isEnded() && assignment.isOpen(delivery) && membership.isAlive) {
      assignment.settled(delivery);
      this.suspects.settled(delivery);
      return;
    }
    // Everything starts over then: a message that is lost here would not be delivered again as long as others wait.
    if (!membership.isAlive) failed(lost());
    throw lost();
  }
}
