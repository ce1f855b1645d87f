import { perProcess } from "../../pipeline/shared-stores.js";
import type { LendingLimiter } from "./loans.js";
import { RecentMap } from "./recent-map.js";
import { SlidingWindows } from "./sliding-windows.js";
import type { RateLimitStore, RatePolicy } from "./store.js";
import { TokenBuckets } from "./token-buckets.js";

/** Counts in this process alone. */
export class MemoryRateLimitStore implements RateLimitStore {
  readonly [perProcess] = true;

  limiter({ kind, windowMs, maxKeys }: RatePolicy): LendingLimiter {
    return kind === "sliding_window"
      ? new SlidingWindows(windowMs, new RecentMap(maxKeys, windowMs * 2))
      : new TokenBuckets(windowMs, new RecentMap(maxKeys, windowMs));
  }
}
