import type { EitherSpelling } from "../../../internal/names.js";
import { type Check, type Checks, is, readOptions } from "../../../internal/options.js";

export interface QueryLogOptions {
  /** Milliseconds from which a statement is slow: its line is a warning. 200 unless given. */
  slow?: number;
  /** True to log slow statements only. */
  slowOnly?: boolean;
  /** True to log the values of parameters, except those of columns with secret names. */
  parameters?: boolean;
  /** True to log the plan of slow statements. The statement is planned again, never run again. */
  explain?: boolean;
  /** True to log the file and line that sent a statement. Default: in development. */
  caller?: boolean;
  /** The number of times that one statement may run in a request before the log names it; 5 unless given, 0 for never. */
  repeated?: number;
}

/** The options with their defaults; `caller` is null where the environment decides. */
export interface QueryLogSettings {
  readonly slow: number;
  readonly slowOnly: boolean;
  readonly parameters: boolean;
  readonly explain: boolean;
  readonly caller: boolean | null;
  readonly repeated: number;
}

const checks: Checks<QueryLogOptions> = {
  slow: is.number(0, 2_147_483_647),
  slowOnly: is.boolean,
  parameters: is.boolean,
  explain: is.boolean,
  caller: is.boolean,
  repeated: is.integer(0, 1_000_000),
};

/** The check of option `logQueries`. What its object holds is checked when it is read. */
export const isQueryLog: Check = is.either(is.boolean, is.object);

/** Reads option `logQueries`; null if it is off. */
export function readQueryLog(given: boolean | EitherSpelling<QueryLogOptions> | undefined): QueryLogSettings | null {
  if (given === undefined || given === false) return null;
  const options = given === true ? {} : readOptions<QueryLogOptions>("logQueries", given, checks);
  return {
    slow: options.slow ?? 200,
    slowOnly: options.slowOnly ?? false,
    parameters: options.parameters ?? false,
    explain: options.explain ?? false,
    caller: options.caller ?? null,
    repeated: options.repeated ?? 5,
  };
}
