import type { RateLimiter, RateVerdict } from "./store.js";

/** Requests of one client that were counted in advance, for another process that allows them without asking. */
export interface Loan {
  readonly tokens: number;
  /** Milliseconds for which they may be used. */
  readonly life: number;
  /** Milliseconds of a bucket for each; the time of a window under which they are counted. */
  readonly basis: number;
}

/** Milliseconds for which a loan may be used. */
export const loanLife = 100;

/** A limiter whose requests other processes can borrow. All together allow no more than the limit. */
export interface LendingLimiter extends RateLimiter {
  /** What is left of the limit, without counting anything. */
  look(key: string, limit: number): Pick<RateVerdict, "remaining" | "resetMs">;
  /** Counts up to `tokens` requests in advance, of a key that was just allowed one; null for none. */
  lend(key: string, limit: number, tokens: number): Loan | null;
  /** Ends a loan, of which some requests were not used. */
  settle(key: string, loan: Loan, unused: number): void;
}
