import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { is } from "../../../kit/options.js";

const queryLogOptions = options("logQueries", {
  /** Time from which a statement is slow: its line is a warning. Default 200 ms. */
  slow: option.duration("200ms", 0, "24d"),
  /** True to log slow statements only. Default false. */
  slowOnly: option(is.boolean, false),
  /** True to log the values of parameters, except those of columns with secret names. Default false. */
  parameters: option(is.boolean, false),
  /** True to log the plan of slow statements. The statement is planned again, never run again. Default false. */
  explain: option(is.boolean, false),
  /** True to log the file and line that sent a statement. Default: in development. */
  caller: option(is.boolean),
  /** Runs of one statement in a request from which on the log names it; 0 for never. Default 5. */
  repeated: option(is.integer(0, 1_000_000), 5),
});

export interface QueryLogOptions extends OptionsOf<typeof queryLogOptions.fields> {}

/** `caller` is undefined where the environment decides. */
export type QueryLogSettings = SettingsOf<typeof queryLogOptions.fields>;

/** The check of option `logQueries`. What its object holds is checked when it is read. */
export const isQueryLog = is.either<[boolean, EitherSpelling<QueryLogOptions>]>(is.boolean, is.object);

/** Reads option `logQueries`; null if it is off. */
export function readQueryLog(given: boolean | EitherSpelling<QueryLogOptions>): QueryLogSettings | null {
  return given === false ? null : queryLogOptions.read(given === true ? [] : [given]);
}
