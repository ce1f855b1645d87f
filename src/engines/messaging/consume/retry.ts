import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import { backoff } from "../../../kit/time/backoff.js";

const retryOptions = options("retry", {
  /** Attempts, the first included. Default 5. */
  attempts: option(is.integer(1, 1000), 5),
  /** The pause after the first attempt. Default 1 second. */
  delay: option.duration("1s", 0, "1d"),
  /** The pause grows by this factor from attempt to attempt. Default 2. */
  factor: option(is.number(1, 100), 2),
  /** The longest pause. Default 1 minute. */
  maxDelay: option.duration("1m", 0, "1d"),
  /** The share of the pause that is random, from 0 to 1. Default 0.5. */
  jitter: option(is.number(0, 1), 0.5),
  /** False for an error that another attempt cannot cure: the message becomes a dead letter at once. */
  when: option<(error: unknown) => boolean>(is.function, () => true),
});

/** The attempts of a handler that fails. */
export interface RetryOptions extends OptionsOf<typeof retryOptions.fields> {}
export type RetrySettings = SettingsOf<typeof retryOptions.fields>;

export function readRetry(owner: string, given: RetryOptions | false | undefined): RetrySettings {
  return retryOptions.read([given === false ? { attempts: 1 } : given], `'retry' of ${owner}`);
}

/** Milliseconds between an attempt and the next. */
export function pauseAfter(attempt: number, { delay, factor, maxDelay, jitter }: RetrySettings): number {
  return Math.round(backoff(attempt - 1, delay * 1000, maxDelay * 1000, factor, jitter));
}
