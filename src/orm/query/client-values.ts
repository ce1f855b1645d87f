import { ParameterValueError } from "../../engines/db/errors.js";
import { Compiler } from "../compile/compiler.js";
import { resolvePath, type Scope, shown } from "../compile/scope.js";
import type { ColumnType } from "../meta.js";
import type { ConditionNode, Query } from "../nodes.js";

/**
 * The conditions in a client's query string. A repeated `id__in` becomes one list, because forms and URLSearchParams
 * write lists in this way. For any other repeated key, all of its conditions must hold.
 */
export function clientLookups(scope: Scope, entries: readonly (readonly [string, unknown])[]): Lookup[] {
  const lists = new Map<string, unknown[]>();
  const lookups: Lookup[] = [];
  for (const [key, given] of entries) {
    const value = fromClient(scope, key, given);
    const list = lists.get(key);
    if (list !== undefined && Array.isArray(value)) {
      for (const item of value) list.push(item);
      continue;
    }
    lookups.push({ type: "lookup", key, value });
    if (lookupOf(key) === "in" && Array.isArray(value)) lists.set(key, value);
  }
  return lookups;
}

/** Checks the values of the last condition of a query, which would be checked only when the query is sent. */
export function checkLast(query: Query): void {
  const compiler = new Compiler();
  compiler.condition(query.where.at(-1)!, compiler.scope(query));
}

type Lookup = Extract<ConditionNode, { type: "lookup" }>;

/** True for a lookup whose value is a regular expression. */
export function isPattern({ key }: Lookup): boolean {
  return lookupOf(key) === "regex" || lookupOf(key) === "iregex";
}

/** The last part of a key; empty for a field alone. */
function lookupOf(key: string): string {
  const at = key.lastIndexOf("__");
  return at === -1 ? "" : key.slice(at + 2);
}

/** A value of a query string, converted to the type of the lookup's field. */
function fromClient(scope: Scope, key: string, value: unknown): unknown {
  const lookup = lookupOf(key);
  const isList = lookup === "in" || lookup === "range";
  if (typeof value !== "string" && !(isList && Array.isArray(value))) return value;
  const found = resolvePath(scope, key);
  const type = found.kind === "column" ? found.column.type : undefined;
  if (typeof value !== "string")
    return (value as unknown[]).map((item) => (typeof item === "string" ? convert(key, type, item) : item));
  if (lookup === "isnull") return toBoolean(key, value);
  if (isList) return value.split(",").map((item) => convert(key, type, item));
  return convert(key, type, value);
}

function convert(key: string, type: ColumnType | undefined, value: string): unknown {
  switch (type?.kind) {
    case "smallInt":
    case "int":
    case "float": {
      const number = Number(value);
      if (value.trim() === "" || !Number.isFinite(number))
        throw new ParameterValueError(`${shown(key)} needs a number`);
      return number;
    }
    case "bigInt":
      if (!/^[+-]?\d{1,20}$/.test(value)) throw new ParameterValueError(`${shown(key)} needs an integer`);
      return BigInt(value);
    case "bool":
      return toBoolean(key, value);
    default:
      return value;
  }
}

function toBoolean(key: string, value: string): boolean {
  if (value === "true" || value === "1") return true;
  if (value === "false" || value === "0") return false;
  throw new ParameterValueError(`${shown(key)} needs true or false`);
}
