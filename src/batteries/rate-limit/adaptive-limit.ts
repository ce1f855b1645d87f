export interface AdaptiveOptions {
  readonly maxRequests: number;
  readonly minRequests: number;
  readonly windowMs: number;
  readonly errorThreshold: number;
  readonly latencyMs: number | undefined;
}

const minSamples = 10;

/**
 * A limit that halves while too many recent responses failed or were slow, and grows by a tenth of its maximum with each
 * period in which they were not. A period is a tenth of the window, ten seconds at most.
 */
export class AdaptiveLimit {
  readonly #options: AdaptiveOptions;
  readonly #period: number;
  #limit: number;
  #since: number;
  #answers = 0;
  #failures = 0;
  #time = 0;

  constructor(options: AdaptiveOptions, now: number) {
    this.#options = options;
    this.#period = Math.min(10_000, options.windowMs / 10);
    this.#limit = options.maxRequests;
    this.#since = now;
  }

  /** The limit now, in milliseconds on a clock that never goes back. */
  current(now: number): number {
    if (now - this.#since >= this.#period) this.#judge(now);
    return Math.floor(this.#limit);
  }

  /** Counts a response and its time in milliseconds. */
  record(failed: boolean, time: number): void {
    this.#answers++;
    if (failed) this.#failures++;
    this.#time += time;
  }

  #judge(now: number): void {
    const { maxRequests, minRequests, windowMs } = this.#options;
    const elapsed = now - this.#since;
    if (this.#isTroubled()) {
      // A few responses are no evidence, unless there were no more in a whole window.
      if (this.#answers < minSamples && elapsed < windowMs) return;
      this.#limit = Math.max(minRequests, this.#limit / 2);
    } else {
      const periods = Math.floor(elapsed / this.#period);
      this.#limit = Math.min(maxRequests, this.#limit + (periods * maxRequests) / 10);
    }
    this.#since = now;
    this.#answers = 0;
    this.#failures = 0;
    this.#time = 0;
  }

  #isTroubled(): boolean {
    if (this.#answers === 0) return false;
    const { errorThreshold, latencyMs } = this.#options;
    if (this.#failures / this.#answers > errorThreshold) return true;
    return latencyMs !== undefined && this.#time / this.#answers > latencyMs;
  }
}
