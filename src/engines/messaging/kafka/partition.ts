import type { Delivery } from "../broker.js";

interface Entry {
  readonly offset: bigint;
  delivery: Delivery;
  done: boolean;
}

/** Entries that are done are removed when there are so many. */
const mostDone = 32;

/**
 * The deliveries of one partition. Messages may be done in any order; the group's offset moves only as far as all messages
 * before it are done.
 */
export class Partition {
  /** In the order of their offsets. Those at the beginning that are done are removed, several at a time. */
  #entries: Entry[] = [];
  /** The number of entries at the beginning that are done. */
  #head = 0;
  /** The first offset that has not been delivered. */
  #position: bigint;
  #committable: bigint | null = null;

  constructor(start: bigint) {
    this.#position = start;
  }

  get size(): number {
    return this.#entries.length - this.#head;
  }

  /** False for a message that was delivered already: a partition that is read again begins at the group's offset. */
  isNew(offset: bigint): boolean {
    return offset >= this.#position;
  }

  add(offset: bigint, delivery: Delivery): void {
    this.#entries.push({ offset, delivery, done: false });
    this.#position = offset + 1n;
  }

  /** A message that was given back is delivered again: from now on this delivery is the one under way. */
  redeliver(offset: bigint, delivery: Delivery): void {
    const entry = this.#find(offset);
    if (entry !== undefined) entry.delivery = delivery;
  }

  has(offset: bigint): boolean {
    return this.#find(offset)?.done === false;
  }

  /** False if a message before the last of these is neither done nor one of them: the group's offset would pass over it. */
  isGapless(offsets: ReadonlySet<bigint>): boolean {
    let left = offsets.size;
    for (const { offset, done } of this.#entries) {
      if (left === 0) return true;
      if (offsets.has(offset)) left--;
      else if (!done) return false;
    }
    return true;
  }

  /** False if the message is not under way here, or not any more. */
  done(offset: bigint): boolean {
    const entry = this.#find(offset);
    if (entry === undefined || entry.done) return false;
    entry.done = true;
    if (this.#entries[this.#head]!.done) this.#advance();
    return true;
  }

  /** The offset to commit; null if it has not moved since the last call. */
  takeCommittable(): bigint | null {
    const offset = this.#committable;
    this.#committable = null;
    return offset;
  }

  /** The offset could not be committed: it is due again, unless a later one is. */
  restore(offset: bigint): void {
    this.#committable ??= offset;
  }

  /** The group's offset is here: messages before it were done by others. Returns those that were under way. */
  startAt(start: bigint): Delivery[] {
    const passed = this.#entries.filter(({ offset, done }) => offset < start && !done);
    this.#entries = this.#entries.filter(({ offset }, place) => place >= this.#head && offset >= start);
    this.#head = 0;
    if (start > this.#position) this.#position = start;
    // The offset of a group never goes back.
    if (this.#committable !== null && this.#committable <= start) this.#committable = null;
    return passed.map(({ delivery }) => delivery);
  }

  /** All deliveries that are under way. */
  get deliveries(): Delivery[] {
    return this.#entries.filter(({ done }) => !done).map(({ delivery }) => delivery);
  }

  #advance(): void {
    while (this.#entries[this.#head]?.done) this.#head++;
    this.#committable = this.#entries[this.#head - 1]!.offset + 1n;
    if (this.#head === this.#entries.length) this.#entries = [];
    else if (this.#head < mostDone) return;
    else this.#entries.splice(0, this.#head);
    this.#head = 0;
  }

  /** By halves: one message that is slow lets many entries pile up behind it. */
  #find(offset: bigint): Entry | undefined {
    let low = this.#head;
    // Most are done in their order.
    if (this.#entries[low]?.offset === offset) return this.#entries[low];
    let high = this.#entries.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle]!;
      if (entry.offset === offset) return entry;
      if (entry.offset < offset) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }
}
