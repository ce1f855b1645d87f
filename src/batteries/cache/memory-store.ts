import { perProcess } from "../../pipeline/shared-stores.js";
import type { CacheEntry, CacheStore, FieldOf } from "./store.js";

interface Kept {
  readonly key: string;
  readonly entry: CacheEntry;
}

/** Entries of one URL: each asks for a comparison when it is looked for. */
const maxVariants = 32;
const maxRemembered = 10_000;

/** Answers kept in this process, up to so many bytes; those not asked for longest go first. */
export class MemoryCacheStore implements CacheStore {
  readonly [perProcess] = true;
  readonly #maxSize: number;
  /** Newest first. */
  readonly #byKey = new Map<string, Kept[]>();
  readonly #byTag = new Map<string, Set<Kept>>();
  /** In the order of use. */
  readonly #recent = new Set<Kept>();
  #size = 0;
  /** Counts invalidations, and remembers when each tag was last invalidated. */
  #count = 0;
  #forgottenAt = 0;
  readonly #invalidated = new Map<string, number>();

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get size(): number {
    return this.#size;
  }

  get entries(): number {
    return this.#recent.size;
  }

  find(key: string, field: FieldOf): CacheEntry | undefined {
    const kept = this.#byKey.get(key)?.find(({ entry }) => matchesVary(entry, field));
    if (kept === undefined) return undefined;
    this.#recent.delete(kept);
    this.#recent.add(kept);
    return kept.entry;
  }

  begin(): number {
    return this.#count;
  }

  put(ticket: number, key: string, entry: CacheEntry): boolean {
    if (this.#isOutdated(ticket, entry.tags)) return false;
    const variants = this.#byKey.get(key) ?? [];
    for (const kept of variants.filter((other) => isSameVariant(other.entry, entry))) this.#drop(kept);
    if (entry.size > this.#maxSize) return true;
    const kept = { key, entry };
    const list = this.#byKey.get(key);
    if (list) list.unshift(kept);
    else this.#byKey.set(key, [kept]);
    for (const tag of entry.tags) {
      const tagged = this.#byTag.get(tag);
      if (tagged) tagged.add(kept);
      else this.#byTag.set(tag, new Set([kept]));
    }
    this.#recent.add(kept);
    this.#size += entry.size;
    if (list && list.length > maxVariants) this.#drop(list[list.length - 1]!);
    this.#shrink();
    return true;
  }

  remove(key: string): void {
    for (const kept of [...(this.#byKey.get(key) ?? [])]) this.#drop(kept);
  }

  invalidate(tags: readonly string[]): number {
    let dropped = 0;
    this.#count++;
    for (const tag of tags) {
      this.#invalidated.set(tag, this.#count);
      for (const kept of [...(this.#byTag.get(tag) ?? [])]) {
        this.#drop(kept);
        dropped++;
      }
    }
    if (this.#invalidated.size > maxRemembered) {
      // Answers that are being made now are not kept then: nobody could tell whether they still hold.
      this.#invalidated.clear();
      this.#forgottenAt = this.#count;
    }
    return dropped;
  }

  #isOutdated(ticket: number, tags: readonly string[]): boolean {
    if (ticket === this.#count) return false;
    if (ticket < this.#forgottenAt) return true;
    return tags.some((tag) => (this.#invalidated.get(tag) ?? 0) > ticket);
  }

  #shrink(): void {
    for (const kept of this.#recent) {
      if (this.#size <= this.#maxSize) return;
      this.#drop(kept);
    }
  }

  #drop(kept: Kept): void {
    this.#recent.delete(kept);
    this.#size -= kept.entry.size;
    const variants = this.#byKey.get(kept.key)!;
    variants.splice(variants.indexOf(kept), 1);
    if (variants.length === 0) this.#byKey.delete(kept.key);
    for (const tag of kept.entry.tags) {
      const tagged = this.#byTag.get(tag);
      tagged?.delete(kept);
      if (tagged?.size === 0) this.#byTag.delete(tag);
    }
  }
}

/** Whether a request has the fields that an entry was made for (RFC 9111 section 4.1). */
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
