import { isTextUpTo } from "../../durable/texts.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { EventStore } from "../events/event-store.js";
import { type CqrsConfig, longestKey } from "./config.js";
import type { IdempotencyKeys } from "./idempotency.js";
import type { MessageMonitor } from "./monitor.js";

export const executeOptions = options("execute()", {
  /** Aborts the signal of the handler. */
  signal: option(is.signal),
  /** A command with the same key and input has its effect once, and its first result is returned again. */
  idempotencyKey: option(isTextUpTo(longestKey)),
});

export interface ExecuteOptions extends OptionsOf<typeof executeOptions.fields> {}

/** The outcome of a query. */
export interface QueryResult<Value> {
  readonly value: Value;
}

/** The outcome of a command. */
export interface CommandResult<Value> extends QueryResult<Value> {
  /** True if it is the result of an earlier call with the same idempotency key. */
  readonly repeated: boolean;
  /**
   * False if `enableEventSync` is on and a projection had not processed the events of the command in time, or there is no
   * event store.
   */
  readonly synced: boolean;
}

export interface BusContext {
  readonly kind: "command" | "query";
  readonly name: string;
  readonly input: unknown;
  readonly signal: AbortSignal;
}

/** Code around every command or query: it calls `next`, and returns its result or another one. */
export type BusMiddleware = (context: BusContext, next: () => Promise<unknown>) => unknown;

/** The services that a bus uses; null where they are not enabled. */
export interface BusServices {
  readonly config: CqrsConfig;
  /** Null until the start. */
  keys(): IdempotencyKeys | null;
  /** True if commands can have idempotency keys. */
  hasDatabase(): boolean;
  eventStore(): EventStore | null;
  /** Set at the start; null where neither metrics nor spans are enabled. */
  monitor: MessageMonitor | null;
}
