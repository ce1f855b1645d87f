import { type Linked, RecencyList } from "../../kit/recency-list.js";
import { perProcess } from "../../pipeline/shared-stores.js";
import type { CacheEntry, CacheStore, FieldOf } from "./store.js";

interface Kept extends Linked<Kept> {
  readonly key: string;
  readonly entry: CacheEntry;
  /** The next older entry of the same key. */
  next: Kept | null;
}

/** Bytes of the entries of one process. */
export const defaultMaxSize = 67_108_864;
/** Entries of one key. A request compares its fields with each of them. */
const maxVariants = 32;

/** Responses in the memory of one process, up to a number of bytes; the least recently used go first. */
export class MemoryCacheStore implements CacheStore {
  readonly [perProcess] = true;
  /** The newest entry of each key. */
  readonly #byKey = new Map<string, Kept>();
  /** Most tags have one entry, such as the tag of an address: a Set for each would cost more than the entry. */
  readonly #byTag = new Map<string, Kept | Set<Kept>>();
  readonly #recent = new RecencyList<Kept>();
  #entries = 0;
  #size = 0;
  /** The number of invalidations. */
  #count = 0;
  readonly #invalidated = new InvalidationTimes();

  constructor(private readonly maxSize: number) {}

  get size(): number {
    return this.#size;
  }

  get entries(): number {
    return this.#entries;
  }

  find(key: string, field: FieldOf): CacheEntry | undefined {
    for (let kept = this.#byKey.get(key) ?? null; kept !== null; kept = kept.next) {
      if (!matchesVary(kept.entry, field)) continue;
      this.#recent.touch(kept);
      return kept.entry;
    }
    return undefined;
  }

  begin(): number {
    return this.#count;
  }

  put(ticket: number, key: string, entry: CacheEntry): boolean {
    if (ticket !== this.#count && this.#invalidated.isAfter(ticket, entry.tags)) return false;
    this.#makePlace(key, entry);
    if (entry.size > this.maxSize) return true;
    const kept: Kept = { key, entry, next: this.#byKey.get(key) ?? null, newer: null, older: null };
    this.#byKey.set(key, kept);
    for (const tag of entry.tags) this.#addTag(tag, kept);
    this.#recent.add(kept);
    this.#entries++;
    this.#size += entry.size;
    while (this.#size > this.maxSize) this.#drop(this.#recent.oldest!);
    return true;
  }

  remove(key: string): void {
    for (let kept = this.#byKey.get(key); kept !== undefined; kept = this.#byKey.get(key)) this.#drop(kept);
  }

  invalidate(tags: readonly string[]): number {
    let dropped = 0;
    this.#count++;
    for (const tag of tags) {
      this.#invalidated.set(tag, this.#count);
      const tagged = this.#byTag.get(tag);
      if (tagged === undefined) continue;
      for (const kept of tagged instanceof Set ? [...tagged] : [tagged]) {
        this.#drop(kept);
        dropped++;
      }
    }
    return dropped;
  }

  /** Drops everything. Responses that are being made are not stored either. */
  clear(): void {
    this.#invalidated.setAll(++this.#count);
    while (this.#recent.oldest) this.#drop(this.#recent.oldest);
  }

  /** Drops the entry for the same fields, and the oldest one of a key that has too many. */
  #makePlace(key: string, entry: CacheEntry): void {
    let count = 0;
    let last: Kept | null = null;
    for (let kept = this.#byKey.get(key) ?? null; kept !== null; kept = kept.next) {
      if (isSameVariant(kept.entry, entry)) {
        this.#drop(kept);
        return;
      }
      count++;
      last = kept;
    }
    if (count >= maxVariants) this.#drop(last!);
  }

  #addTag(tag: string, kept: Kept): void {
    const tagged = this.#byTag.get(tag);
    if (tagged === undefined) this.#byTag.set(tag, kept);
    else if (tagged instanceof Set) tagged.add(kept);
    else this.#byTag.set(tag, new Set([tagged, kept]));
  }

  #removeTag(tag: string, kept: Kept): void {
    const tagged = this.#byTag.get(tag);
    if (tagged instanceof Set) {
      tagged.delete(kept);
      if (tagged.size === 0) this.#byTag.delete(tag);
    } else if (tagged === kept) this.#byTag.delete(tag);
  }

  #drop(kept: Kept): void {
    this.#recent.remove(kept);
    this.#entries--;
    this.#size -= kept.entry.size;
    const first = this.#byKey.get(kept.key)!;
    if (first !== kept) {
      let before = first;
      while (before.next !== kept) before = before.next!;
      before.next = kept.next;
    } else if (kept.next === null) this.#byKey.delete(kept.key);
    else this.#byKey.set(kept.key, kept.next);
    for (const tag of kept.entry.tags) this.#removeTag(tag, kept);
  }
}

/** True if a request has the fields that an entry was made for (RFC 9111 section 4.1). */
export function matchesVary(entry: CacheEntry, field: FieldOf): boolean {
  for (const [name, value] of entry.vary) {
    if ((field(name) ?? null) !== value) return false;
  }
  return true;
}

function isSameVariant(a: CacheEntry, b: CacheEntry): boolean {
  return (
    a.vary.length === b.vary.length &&
    a.vary.every(([name, value], index) => name === b.vary[index]![0] && value === b.vary[index]![1])
  );
}

const places = 4096;

/**
 * The time of the last invalidation of each tag, in a table of fixed size: some tags, those of addresses, come from
 * clients. Tags that share a place share their time, so a valid response may count as outdated; never the other way
 * round.
 */
class InvalidationTimes {
  readonly #times = new Float64Array(places);

  set(tag: string, time: number): void {
    this.#times[placeOf(tag)] = time;
  }

  setAll(time: number): void {
    this.#times.fill(time);
  }

  /** True if one of the tags may have been invalidated after a time. */
  isAfter(time: number, tags: readonly string[]): boolean {
    return tags.some((tag) => this.#times[placeOf(tag)]! > time);
  }
}

/** FNV-1a. */
function placeOf(tag: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < tag.length; i++) hash = Math.imul(hash ^ tag.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 16)) & (places - 1);
}
