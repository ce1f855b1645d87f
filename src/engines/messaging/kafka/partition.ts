import { type Progress, type Trying, writeProgress } from "./group/progress.js";
import type { RecordMark } from "./records.js";

/** A delivery of a partition. */
export interface PartitionEntry {
  readonly offset: bigint;
  /** True if it has its result, or is not under way here any more. */
  over: boolean;
  readonly record?: RecordMark;
}

/** The offset of a group in a partition, with its metadata. */
export interface GroupOffset {
  readonly offset: bigint;
  readonly metadata: string;
  /** Called when the group has it. */
  confirmed?(): void;
}

/** Entries that are over are removed when there are so many. */
const mostOver = 32;
/** Messages that are done and not committed, of which the newest half is kept then. */
const mostUnconfirmed = 20_000;
/** Milliseconds between commits that only tell of messages behind one that is not done. */
const behindPause = 1000;

/**
 * The deliveries of one partition. Messages may be done in any order; the group's offset moves only as far as all messages
 * before it are done. The metadata of the offset has those behind it that are done: they are not handled again.
 */
export class Partition<Entry extends PartitionEntry = PartitionEntry> {
  /** Messages that are handled alone before others: one of them may have killed the process that had the partition. */
  suspects = 0;
  /** The message that is handled alone, or was when its process ended. */
  trying: Trying | null = null;
  /** Messages that wait for their next attempt, or for one of their key that does. */
  parked = 0;
  parkedBytes = 0;
  /** In the order of their offsets. Those at the beginning that are over are removed, several at a time. */
  #entries: PartitionEntry[] = [];
  /** The number of entries at the beginning that are over. */
  #head = 0;
  /** The last offset that was delivered; before the first one, the offset before the start. */
  #last: bigint;
  /** The offset up to which all is done. */
  #position: bigint;
  /** True if the group's offset has not moved there yet, or its metadata is to change. */
  #due = false;
  /** True if messages behind the position were done that the group does not know of. */
  #behind = false;
  #toldBehind = 0;
  readonly #progress: Progress | null;
  /** Messages that are done, and of which the group has not confirmed it; in the order of their ends. */
  #unconfirmed: { readonly offset: bigint; readonly mark: RecordMark }[] = [];
  /** The number of those before them. */
  #confirmed = 0;

  constructor(start: bigint, progress: Progress | null = null) {
    this.#last = start - 1n;
    this.#position = start;
    this.#progress = progress;
  }

  get size(): number {
    return this.#entries.length - this.#head;
  }

  /** The offset of the next message to deliver. */
  get next(): bigint {
    return this.#last + 1n;
  }

  /**
   * False for a message that was delivered already: a partition that is read again begins at the group's offset. Or an
   * earlier owner of the partition has handled it.
   */
  isNew(offset: bigint): boolean {
    if (offset <= this.#last) return false;
    if (!this.#progress?.isDone(offset)) return true;
    this.#push({ offset, over: true });
    if (this.#entries[this.#head]!.over) this.#advance();
    return false;
  }

  add(entry: Entry): void {
    this.#push(entry);
  }

  /** A message that was given back is delivered again: this entry is now the one under way. */
  replace(entry: Entry, next: Entry): void {
    const place = this.#entries.indexOf(entry, this.#head);
    if (place === -1) return;
    this.#entries[place] = next;
    entry.over = true;
  }

  /** False if a message before the last of these is neither done nor one of them: the group's offset would pass over it. */
  isGapless(entries: ReadonlySet<PartitionEntry>): boolean {
    let left = entries.size;
    for (const entry of this.#entries) {
      if (left === 0) return true;
      if (entries.has(entry)) left--;
      else if (!entry.over) return false;
    }
    return true;
  }

  done(entry: Entry): void {
    if (entry.over) return;
    entry.over = true;
    if (entry.record !== undefined) this.#note(entry.offset, entry.record);
    if (this.#entries[this.#head]?.over) {
      this.#advance();
      return;
    }
    this.#behind = true;
    // The message itself is not kept: thousands can be done behind one that is not.
    const place = this.#placeOf(entry.offset);
    if (this.#entries[place] === entry) this.#entries[place] = { offset: entry.offset, over: true };
  }

  /** The offset to commit; null if nothing has changed since the last call. `all`: what could wait for a second too. */
  takeCommittable(owner: string | null, all = false, now: number = performance.now()): GroupOffset | null {
    const behind = this.#behind && (all || now - this.#toldBehind >= behindPause);
    if (!this.#due && !behind) return null;
    this.#due = false;
    this.#behind = false;
    this.#toldBehind = now;
    const metadata = writeProgress(this.#position, owner, this.trying, this.#done());
    const upTo = this.#confirmed + this.#unconfirmed.length;
    return { offset: this.#position, metadata, confirmed: () => this.#confirm(upTo) };
  }

  /** The messages that are done, but whose offsets may be unknown to the group. */
  get unconfirmed(): readonly { readonly offset: bigint; readonly mark: RecordMark }[] {
    return this.#unconfirmed;
  }

  /** The offset is to be committed, also if it has not moved: its metadata has changed, or a commit has failed. */
  touch(): void {
    this.#due = true;
  }

  /** All entries that are under way. */
  get open(): Entry[] {
    return this.#entries.filter(({ over }) => !over) as Entry[];
  }

  #note(offset: bigint, { id, timestamp }: RecordMark): void {
    // Without the message, as above.
    const count = this.#unconfirmed.push({ offset, mark: { id, timestamp } });
    if (count > mostUnconfirmed) this.#confirm(this.#confirmed + count / 2);
  }

  #confirm(upTo: number): void {
    const count = Math.max(0, Math.floor(upTo) - this.#confirmed);
    this.#unconfirmed.splice(0, count);
    this.#confirmed += count;
  }

  #push(entry: PartitionEntry): void {
    this.#entries.push(entry);
    this.#last = entry.offset;
  }

  *#done(): Generator<bigint> {
    for (let place = this.#head; place < this.#entries.length; place++) {
      const { over, offset } = this.#entries[place]!;
      if (over) yield offset;
    }
  }

  #placeOf(offset: bigint): number {
    let [low, high] = [this.#head, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#entries[middle]!.offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #advance(): void {
    while (this.#entries[this.#head]?.over) this.#head++;
    this.#position = this.#entries[this.#head - 1]!.offset + 1n;
    this.#due = true;
    if (this.#head === this.#entries.length) this.#entries = [];
    else if (this.#head < mostOver) return;
    else this.#entries.splice(0, this.#head);
    this.#head = 0;
  }
}
