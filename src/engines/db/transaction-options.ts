import { type Checks, is, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { TransactionOptions } from "./database.js";
import { ProgrammingError } from "./errors.js";

const checks: Checks<TransactionOptions> = {
  isolation: is.oneOf("read committed", "repeatable read", "serializable"),
  readOnly: is.boolean,
  deferrable: is.boolean,
  statementTimeout: is.integer(0, 2_147_483_647),
  settings: is.object,
  retry: is.integer(0, 100),
  signal: is.object,
};

/** The options of an outermost transaction, checked. */
export function readTransactionOptions(
  options: TransactionOptions | undefined,
): Omit<TransactionOptions, "settings"> & { readonly settings: ReadonlyMap<string, string> } {
  const given = readOptions<TransactionOptions>("transaction()", options, checks);
  return { ...given, settings: readSettings(given.settings) };
}

const noSettings: ReadonlyMap<string, string> = new Map();

/** Checks settings. No message repeats a value. */
function readSettings(given: TransactionOptions["settings"]): ReadonlyMap<string, string> {
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

/** The options of a transaction inside another one, which is a savepoint. */
export function readInnerOptions(options: TransactionOptions | undefined): Partial<TransactionOptions> {
  const given = readOptions<TransactionOptions>("transaction()", options, checks);
  for (const name of ["isolation", "readOnly", "deferrable", "statementTimeout", "settings", "retry"] as const) {
    if (given[name] !== undefined) throw new ProgrammingError(`option '${name}' is for the outermost transaction only`);
  }
  return given;
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
