import { option } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import { milliseconds } from "../../../kit/time/duration.js";
import type { Argument } from "../connection/raw-client.js";

/** Sends one call, at once or later in a batch. */
export interface CommandRunner {
  /** The prefix of keys and channels. */
  readonly prefix: string;
  /** True where keys of one call may lie on different servers: a call then takes one key. */
  readonly clustered: boolean;
  run<T>(name: string, args: readonly Argument[], read: (reply: unknown) => T, how?: CallOptions): Promise<T>;
}

export interface CallOptions {
  /** The reply is bytes, not text. */
  readonly bytes?: boolean;
  /** Milliseconds that the call may wait on the server; it gets its own connection. */
  readonly blockMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The options of calls that wait. */
export const waitFields = {
  /** Ends the wait; the call then rejects with the reason of the signal. */
  signal: option(is.signal),
};

/** The options of calls that read entries of a stream. */
export const readFields = {
  /** The most entries. Default 100. */
  count: option(is.integer(1), 100),
  /** Time to wait for an entry where there is none. Default: no wait. */
  block: option.duration(null, "1ms", "1d"),
  ...waitFields,
};

/** The arguments of a call that reads up to `count` entries and waits for them, and how it is made. */
export function readingOf(
  count: number,
  block: number | undefined,
  signal: AbortSignal | undefined,
): readonly [args: Argument[], how: CallOptions] {
  if (block === undefined) return [["COUNT", count], {}];
  const blockMs = milliseconds(block);
  return [["COUNT", count, "BLOCK", blockMs], { blockMs, signal }];
}
