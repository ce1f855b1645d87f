import type { RecentMap } from "./recent-map.js";
import type { RateLimiter, RateVerdict } from "./store.js";

/** Times and counts in turn, oldest first, and the sum of the counts. */
interface Window {
  total: number;
  readonly log: number[];
}

const maxGroups = 64;

/**
 * Never more than `limit` requests in any period of the window's length. While limits are small, the time of each
 * request is stored. Beyond 64, the requests of one 64th of the window are stored together with the end of that part: a
 * window then costs no more memory, and a request waits longer than necessary by that part at most.
 */
export class SlidingWindows implements RateLimiter {
  readonly #windowMs: number;
  readonly #windows: RecentMap<Window>;
  readonly #clock: () => number;

  /** The map must keep what was used within two windows. */
  constructor(windowMs: number, windows: RecentMap<Window>, clock: () => number = () => performance.now()) {
    this.#windowMs = windowMs;
    this.#windows = windows;
    this.#clock = clock;
  }

  take(key: string, limit: number): RateVerdict {
    const now = this.#clock();
    let window = this.#windows.get(key, now);
    if (window === undefined) {
      window = { total: 0, log: [] };
      this.#windows.add(key, window, now);
    }
    const { log } = window;
    this.#forget(window, now);
    if (window.total >= limit) {
      const resetMs = log[log.length - 2]! + this.#windowMs - now;
      return { allowed: false, remaining: 0, resetMs, retryMs: log[0]! + this.#windowMs - now };
    }
    const time = limit > maxGroups ? this.#endOfPart(now) : now;
    if (log.length > 0 && log[log.length - 2] === time) log[log.length - 1]! += 1;
    else log.push(time, 1);
    window.total += 1;
    return { allowed: true, remaining: limit - window.total, resetMs: time + this.#windowMs - now, retryMs: 0 };
  }

  #forget(window: Window, now: number): void {
    const { log } = window;
    const horizon = now - this.#windowMs;
    let gone = 0;
    while (gone < log.length && log[gone]! <= horizon) {
      window.total -= log[gone + 1]!;
      gone += 2;
    }
    if (gone > 0) log.splice(0, gone);
  }

  #endOfPart(now: number): number {
    const part = this.#windowMs / maxGroups;
    return (Math.floor(now / part) + 1) * part;
  }
}
