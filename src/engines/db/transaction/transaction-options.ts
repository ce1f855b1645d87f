import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import { milliseconds } from "../../../kit/time/duration.js";
import { ValueError } from "../../../kit/value-error.js";
import { ProgrammingError } from "../errors.js";

const isolations = ["read committed", "repeatable read", "serializable"] as const;

export type Isolation = (typeof isolations)[number];

type SettingValues = Readonly<Record<string, string | number | bigint | boolean>>;

const transactionOptions = options("transaction()", {
  /** The isolation from other transactions. Default: that of the server. */
  isolation: option(is.oneOf(...isolations)),
  /** True for a transaction that changes nothing. */
  readOnly: option(is.boolean),
  /** With `serializable` and `readOnly`: waits until it can run without a risk of serialization failure. */
  deferrable: option(is.boolean),
  /** Time that each statement in it may run, in place of the configured limit; 0 for no limit. */
  statementTimeout: option.duration(null, 0, "24d"),
  /**
   * Settings that hold until the end of the transaction: `{ "app.user": id }`, which policies of row-level security read
   * with `current_setting('app.user')`. Also those of the server, such as `role`.
   */
  settings: option<SettingValues>(is.record),
  /** The number of times that the function may run again after a serialization failure, a deadlock or a change of a table. */
  retry: option(is.integer(0, 100)),
  /** Ends the transaction: it is rolled back. */
  signal: option(is.signal),
});

const sessionOptions = options("session()", {
  /** Time that each statement in it may run, in place of the configured limit; 0 for no limit. */
  statementTimeout: option.duration(null, 0, "24d"),
  /** Ends the statements of the session. */
  signal: option(is.signal),
});

/** Options that may be given as undefined, as programs that pass their own on do. */
type Loose<O> = { readonly [K in keyof O]: O[K] | undefined };

export type TransactionOptions = Loose<OptionsOf<typeof transactionOptions.fields>>;
export type SessionOptions = Loose<OptionsOf<typeof sessionOptions.fields>>;

/** The options of an outermost transaction, checked; times in milliseconds, as the server counts. */
export interface TransactionSettings
  extends Partial<Omit<SettingsOf<typeof transactionOptions.fields>, "settings" | "statementTimeout">> {
  readonly statementMs: number | undefined;
  readonly settings: ReadonlyMap<string, string>;
}

export function readTransactionOptions(given: TransactionOptions | undefined): TransactionSettings {
  const { settings, statementTimeout, ...rest } = transactionOptions.readGiven([given]);
  return { ...rest, statementMs: inMilliseconds(statementTimeout), settings: readSettings(settings) };
}

export function readSessionOptions(given: SessionOptions | undefined): {
  readonly statementMs: number | undefined;
  readonly signal: AbortSignal | undefined;
} {
  const { statementTimeout, signal } = sessionOptions.read([given]);
  return { statementMs: inMilliseconds(statementTimeout), signal };
}

function inMilliseconds(time: number | undefined): number | undefined {
  return time === undefined ? undefined : milliseconds(time);
}

const noSettings: ReadonlyMap<string, string> = new Map();

/** Checks settings. No message repeats a value. */
function readSettings(given: SettingValues | undefined): ReadonlyMap<string, string> {
  if (given === undefined) return noSettings;
  const settings = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) {
    if (name === "" || name.includes("\0"))
      throw new ValueError("option 'settings' in transaction(): a name is not valid");
    if (!["string", "number", "bigint", "boolean"].includes(typeof value)) {
      const kind = value === null ? "null" : typeof value;
      throw new ValueError(`option 'settings' in transaction(): '${name}' must be a string or a number, not ${kind}`);
    }
    settings.set(name, String(value));
  }
  return settings;
}

/** The signal of a transaction inside another one, which is a savepoint. */
export function readInnerOptions(options: TransactionOptions | undefined): {
  readonly signal?: AbortSignal | undefined;
} {
  const { signal, ...outer } = transactionOptions.readGiven([options]);
  const [name] = Object.keys(outer);
  if (name !== undefined) throw new ProgrammingError(`option '${name}' is for the outermost transaction only`);
  return { signal };
}

export function beginStatement({
  isolation,
  readOnly,
  deferrable,
}: Pick<TransactionOptions, "isolation" | "readOnly" | "deferrable">): string {
  let text = "begin";
  if (isolation !== undefined) text += ` isolation level ${isolation}`;
  if (readOnly !== undefined) text += readOnly ? " read only" : " read write";
  if (deferrable !== undefined) text += deferrable ? " deferrable" : " not deferrable";
  return text;
}
