import { type Deferred, deferred } from "../../../kit/deferred.js";
import { longestAlone, Turns } from "../suspects.js";
import type { Assignment } from "./group/assignment.js";
import type { GroupCommits } from "./group/group-commits.js";
import type { KafkaDelivery } from "./kafka-delivery.js";

/** Milliseconds after which no further messages are handled alone: if another process ends, the next one begins later. */
const longestCare = 15_000;

interface SuspectsParts {
  readonly assignment: Assignment;
  readonly commits: GroupCommits;
  deliver(delivery: KafkaDelivery): void;
  /** The next message can be taken. */
  ended(): void;
  failed(error: unknown): void;
}

/** Of all consumers of this process: two at a time would both be blamed. */
const turns = new Turns();

/**
 * Handles messages alone that may have killed a process. The group remembers each before it is handled: if the process ends
 * with it, the next one knows the message, and counts.
 */
export class Suspects {
  #current: KafkaDelivery | null = null;
  #ending: Deferred<void> = deferred();
  #late: NodeJS.Timeout | undefined;
  /** The beginning of the care for the partitions of processes that have ended. */
  #since: number | null = null;
  #waiting: NodeJS.Timeout | undefined;

  constructor(private readonly parts: SuspectsParts) {}

  /** True while a message is handled alone. */
  get busy(): boolean {
    return this.#current !== null;
  }

  /** Partitions were taken over from a process that has ended. */
  begin(): void {
    this.#since = null;
    this.#endWait();
  }

  /** True if the next message that is handled alone is to wait for those that are handled; false after a while. */
  waits(): boolean {
    if (this.#isLong()) return false;
    this.#waiting ??= setTimeout(() => {
      this.#waiting = undefined;
      this.parts.assignment.trust();
      this.parts.ended();
    }, longestCare).unref();
    return true;
  }

  handle(delivery: KafkaDelivery): void {
    this.#current = delivery;
    this.#isLong();
    const { promise } = (this.#ending = deferred());
    turns.run(() => this.#handle(delivery, promise)).catch(this.parts.failed);
    void promise.then(this.parts.ended);
  }

  async #handle(delivery: KafkaDelivery, ending: Promise<void>): Promise<void> {
    if (this.#current !== delivery) return;
    await Promise.race([this.#remember(delivery), ending]);
    if (this.#current !== delivery) return;
    this.parts.deliver(delivery);
    this.#late = setTimeout(() => {
      // It stays the one that the group remembers.
      this.parts.assignment.trust();
      this.settled(delivery);
    }, longestAlone);
    await ending;
  }

  async #remember({ partition, number, offset, earlier }: KafkaDelivery): Promise<void> {
    const { assignment, commits } = this.parts;
    partition.trying = { offset, deliveries: earlier + 1 };
    assignment.touch([number]);
    await commits.flush();
  }

  /** The message has its result, or waits for another attempt, or is not ours any more. */
  settled(delivery: KafkaDelivery): void {
    if (this.#current === delivery) this.stop();
  }

  /** True if messages were handled alone for long enough: no further ones are then. */
  #isLong(): boolean {
    this.#since ??= performance.now();
    if (performance.now() - this.#since <= longestCare) return false;
    this.parts.assignment.trust();
    return true;
  }

  stop(): void {
    this.#current = null;
    clearTimeout(this.#late);
    this.#endWait();
    this.#ending.resolve();
  }

  #endWait(): void {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
  }
}
