/** Conditions on composite keys: several columns that are compared together. */

import { ParameterTypeError } from "../../engines/db/errors.js";
import { FieldError } from "../errors.js";
import { array } from "../fields/encode.js";
import type { ColumnMeta, ModelConstructor, ModelMeta } from "../meta.js";
import type { Query } from "../nodes.js";
import { arrayTypeOf } from "./array-types.js";
import type { Context } from "./context.js";
import { encodeFor, queryOf } from "./operands.js";
import { type KeyResolution, type Scope, shown } from "./scope.js";

/** Compiles a lookup of a composite key. A key is given as an instance, or as the list of its values. */
export function compileKeyLookup(
  found: KeyResolution,
  path: string,
  value: unknown,
  context: Context,
  values: Scope,
): string {
  const { scope, columns, rest } = found;
  const [lookup = "exact", more] = rest;
  const sql = columns.map((column) => scope.column(column));
  const isNull = (holds: boolean): string =>
    holds
      ? `(${sql.map((each) => `${each} IS NULL`).join(" OR ")})`
      : `(${sql.map((each) => `${each} IS NOT NULL`).join(" AND ")})`;
  if (more === undefined && lookup === "isnull") {
    if (typeof value !== "boolean") throw new ParameterTypeError(`${shown(path)} takes true or false`);
    return isNull(value);
  }
  if (more === undefined && lookup === "in") return isIn(found, path, value, context, values);
  if (more === undefined && lookup === "range") return isBetween(found, path, value, context);
  const operator = more === undefined ? comparisons.get(lookup) : undefined;
  if (operator !== undefined) return compared(found, operator, path, value, context, values);
  if (more !== undefined || (lookup !== "exact" && lookup !== "ne"))
    throw new FieldError(
      `${shown(path)}: a key of several columns has the lookups exact, ne, gt, gte, lt, lte, in, range and isnull`,
    );
  if (value === null) return isNull(lookup === "exact");
  const query = queryOf(value);
  if (query) {
    const equal = query.empty
      ? "FALSE"
      : `${tupleOf(found)} = (${context.subselect(keysOf(found, path, query), values, "values")})`;
    return lookup === "exact" ? equal : `(${equal}) IS NOT TRUE`;
  }
  const equal = columns.map((column, at) => {
    const parameter = context.bind(value, (given) => encoded(found, path, at, keyOf(found, path, given)));
    return `${scope.column(column)} ${lookup === "exact" ? "=" : "IS DISTINCT FROM"} ${parameter}`;
  });
  return `(${equal.join(lookup === "exact" ? " AND " : " OR ")})`;
}

const comparisons = new Map([
  ["gt", ">"],
  ["gte", ">="],
  ["lt", "<"],
  ["lte", "<="],
]);

/** Keys are compared column by column, in the order of the key. */
function compared(
  found: KeyResolution,
  operator: string,
  path: string,
  value: unknown,
  context: Context,
  values: Scope,
): string {
  const query = queryOf(value);
  if (query?.empty) return "FALSE";
  const other = query
    ? `(${context.subselect(keysOf(found, path, query), values, "values")})`
    : boundKey(found, path, value, context, (given) => given);
  return whole(found, `${tupleOf(found)} ${operator} ${other}`);
}

function isBetween(found: KeyResolution, path: string, value: unknown, context: Context): string {
  const end = (at: 0 | 1): string =>
    boundKey(found, path, value, context, (given) => {
      if (Array.isArray(given) && given.length === 2) return given[at] as unknown;
      throw new ParameterTypeError(`${shown(path)} takes a list of two keys of ${found.target.name}`);
    });
  return whole(found, `${tupleOf(found)} BETWEEN ${end(0)} AND ${end(1)}`);
}

/** A key with a null in it is no key. PostgreSQL compares the columns before the null all the same. */
function whole({ scope, columns }: KeyResolution, condition: string): string {
  const nullable = columns.filter((column) => column.nullable);
  return `(${[condition, ...nullable.map((column) => `${scope.column(column)} IS NOT NULL`)].join(" AND ")})`;
}

/** The parameters of a key, which is a part of the lookup's value. */
function boundKey(
  found: KeyResolution,
  path: string,
  value: unknown,
  context: Context,
  part: (value: unknown) => unknown,
): string {
  const list = found.columns.map((_, at) =>
    context.bind(value, (given) => encoded(found, path, at, keyOf(found, path, part(given)))),
  );
  return `(${list.join(", ")})`;
}

function tupleOf({ scope, columns }: KeyResolution): string {
  return `(${columns.map((column) => scope.column(column)).join(", ")})`;
}

function isIn(found: KeyResolution, path: string, value: unknown, context: Context, values: Scope): string {
  const { columns, target } = found;
  const tuple = tupleOf(found);
  const query = queryOf(value);
  if (query?.empty) return "FALSE";
  if (query) return `${tuple} IN (${context.subselect(keysOf(found, path, query), values, "values")})`;
  const listOf = (given: unknown): unknown[] => {
    const items = given instanceof Set ? [...given] : given;
    if (!Array.isArray(items)) throw new ParameterTypeError(`${shown(path)} takes a list of keys of ${target.name}`);
    return items;
  };
  if (listOf(value).length === 0) return "FALSE";
  const lists = columns.map((column, at) => {
    const list = (given: unknown): unknown =>
      array(undefined)(listOf(given).map((item) => encoded(found, path, at, keyOf(found, path, item))));
    return `${context.bind(value, list)}::${arrayTypeOf(column.type)}`;
  });
  return `${tuple} IN (SELECT * FROM unnest(${lists.join(", ")}))`;
}

/** The rows with one of several keys. The keys are lists of values, in the order of the columns. */
export function compileKeys(
  columns: readonly ColumnMeta[],
  keys: readonly (readonly unknown[])[],
  scope: Scope,
  context: Context,
): string {
  const encode = (column: ColumnMeta, value: unknown): unknown =>
    encodeFor({ sql: "", type: column.type, column, name: `${scope.meta.name}.${column.name}` }, value);
  if (keys.length === 1) {
    const equal = columns.map(
      (column, at) => `${scope.column(column)} = ${context.param(encode(column, keys[0]![at]))}`,
    );
    return `(${equal.join(" AND ")})`;
  }
  const lists = columns.map((column, at) => {
    const list = array(undefined)(keys.map((key) => encode(column, key[at])));
    return `${context.param(list)}::${arrayTypeOf(column.type)}`;
  });
  const tuple = columns.map((column) => scope.column(column)).join(", ");
  return `(${tuple}) IN (SELECT * FROM unnest(${lists.join(", ")}))`;
}

/** The values of a key: those of an instance, or a list of them. */
function keyOf({ target, references }: KeyResolution, path: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value) && value.length === references.length && !value.includes(null)) return value;
  const meta = modelOf(value);
  if (meta === undefined)
    throw new ParameterTypeError(
      `${shown(path)} takes an instance of ${target.name}, or a list of ${references.length} values`,
    );
  if (meta.sqlName !== target.sqlName)
    throw new FieldError(`${shown(path)} cannot be compared with an instance of ${meta.name}`);
  return references.map((column) => {
    const found = (value as Record<string, unknown>)[column.attribute];
    if (found === undefined || found === null)
      throw new FieldError(
        `the instance of ${meta.name} given for ${shown(path)} is not saved: it has no ${column.name}`,
      );
    return found;
  });
}

function modelOf(value: unknown): ModelMeta | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value.constructor as Partial<ModelConstructor> | undefined)?.meta;
}

function encoded({ columns }: KeyResolution, path: string, at: number, key: readonly unknown[]): unknown {
  const column = columns[at]!;
  return encodeFor({ sql: "", type: column.type, column: undefined, name: `${path}.${column.name}` }, key[at]);
}

/** A subquery of models gives the keys of its rows. */
function keysOf({ target, references, columns }: KeyResolution, path: string, query: Query): Query {
  if (query.selection) {
    if (query.selection.fields.length === columns.length) return query;
    throw new FieldError(`${shown(path)} needs a query of ${columns.length} values`);
  }
  if (query.meta.sqlName !== target.sqlName)
    throw new FieldError(`${shown(path)} leads to ${target.name}, but the query is for ${query.meta.name}`);
  const fields = references.map(({ attribute }) => ({
    name: attribute,
    expression: { type: "path", path: attribute } as const,
  }));
  return { ...query, selection: { fields, shape: "list", grouped: false, many: [] } };
}
