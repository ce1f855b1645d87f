import { type LendingLimiter, type Loan, loanLife } from "./loans.js";
import type { RecentMap } from "./recent-map.js";
import type { RateVerdict } from "./store.js";

/** Times and counts in turn, oldest first, and the sum of the counts. */
export interface Window {
  total: number;
  readonly log: number[];
}

export const maxGroups = 64;

/**
 * Never more than `limit` requests in any period of the window's length. While limits are small, the time of each
 * request is stored. Beyond 64, the requests of one 64th of the window are stored together with the end of that part: a
 * window then costs no more memory, and a request waits longer than necessary by that part at most.
 */
export class SlidingWindows implements LendingLimiter {
  /** The map must keep what was used within two windows. */
  constructor(
    private readonly windowMs: number,
    private readonly windows: RecentMap<Window>,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  take(key: string, limit: number, cost = 1): RateVerdict {
    const now = this.clock();
    let window = this.windows.get(key, now);
    if (window === undefined) {
      window = { total: 0, log: [] };
      this.windows.add(key, window, now);
    }
    this.#forget(window, now);
    return takeFrom(window, now, this.windowMs, limit, cost);
  }

  look(key: string, limit: number): { remaining: number; resetMs: number } {
    const now = this.clock();
    const window = this.windows.get(key, now);
    if (window !== undefined) this.#forget(window, now);
    if (window === undefined || window.total === 0) return { remaining: limit, resetMs: 0 };
    const resetMs = window.log[window.log.length - 2]! + this.windowMs - now;
    return { remaining: Math.max(0, limit - window.total), resetMs };
  }

  /** Only where requests are counted together: they have the time of their part's end, up to which the loan holds. */
  lend(key: string, limit: number, tokens: number): Loan | null {
    const now = this.clock();
    const window = this.windows.get(key, now);
    if (window === undefined || limit <= maxGroups) return null;
    const { log } = window;
    const basis = endOfPart(now, this.windowMs);
    const count = Math.min(tokens, limit - window.total);
    if (count < 1 || log[log.length - 2] !== basis) return null;
    log[log.length - 1]! += count;
    window.total += count;
    return { tokens: count, life: Math.min(loanLife, basis - now), basis };
  }

  settle(key: string, { basis }: Loan, unused: number): void {
    const window = this.windows.get(key, this.clock());
    if (window === undefined) return;
    const { log } = window;
    for (let i = log.length - 2; i >= 0 && log[i]! >= basis; i -= 2) {
      if (log[i] !== basis) continue;
      const back = Math.min(unused, log[i + 1]!);
      log[i + 1]! -= back;
      window.total -= back;
      if (log[i + 1] === 0) log.splice(i, 2);
    }
  }

  #forget(window: Window, now: number): void {
    const { log } = window;
    const horizon = now - this.windowMs;
    let gone = 0;
    while (gone < log.length && log[gone]! <= horizon) {
      window.total -= log[gone + 1]!;
      gone += 2;
    }
    if (gone > 0) log.splice(0, gone);
  }
}

/** Counts a request in a window in which nothing is too old, if it is within the limit. */
export function takeFrom(window: Window, now: number, windowMs: number, limit: number, cost: number): RateVerdict {
  const { log } = window;
  if (window.total + cost > limit) {
    const resetMs = log[log.length - 2]! + windowMs - now;
    let last = 0;
    for (let left = window.total - log[1]!; left + cost > limit; left -= log[last + 1]!) last += 2;
    return {
      allowed: false,
      remaining: Math.max(0, limit - window.total),
      resetMs,
      retryMs: log[last]! + windowMs - now,
    };
  }
  const time = limit > maxGroups ? endOfPart(now, windowMs) : now;
  if (log.length > 0 && log[log.length - 2] === time) log[log.length - 1]! += cost;
  else log.push(time, cost);
  window.total += cost;
  return { allowed: true, remaining: limit - window.total, resetMs: time + windowMs - now, retryMs: 0 };
}

function endOfPart(now: number, windowMs: number): number {
  const part = windowMs / maxGroups;
  return (Math.floor(now / part) + 1) * part;
}
