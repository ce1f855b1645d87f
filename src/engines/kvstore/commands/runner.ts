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

export interface BlockOptions {
  /** Ends the wait; the call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}
