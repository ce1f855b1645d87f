/** Milliseconds of a claim that are worth a look for the cause. */
const slow = 10;
/** Milliseconds for which the result of the look is used: work whose transaction took long is found after this time. */
const shortest = 1000;
const longest = 30_000;

/**
 * The place from which claims begin, by the time at which work is due. While another transaction is open for long, the server
 * keeps the index entries of all work that has ended since, and each claim reads them again: they stand before the work that
 * waits. A process whose claims become slow finds out where they end, and begins there.
 */
export class LowMark {
  #low = 0;
  #until = 0;

  /** `find` resolves to a time before all work that is free, in seconds of the clock of the database. */
  constructor(private readonly find: () => Promise<number>) {}

  /** 0 as long as claims are fast. */
  get low(): number {
    return performance.now() > this.#until ? 0 : this.#low;
  }

  /** Runs a claim of work that is due at `low` or later. */
  async claim<Result>(run: (low: number) => Promise<Result>): Promise<Result> {
    const { low } = this;
    const begin = performance.now();
    const claimed = await run(low);
    const end = performance.now();
    if (low > 0 || end - begin < slow) return claimed;
    // The rows are this worker's already: a look that fails must not lose them.
    this.#low = await this.find().catch(() => 0);
    // At most a small part of the time is spent on looks.
    this.#until = performance.now() + Math.min(Math.max((performance.now() - end) * 20, shortest), longest);
    return claimed;
  }
}
