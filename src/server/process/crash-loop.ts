import { backoff } from "../../kit/time/backoff.js";

/** Milliseconds without a death after which earlier ones are forgotten. */
const window = 60_000;
/** Milliseconds after which a worker counts as having started well. */
const settled = 2_000;
/** The longest pauses in milliseconds. Clients can make workers die that had started, so the pause for the next is short. */
export const longestPause = { started: 1_000, notStarted: 30_000 };

/**
 * The pauses between the workers of one place. Deaths before or soon after the start are counted, and the pause before the
 * next start grows with them.
 */
export class CrashLoop {
  #count = 0;
  #last = Number.NEGATIVE_INFINITY;

  /** Milliseconds to wait before the next start. */
  add(readyAt: number | null, now: number = performance.now()): number {
    if (readyAt !== null && now - readyAt >= settled) return 0;
    if (now - this.#last >= window) this.#count = 0;
    this.#last = now;
    const count = ++this.#count;
    if (count === 1) return 0;
    return backoff(count, 50, readyAt === null ? longestPause.notStarted : longestPause.started, 2, 0);
  }
}
