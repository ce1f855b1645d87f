/** The decision about one request. */
export interface RateVerdict {
  readonly allowed: boolean;
  /** Requests that could follow at once, each of the cost 1. */
  readonly remaining: number;
  /** Milliseconds until everything is available again, if no request follows. */
  readonly resetMs: number;
  /** Milliseconds until a request of the same cost will be allowed again; 0 when this one was. */
  readonly retryMs: number;
}

export interface RatePolicy {
  /** Identifies the policy within an application; the same in every worker. */
  readonly name: string;
  readonly kind: "token_bucket" | "sliding_window";
  readonly windowMs: number;
  readonly maxKeys: number;
}

/** Counts the requests of clients by key. */
export interface RateLimiter {
  /** `limit` requests are allowed in the policy's window. This one counts as `cost` of them: 1 by default, `limit` at most. */
  take(key: string, limit: number, cost?: number): RateVerdict | Promise<RateVerdict>;
}

/** A store of counts: in this process, or shared by all workers. */
export interface RateLimitStore {
  limiter(policy: RatePolicy): RateLimiter;
}
