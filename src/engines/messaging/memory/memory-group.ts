import type { IncomingRecord } from "../broker.js";
import type { MessagingError } from "../errors.js";

export interface StoredRecord extends IncomingRecord {
  /** The place in its topic. */
  readonly offset: number;
  readonly topic: string;
}

/** A consumer, as its group sees it. */
export interface GroupMember {
  readonly hasRoom: boolean;
  readonly unsettled: number;
  deliver(record: StoredRecord, earlier: number): void;
  /** All its deliveries belong to others now. */
  loseAll(): void;
  /** Its connection breaks. */
  fail(error: MessagingError): void;
}

interface Queued {
  readonly record: StoredRecord;
  readonly earlier: number;
}

/** The most records that are looked at to find one that can be delivered, when those before it must wait. */
const lookAhead = 1000;

/** The queue of one group. Records of one key go to one consumer as long as it has some of them. */
export class MemoryGroup {
  readonly #after: (delayMs: number, run: () => void) => void;
  readonly #consumers: GroupMember[] = [];
  readonly #owners = new Map<string, { readonly consumer: GroupMember; count: number }>();
  #queue: Queued[] = [];
  #next = 0;
  #scheduled = false;
  /** Grows with each refill: deliveries of before count no more. */
  #era = 0;

  /** @param after runs a function after so many milliseconds */
  constructor(after: (delayMs: number, run: () => void) => void) {
    this.#after = after;
  }

  get consumers(): readonly GroupMember[] {
    return this.#consumers;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  get unsettled(): number {
    return this.#consumers.reduce((sum, consumer) => sum + consumer.unsettled, 0);
  }

  add(record: StoredRecord, earlier = 0): void {
    // A record that is given back goes to its old place.
    let at = this.#queue.length;
    while (at > 0 && this.#queue[at - 1]!.record.offset > record.offset) at--;
    this.#queue.splice(at, 0, { record, earlier });
    this.schedule();
  }

  refill(records: readonly StoredRecord[]): void {
    this.#era++;
    this.#owners.clear();
    this.#queue = records.map((record) => ({ record, earlier: 0 }));
    for (const consumer of this.#consumers) consumer.loseAll();
    this.schedule();
  }

  join(consumer: GroupMember): void {
    this.#consumers.push(consumer);
    this.schedule();
  }

  leave(consumer: GroupMember): void {
    const at = this.#consumers.indexOf(consumer);
    if (at !== -1) this.#consumers.splice(at, 1);
    this.schedule();
  }

  /** A record of this key is settled. */
  free(key: string | null, consumer: GroupMember): void {
    if (key === null) return;
    const owner = this.#owners.get(key);
    if (owner?.consumer === consumer && --owner.count === 0) this.#owners.delete(key);
  }

  later(record: StoredRecord, delayMs: number): void {
    const era = this.#era;
    this.#after(delayMs, () => {
      if (era === this.#era) this.add(record);
    });
  }

  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    for (let at = 0, seen = 0; at < this.#queue.length && seen < lookAhead; seen++) {
      const { record, earlier } = this.#queue[at]!;
      const consumer = this.#consumerFor(record.key);
      if (consumer === undefined) {
        // Without a key any consumer would do: none has room.
        if (record.key === null) return;
        at++;
        continue;
      }
      this.#queue.splice(at, 1);
      if (record.key !== null) {
        const owner = this.#owners.get(record.key);
        if (owner === undefined) this.#owners.set(record.key, { consumer, count: 1 });
        else owner.count++;
      }
      consumer.deliver(record, earlier);
    }
  }

  #consumerFor(key: string | null): GroupMember | undefined {
    const owner = key === null ? undefined : this.#owners.get(key);
    if (owner !== undefined) return owner.consumer.hasRoom ? owner.consumer : undefined;
    for (let i = 0; i < this.#consumers.length; i++) {
      const consumer = this.#consumers[this.#next++ % this.#consumers.length]!;
      if (consumer.hasRoom) return consumer;
    }
    return undefined;
  }
}
