import type { Queries } from "../../engines/db/database.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { type Check, is } from "../../kit/options.js";
import type { ExpectedVersion } from "./errors.js";
import type { EventMap, EventMetadata, PlainEvent } from "./event.js";

export const waitForOptions = options("waitFor()", {
  /** Time after which the call returns false. Default 5 seconds. */
  timeoutMs: option.milliseconds("5s"),
  /** The call returns false when it is aborted. */
  signal: option<AbortSignal>(is.object),
});

export interface WaitForOptions extends OptionsOf<typeof waitForOptions.fields> {}

const isDate: Check<Date> = (value) => (value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : "a Date");

export const loadOptions = options("load()", {
  /** The state after this version of the stream, in place of the newest one. */
  version: option(is.integer(1), Number.MAX_SAFE_INTEGER),
  /** The state at this time, by the clock of the store. */
  at: option(isDate),
  /** The transaction to read in. Default: the one around the caller, if there is one. */
  tx: option<Queries>(is.object),
});

export interface LoadOptions extends OptionsOf<typeof loadOptions.fields> {}

export interface AppendOptions {
  /**
   * The version that the stream must have: a number of events, `none` for a new stream, `exists` for any but a new one, or
   * `any`. Default `any`.
   */
  readonly expectedVersion?: ExpectedVersion | undefined;
  /** For all of the events; the metadata of an event wins. */
  readonly metadata?: EventMetadata | undefined;
  /** The transaction to take part in. Default: the one around the caller, if there is one. */
  readonly tx?: Queries | undefined;
}

export interface AppendResult {
  /** The version of the stream with these events. */
  readonly version: number;
  /** The position of the last of them among all events. */
  readonly position: number;
  /** True if the events had been stored by an earlier call with the same ids. */
  readonly known: boolean;
}

export interface ReadOptions {
  /** The first version to read; backwards, the last one. Default: the beginning, or the end. */
  readonly from?: number | undefined;
  readonly backwards?: boolean | undefined;
  /** The most events. Default: no limit. */
  readonly limit?: number | undefined;
  /** True for archived events too. Default false. */
  readonly archived?: boolean | undefined;
  readonly tx?: Queries | undefined;
}

export interface ReadAllOptions {
  /** Events after this position, or backwards up to it. */
  readonly from?: number | undefined;
  readonly backwards?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly types?: readonly string[] | undefined;
  /** True for archived events too. Default false. */
  readonly archived?: boolean | undefined;
}

export interface SaveOptions {
  /** The transaction to take part in. Default: the one around the caller, if there is one. */
  readonly tx?: Queries | undefined;
  readonly metadata?: EventMetadata | undefined;
}

export interface UpdateOptions extends SaveOptions {
  /** True begins with a new aggregate where there is none. Default false. */
  readonly create?: boolean | undefined;
  /** The number of times that the function may run again after a conflict. Default 5. */
  readonly retries?: number | undefined;
}

/** The outcome of a command to a decider. */
export interface Decision<State, Events extends EventMap> extends AppendResult {
  readonly state: State;
  readonly events: readonly PlainEvent<Events>[];
}

export interface TruncateOptions {
  /** False deletes the events for good; true moves them to the archive. Default true. */
  readonly archive?: boolean | undefined;
}

export interface ForgetResult {
  /** The streams that have events of the person. */
  readonly streams: readonly string[];
}
