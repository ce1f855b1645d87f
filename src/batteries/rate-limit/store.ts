/** What became of one request. */
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
  /** Tells the policies of an application apart; the same in every worker. */
  readonly name: string;
  readonly kind: "token_bucket" | "sliding_window";
  readonly windowMs: number;
  readonly maxKeys: number;
}

/** Counts the requests of clients, told apart by key. */
export interface RateLimiter {
  /** `limit` requests are allowed in the policy's window. */
  take(key: string, limit: number): RateVerdict | Promise<RateVerdict>;
}

/** Where requests are counted: in this process, or in a store that all workers share. */
export interface RateLimitStore {
  limiter(policy: RatePolicy): RateLimiter;
}
