import type { BreakerPolicy } from "../../../src/batteries/circuit-breaker/store.js";
import type { RatePolicy } from "../../../src/batteries/rate-limit/store.js";

/** Limits that are counted while processes are killed: two that nothing comes back of in hours, and two short windows. */
export const policies: readonly RatePolicy[] = [
  { name: "bucket", kind: "token_bucket", windowMs: 1e15, maxKeys: 1000 },
  { name: "window", kind: "sliding_window", windowMs: 1e15, maxKeys: 1000 },
  { name: "parts", kind: "sliding_window", windowMs: 64, maxKeys: 1000 },
  { name: "times", kind: "sliding_window", windowMs: 2, maxKeys: 1000 },
];
export const limit: readonly number[] = [1e8, 1e8, 1e8, 50];
/** Clients of each policy. */
export const keys = 20;

/** Circuits that are used meanwhile: one counts failures, one changes its state, one is half-open and stays it. */
export const circuits: readonly BreakerPolicy[] = [
  { route: "counts", failureThreshold: 1e9, resetMs: 1, halfOpenTarget: 1 },
  { route: "changes", failureThreshold: 3, resetMs: 5, halfOpenTarget: 2 },
  { route: "probes", failureThreshold: 1, resetMs: 1, halfOpenTarget: 1 },
];
/** The notes of counted failures, and of the changes of each circuit. */
export const failuresAt = 1000;
export const changesAt = 1001;

/** Where the notes begin: the started processes, the two sums of additions, then the allowed requests by place. */
export function noteAt(buffer: ArrayBuffer): number {
  return buffer.byteLength - 4096;
}
