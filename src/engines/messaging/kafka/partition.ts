/** A delivery of a partition. */
export interface PartitionEntry {
  readonly offset: bigint;
  /** True if it has its result, or is not under way here any more. */
  over: boolean;
}

/** Entries that are over are removed when there are so many. */
const mostOver = 32;

/**
 * The deliveries of one partition. Messages may be done in any order; the group's offset moves only as far as all messages
 * before it are done.
 */
export class Partition<Entry extends PartitionEntry = PartitionEntry> {
  /** In the order of their offsets. Those at the beginning that are over are removed, several at a time. */
  #entries: Entry[] = [];
  /** The number of entries at the beginning that are over. */
  #head = 0;
  /** The last offset that was delivered; before the first one, the offset before the start. */
  #last: bigint;
  /** The last offset up to which all is done, if the group's offset has not moved there yet. */
  #doneUpTo: bigint | null = null;

  constructor(start: bigint) {
    this.#last = start - 1n;
  }

  get size(): number {
    return this.#entries.length - this.#head;
  }

  /** The offset of the next message to deliver. */
  get next(): bigint {
    return this.#last + 1n;
  }

  /** False for a message that was delivered already: a partition that is read again begins at the group's offset. */
  isNew(offset: bigint): boolean {
    return offset > this.#last;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#last = entry.offset;
  }

  /** A message that was given back is delivered again: from now on this entry is the one under way. */
  replace(entry: Entry, next: Entry): void {
    const place = this.#entries.indexOf(entry, this.#head);
    if (place === -1) return;
    this.#entries[place] = next;
    entry.over = true;
  }

  /** False if a message before the last of these is neither done nor one of them: the group's offset would pass over it. */
  isGapless(entries: ReadonlySet<Entry>): boolean {
    let left = entries.size;
    for (const entry of this.#entries) {
      if (left === 0) return true;
      if (entries.has(entry)) left--;
      else if (!entry.over) return false;
    }
    return true;
  }

  /** Returns by how many entries the partition is smaller now. */
  done(entry: Entry): number {
    if (entry.over) return 0;
    entry.over = true;
    return this.#entries[this.#head]?.over ? this.#advance() : 0;
  }

  /** The offset to commit; null if it has not moved since the last call. */
  takeCommittable(): bigint | null {
    const offset = this.#doneUpTo;
    this.#doneUpTo = null;
    return offset === null ? null : offset + 1n;
  }

  /** The offset could not be committed: it is due again, unless a later one is. */
  restore(offset: bigint): void {
    this.#doneUpTo ??= offset - 1n;
  }

  /** The group's offset is here: messages before it were done by others. Returns those that were under way. */
  startAt(start: bigint): Entry[] {
    const passed = this.#entries.filter(({ offset, over }) => offset < start && !over);
    this.#entries = this.#entries.filter(({ offset }, place) => place >= this.#head && offset >= start);
    this.#head = 0;
    if (start > this.#last) this.#last = start - 1n;
    // The offset of a group never goes back.
    if (this.#doneUpTo !== null && this.#doneUpTo < start) this.#doneUpTo = null;
    for (const entry of passed) entry.over = true;
    return passed;
  }

  /** All entries that are under way. */
  get open(): Entry[] {
    return this.#entries.filter(({ over }) => !over);
  }

  #advance(): number {
    const before = this.#head;
    while (this.#entries[this.#head]?.over) this.#head++;
    const count = this.#head - before;
    this.#doneUpTo = this.#entries[this.#head - 1]!.offset;
    if (this.#head === this.#entries.length) this.#entries = [];
    else if (this.#head < mostOver) return count;
    else this.#entries.splice(0, this.#head);
    this.#head = 0;
    return count;
  }
}
