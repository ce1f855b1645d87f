import { isQueries } from "../../engines/db/is-queries.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { type Check, is } from "../../kit/options.js";
import type { ExpectedVersion } from "./errors.js";
import type { EventMap, EventMetadata, PlainEvent } from "./event.js";

export const waitForOptions = options("waitFor()", {
  /** Time after which the call returns false. Default 5 seconds. */
  timeoutMs: option.milliseconds("5s"),
  /** The call returns false when it is aborted. */
  signal: option(is.signal),
});

export interface WaitForOptions extends OptionsOf<typeof waitForOptions.fields> {}

const isDate: Check<Date> = (value) => (value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : "a Date");

export const loadOptions = options("load()", {
  /** The state after this version of the stream, in place of the newest one. */
  version: option(is.integer(1), Number.MAX_SAFE_INTEGER),
  /** The state at this time, by the clock of the store. */
  at: option(isDate),
  /** The transaction to read in. Default: the one around the caller, if there is one. */
  tx: option(isQueries),
});

export interface LoadOptions extends OptionsOf<typeof loadOptions.fields> {}

const writeFields = {
  /** For all of the events; the metadata of an event wins. */
  metadata: option<EventMetadata>(is.record),
  /** The transaction to take part in. Default: the one around the caller, if there is one. */
  tx: option(isQueries),
};

export const appendOptions = options("append()", {
  /**
   * The version that the stream must have: a number of events, `none` for a new stream, `exists` for any but a new one, or
   * `any`. Default `any`.
   */
  expectedVersion: option<ExpectedVersion>(is.either(is.oneOf("any", "none", "exists"), is.integer(0)), "any"),
  ...writeFields,
});

export interface AppendOptions extends OptionsOf<typeof appendOptions.fields> {}
export type AppendSettings = SettingsOf<typeof appendOptions.fields>;

export interface AppendResult {
  /** The version of the stream with these events. */
  readonly version: number;
  /** The position of the last of them among all events. */
  readonly position: number;
  /** True if the events had been stored by an earlier call with the same ids. */
  readonly known: boolean;
}

const readFields = {
  /** True reads from the end to the beginning. Default false. */
  backwards: option(is.boolean, false),
  /** The most events. Default: no limit. */
  limit: option(is.limit(0), Infinity, "no limit"),
  /** True for archived events too. Default false. */
  archived: option(is.boolean, false),
};

export const readOptions = options("read()", {
  /** The first version to read; backwards, the last one. Default: the beginning, or the end. */
  from: option(is.integer(0)),
  ...readFields,
  /** The transaction to read in. Default: the one around the caller, if there is one. */
  tx: option(isQueries),
});

export interface ReadOptions extends OptionsOf<typeof readOptions.fields> {}

export const readAllOptions = options("readAll()", {
  /** Events after this position, or backwards up to it. Default 0. */
  from: option(is.integer(0), 0),
  ...readFields,
  /** Only events of these types. Default: all. */
  types: option(is.strings),
});

export interface ReadAllOptions extends OptionsOf<typeof readAllOptions.fields> {}

export const saveOptions = options("save()", writeFields);

export interface SaveOptions extends OptionsOf<typeof saveOptions.fields> {}

const handleFields = {
  ...writeFields,
  /** The number of times that the function may run again after a conflict. Default 5. */
  retries: option(is.limit(0), 5),
};

export const handleOptions = options("handle()", handleFields);

export const updateOptions = options("update()", {
  ...handleFields,
  /** True begins with a new aggregate where there is none. Default false. */
  create: option(is.boolean, false),
});

export interface UpdateOptions extends OptionsOf<typeof updateOptions.fields> {}

/** The outcome of a command to a decider. */
export interface Decision<State, Events extends EventMap> extends AppendResult {
  readonly state: State;
  readonly events: readonly PlainEvent<Events>[];
}

export const truncateOptions = options("truncateBefore()", {
  /** False deletes the events for good; true moves them to the archive. Default true. */
  archive: option(is.boolean, true),
});

export interface TruncateOptions extends OptionsOf<typeof truncateOptions.fields> {}

export interface ForgetResult {
  /** The streams that have events of the person. */
  readonly streams: readonly string[];
}
