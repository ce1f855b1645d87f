import type { JobStorage } from "./storage.js";

/**
 * The time at which the next job of a name may be claimed. Jobs that no worker has are found by their time. Those that became
 * due since the last look count: the claim before this look may not have seen them.
 *
 * Leases are looked at seldom, as that reads every job in progress. A lease that begins after a look ends after `leaseMs` at
 * the earliest: the next look at leases is then, or when the first of them ends.
 */
export class NextDue {
  readonly #storage: JobStorage;
  readonly #name: string;
  /** The last look, in seconds of the clock of the database. */
  #lookedAt = 0;
  /** The next look at leases, by the clock of this process, which only moves forward. */
  #leasesAt = 0;

  constructor(storage: JobStorage, name: string) {
    this.#storage = storage;
    this.#name = name;
  }

  /** Milliseconds; null if there is neither a job nor a lease. */
  async next(): Promise<number | null> {
    const withLeases = performance.now() >= this.#leasesAt;
    const { at, due, lease } = await this.#storage.look(this.#name, this.#lookedAt, withLeases);
    if (at < this.#lookedAt - 1) await this.#storage.afterSetBack();
    // Times of the table have microseconds, which the number may not hold.
    this.#lookedAt = at - 0.001;
    if (withLeases) this.#leasesAt = performance.now() + Math.min(lease ?? Infinity, this.#storage.leaseMs);
    const leases = this.#leasesAt - performance.now();
    return due === null ? leases : Math.min(due, leases);
  }
}
