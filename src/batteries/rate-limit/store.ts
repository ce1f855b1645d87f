/** The decision about one request. */
export interface RateVerdict {
  readonly allowed: boolean;
  /** Requests that could follow at once. */
  readonly remaining: number;
  /** Milliseconds until everything is available again, if no request follows. */
  readonly resetMs: number;
  /** Milliseconds until a request will be allowed again; 0 when this one was. */
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
  /** `limit` requests are allowed in the policy's window. */
  take(key: string, limit: number): RateVerdict | Promise<RateVerdict>;
}

/** A store of counts: in this process, or shared by all workers. */
export interface RateLimitStore {
  limiter(policy: RatePolicy): RateLimiter;
}
