import { type Checks, is, readOptions } from "../../../internal/options.js";

/** The attempts of a handler that fails. Times are in seconds. */
export interface RetryOptions {
  /** Attempts, the first included. Default 5. */
  readonly attempts?: number;
  /** The pause after the first attempt. Default 1. */
  readonly delay?: number;
  /** The pause grows by this factor from attempt to attempt. Default 2. */
  readonly factor?: number;
  /** The longest pause. Default 60. */
  readonly maxDelay?: number;
  /** The share of the pause that is random, from 0 to 1. Default 0.5. */
  readonly jitter?: number;
  /** False for an error that another attempt cannot cure: the message becomes a dead letter at once. */
  readonly when?: (error: unknown) => boolean;
}

export type RetrySettings = Required<RetryOptions>;

const defaults: RetrySettings = { attempts: 5, delay: 1, factor: 2, maxDelay: 60, jitter: 0.5, when: () => true };

const checks: Checks<RetryOptions> = {
  attempts: is.integer(1, 1000),
  delay: is.number(0, 86_400),
  factor: is.number(1, 100),
  maxDelay: is.number(0, 86_400),
  jitter: is.number(0, 1),
  when: is.function,
};

export function readRetry(owner: string, given: unknown): RetrySettings {
  if (given === false) return { ...defaults, attempts: 1 };
  return { ...defaults, ...readOptions<RetryOptions>(`'retry' of ${owner}`, given, checks) };
}

/** Milliseconds between an attempt and the next. */
export function pauseAfter(attempt: number, retry: RetrySettings, random: () => number = Math.random): number {
  const { delay, factor, maxDelay, jitter } = retry;
  const pause = Math.min(delay * factor ** (attempt - 1), maxDelay);
  // The random part is taken off, so that `maxDelay` holds.
  return Math.round(pause * (1 - jitter * random()) * 1000);
}
