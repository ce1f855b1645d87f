/** Work that ends at a time. */
interface Expiring {
  expire(): void;
}

interface Entry {
  readonly work: Expiring;
  readonly at: number;
}

/**
 * Deadlines of work that mostly ends long before: a set for each duration, in the order of their ends, and one timer for
 * the set. A timer for each command would cost as much as the rest of the bus.
 */
export class Deadlines {
  readonly #byDuration = new Map<number, Set<Entry>>();

  /** Calls `expire` after a time, unless the returned entry is removed first. */
  add(work: Expiring, milliseconds: number): Entry {
    let entries = this.#byDuration.get(milliseconds);
    const entry = { work, at: performance.now() + milliseconds };
    if (entries === undefined) {
      this.#byDuration.set(milliseconds, (entries = new Set()));
      this.#arm(entries, milliseconds, milliseconds);
    }
    entries.add(entry);
    return entry;
  }

  remove(entry: Entry, milliseconds: number): void {
    this.#byDuration.get(milliseconds)?.delete(entry);
  }

  #arm(entries: Set<Entry>, milliseconds: number, delay: number): void {
    setTimeout(() => {
      const now = performance.now();
      for (const entry of entries) {
        if (entry.at > now) return this.#arm(entries, milliseconds, Math.ceil(entry.at - now));
        entries.delete(entry);
        entry.work.expire();
      }
      this.#byDuration.delete(milliseconds);
    }, delay).unref();
  }
}
