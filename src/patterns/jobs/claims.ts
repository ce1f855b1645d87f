import type { JobRow, JobStorage } from "./storage.js";

/** Milliseconds of a claim that are worth a look for the cause. */
const slow = 10;
/** Milliseconds for which the result of the look is used: a job whose transaction took long is found after this time. */
const shortest = 1000;
const longest = 30_000;

/**
 * The claims of jobs of one name. While another transaction is open for long, the server keeps the entries of all jobs that have
 * ended since in the index, and each claim reads them again: they stand before the jobs that wait. A process whose claims become
 * slow finds out where they end, and begins there.
 */
export class Claims {
  readonly #storage: JobStorage;
  readonly #name: string;
  #low = 0;
  #until = 0;

  constructor(storage: JobStorage, name: string) {
    this.#storage = storage;
    this.#name = name;
  }

  async claim(limit: number, inProgress: readonly string[]): Promise<JobRow[]> {
    const begin = performance.now();
    if (begin > this.#until) this.#low = 0;
    const rows = await this.#storage.claim(this.#name, limit, inProgress, this.#low);
    const end = performance.now();
    if (this.#low > 0 || end - begin < slow) return rows;
    // The rows are this worker's already: a look that fails must not lose them.
    this.#low = await this.#storage.lowest(this.#name).catch(() => 0);
    // At most a small part of the time is spent on looks.
    this.#until = performance.now() + Math.min(Math.max((performance.now() - end) * 20, shortest), longest);
    return rows;
  }
}
