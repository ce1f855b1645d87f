import { sleep } from "./within.js";

/**
 * Milliseconds before the next attempt, counted from 0: multiplied each time by `factor`, up to a limit. The share `jitter` of
 * it is random, so that clients that failed together do not come back together; it is taken off, so that the limit holds.
 */
export function backoff(
  attempt: number,
  first: number,
  longest: number,
  factor: number = 2,
  jitter: number = 0.5,
): number {
  return Math.min(first * factor ** Math.min(attempt, 100), longest) * (1 - jitter * Math.random());
}

/**
 * Looks until there is something, with pauses that double from `first` up to `longest` milliseconds. Null if the time is over
 * first, or the signal is aborted.
 */
export async function poll<T>(
  look: () => Promise<T | null>,
  { first, longest, timeoutMs, signal }: Polling,
): Promise<T | null> {
  const end = performance.now() + timeoutMs;
  for (let attempt = 0; ; attempt++) {
    const found = await look();
    if (found !== null) return found;
    const left = end - performance.now();
    if (left <= 0 || signal?.aborted) return null;
    await sleep(Math.min(backoff(attempt, first, longest, 2, 0), left), ...(signal ? [signal] : []));
  }
}

interface Polling {
  readonly first: number;
  readonly longest: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}
