/** Work that ends at a time. */
export interface Expiring {
  /** The time by the clock of the process that only moves forward. Set when it is added. */
  endsAt: number;
  expire(): void;
}

/**
 * Deadlines of work that mostly ends long before: a set for each duration, in the order of their ends, and one timer for
 * the set. A timer for each command would cost as much as the rest of the bus.
 */
export class Deadlines {
  readonly #byDuration = new Map<number, Set<Expiring>>();

  /** Calls `expire` after a time, unless the work is deleted from the returned set first. */
  add(work: Expiring, milliseconds: number): Set<Expiring> {
    let all = this.#byDuration.get(milliseconds);
    work.endsAt = performance.now() + milliseconds;
    if (all === undefined) {
      this.#byDuration.set(milliseconds, (all = new Set()));
      this.#arm(all, milliseconds, milliseconds);
    }
    all.add(work);
    return all;
  }

  #arm(all: Set<Expiring>, milliseconds: number, delay: number): void {
    setTimeout(() => {
      const now = performance.now();
      for (const work of all) {
        if (work.endsAt > now) return this.#arm(all, milliseconds, Math.ceil(work.endsAt - now));
        all.delete(work);
        work.expire();
      }
      this.#byDuration.delete(milliseconds);
    }, delay).unref();
  }
}
