const window = 30_000;
const limit = 5;
/** Milliseconds after which a worker counts as having started well. */
const settled = 2_000;

/**
 * Distinguishes a worker that died once from a program that cannot run: deaths before or soon after the start are
 * counted, and the wait before the next start grows with them.
 */
export class CrashLoop {
  #deaths: number[] = [];

  /** Milliseconds to wait before the next start, or null when it is no use. */
  add(readyAt: number | null, now: number = performance.now()): number | null {
    if (readyAt !== null && now - readyAt >= settled) return 0;
    this.#deaths = this.#deaths.filter((death) => now - death < window);
    const count = this.#deaths.push(now);
    if (count >= limit) return null;
    return count === 1 ? 0 : 50 * 2 ** count;
  }
}
