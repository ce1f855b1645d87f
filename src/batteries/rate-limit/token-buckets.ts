import type { RecentMap } from "./recent-map.js";
import type { RateLimiter, RateVerdict } from "./store.js";

/** A bucket is no more than the time at which it will be full again (the generic cell rate algorithm). */
interface Bucket {
  fullAt: number;
}

/** Token buckets: `limit` requests at once, refilled evenly over the window. */
export class TokenBuckets implements RateLimiter {
  readonly #windowMs: number;
  readonly #buckets: RecentMap<Bucket>;
  readonly #clock: () => number;

  constructor(windowMs: number, buckets: RecentMap<Bucket>, clock: () => number = () => performance.now()) {
    this.#windowMs = windowMs;
    this.#buckets = buckets;
    this.#clock = clock;
  }

  take(key: string, limit: number): RateVerdict {
    const now = this.#clock();
    const interval = this.#windowMs / limit;
    let bucket = this.#buckets.get(key, now);
    if (bucket === undefined) {
      bucket = { fullAt: now };
      this.#buckets.add(key, bucket, now);
    }
    const missing = Math.max(0, bucket.fullAt - now);
    const left = this.#windowMs - missing - interval;
    // Sums of fractions of milliseconds are not exact; a thousandth of a request does not matter.
    if (left < interval * -0.001) return { allowed: false, remaining: 0, resetMs: missing, retryMs: -left };
    bucket.fullAt = now + missing + interval;
    const remaining = Math.max(0, Math.floor(left / interval + 0.001));
    return { allowed: true, remaining, resetMs: missing + interval, retryMs: 0 };
  }
}
