import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";

const queryFields = {
  /** Cancels the statement, on the server too; the call then fails with `OperationalError`. */
  signal: option(is.signal),
  /** Time after which the statement is cancelled; the configured `statementTimeout` holds as well. */
  timeout: option.duration(null, "1ms", "24d"),
  /** False keeps this statement out of the cache of prepared statements: for text that is never the same twice. */
  prepare: option(is.boolean),
};

const queryOptions = options("a statement", queryFields);

export interface QueryOptions extends OptionsOf<typeof queryOptions.fields> {}
export type QuerySettings = Partial<SettingsOf<typeof queryOptions.fields>>;

const cursorOptions = options("cursor()", {
  ...queryFields,
  /** Rows fetched at a time. Default 100. */
  batch: option(is.integer(1, 1_000_000), 100),
});

export interface CursorOptions extends OptionsOf<typeof cursorOptions.fields> {}
export type CursorSettings = QuerySettings & { readonly batch: number };

const noOptions: QuerySettings = {};

/** Reads the options of a statement. Most have none, and most of the others one: these take 0.2 µs. */
export function readQueryOptions(given: QueryOptions | undefined): QuerySettings {
  return given === undefined ? noOptions : queryOptions.readGiven([given]);
}

export function readCursorOptions(given: CursorOptions | undefined): CursorSettings {
  return cursorOptions.read([given]);
}
