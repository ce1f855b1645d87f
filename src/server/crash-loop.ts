/** Milliseconds without a death after which earlier ones are forgotten. */
const window = 60_000;
/** Deaths before the server has ever run, after which it is given up. */
const limit = 5;
/** Milliseconds after which a worker counts as having started well. */
const settled = 2_000;
/** The longest waits in milliseconds. Clients can make workers die that had started, so the wait for the next is short. */
const longest = { started: 1_000, notStarted: 30_000 };

/**
 * Distinguishes a worker that died once from a program that cannot run: deaths before or soon after the start are
 * counted, and the wait before the next start grows with them. A program that has never run is given up; one that has
 * run is started again for ever.
 */
export class CrashLoop {
  #count = 0;
  #last = Number.NEGATIVE_INFINITY;

  /** Milliseconds to wait before the next start, or null when it is no use. */
  add(readyAt: number | null, hasRun: boolean, now: number = performance.now()): number | null {
    if (readyAt !== null && now - readyAt >= settled) return 0;
    if (now - this.#last >= window) this.#count = 0;
    this.#last = now;
    const count = ++this.#count;
    if (!hasRun && count >= limit) return null;
    if (count === 1) return 0;
    return Math.min(readyAt === null ? longest.notStarted : longest.started, 50 * 2 ** Math.min(count, 20));
  }
}
