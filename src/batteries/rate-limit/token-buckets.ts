import { type LendingLimiter, type Loan, loanLife } from "./loans.js";
import type { RecentMap } from "./recent-map.js";
import type { RateVerdict } from "./store.js";

/** A bucket is no more than the time at which it will be full again (the generic cell rate algorithm). */
interface Bucket {
  fullAt: number;
  /** Milliseconds that are lent. They cannot refill: a client that comes back to a full bucket would get them twice. */
  lent: number;
}

/** Token buckets: `limit` requests at once, refilled evenly over the window. */
export class TokenBuckets implements LendingLimiter {
  constructor(
    private readonly windowMs: number,
    private readonly buckets: RecentMap<Bucket>,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  take(key: string, limit: number, cost = 1): RateVerdict {
    const now = this.clock();
    let bucket = this.buckets.get(key, now);
    if (bucket === undefined) {
      bucket = { fullAt: now, lent: 0 };
      this.buckets.add(key, bucket, now);
    }
    const verdict = takeOf(Math.max(bucket.lent, bucket.fullAt - now), this.windowMs, limit, cost);
    if (verdict.allowed) bucket.fullAt = now + verdict.resetMs;
    return verdict;
  }

  look(key: string, limit: number): { remaining: number; resetMs: number } {
    const now = this.clock();
    const bucket = this.buckets.get(key, now);
    const missing = bucket === undefined ? 0 : Math.max(0, bucket.lent, bucket.fullAt - now);
    return { remaining: Math.floor(((this.windowMs - missing) / this.windowMs) * limit + 0.001), resetMs: missing };
  }

  lend(key: string, limit: number, tokens: number): Loan | null {
    const now = this.clock();
    const bucket = this.buckets.get(key, now);
    if (bucket === undefined) return null;
    const basis = this.windowMs / limit;
    const missing = Math.max(bucket.lent, bucket.fullAt - now);
    const count = Math.min(tokens, Math.floor((this.windowMs - missing) / basis));
    if (count < 1) return null;
    bucket.fullAt = now + missing + count * basis;
    bucket.lent += count * basis;
    return { tokens: count, life: loanLife, basis };
  }

  settle(key: string, { tokens, basis }: Loan, unused: number): void {
    const now = this.clock();
    const bucket = this.buckets.get(key, now);
    if (bucket === undefined) return;
    const missing = Math.max(bucket.lent, bucket.fullAt - now);
    bucket.lent = Math.max(0, bucket.lent - tokens * basis);
    bucket.fullAt = now + Math.max(bucket.lent, missing - unused * basis);
  }
}

/** The decision of a bucket that is full again in `missing` milliseconds. After an allowed request it is in `resetMs`. */
export function takeOf(missing: number, windowMs: number, limit: number, cost: number): RateVerdict {
  const interval = windowMs / limit;
  const taken = interval * cost;
  const left = windowMs - missing - taken;
  // Sums of fractions of milliseconds are not exact; a thousandth of a request does not matter.
  if (left < interval * -0.001) {
    const remaining = Math.max(0, Math.floor((windowMs - missing) / interval + 0.001));
    return { allowed: false, remaining, resetMs: missing, retryMs: -left };
  }
  const remaining = Math.max(0, Math.floor(left / interval + 0.001));
  return { allowed: true, remaining, resetMs: missing + taken, retryMs: 0 };
}
