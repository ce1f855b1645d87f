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
