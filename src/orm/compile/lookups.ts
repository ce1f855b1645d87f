import { ParameterTypeError } from "../../engines/db/errors.js";
import { camelCase } from "../../kit/names.js";
import { didYouMean } from "../../kit/suggest.js";
import { FieldError } from "../errors.js";
import * as encode from "../fields/encode.js";
import type { ColumnKind, ColumnType } from "../meta.js";
import type { Context } from "./context.js";
import { encodeFor, encodeNamed, keyOfInstance, keysOfQuery, type Left, nodeOf, queryOf } from "./operands.js";
import { type Scope, shown } from "./scope.js";
import { transform } from "./transforms.js";

/** Compiles the comparison of a left side with a value to SQL. */
type Lookup = (left: Left, value: unknown, context: Context, scope: Scope) => string;

/** Reads transforms and the lookup from the parts after a field's name: `year__gte`, `owner__name__icontains`. */
export function compileLookup(
  start: Left,
  rest: readonly string[],
  value: unknown,
  context: Context,
  scope: Scope,
): string {
  if (start.type?.kind === "json") return compileJsonLookup(start, rest, value, context, scope);
  let left = start;
  for (let i = 0; i < rest.length; i++) {
    const part = rest[i]!;
    const last = i === rest.length - 1;
    if (last) {
      const lookup = findLookup(left, camelCase(part));
      if (lookup) return lookup(left, value, context, scope);
    }
    const next = transform(left, part);
    if (next === undefined) throw noLookup(left, part);
    left = next;
  }
  return exact(left, value, context, scope);
}

/** A JSON field is followed by keys, with an optional lookup at the end. */
function compileJsonLookup(
  start: Left,
  rest: readonly string[],
  value: unknown,
  context: Context,
  scope: Scope,
): string {
  const last = rest.at(-1);
  const lookup = last === undefined ? undefined : findLookup(start, camelCase(last));
  const keys = lookup ? rest.slice(0, -1) : rest;
  const left = keys.length === 0 ? start : insideJson(start, keys, context);
  return (lookup ?? exact)(left, value, context, scope);
}

/** The keys are one parameter, so they are never part of the SQL text. */
function insideJson(left: Left, keys: readonly string[], context: Context): Left {
  const path = `${context.constant(encode.array(encode.text)(keys))}::text[]`;
  return {
    sql: `(${left.sql} #> ${path})`,
    // Without the quotes that a string has in JSON.
    text: `(${left.sql} #>> ${path})`,
    type: left.type,
    column: undefined,
    name: [left.name, ...keys].join("__"),
  };
}

/** The right side: a value, an expression or a single-valued subquery. */
function right(left: Left, value: unknown, context: Context, scope: Scope): string {
  const node = nodeOf(value);
  if (node) return context.expression(node, scope);
  const query = queryOf(value);
  if (query) return `(${context.subselect(keysOfQuery(left, query), scope, "values")})`;
  if (value === null) throw new ParameterTypeError(`${left.name}: null cannot be compared; use isnull`);
  return context.bind(value, (given) => encodeFor(left, given)) + jsonCast(left.type);
}

function jsonCast(type: ColumnType | undefined): string {
  return type?.kind === "json" ? "::jsonb" : "";
}

const exact: Lookup = (left, value, context, scope) => {
  if (value === null && !isJsonPath(left)) return `${left.sql} IS NULL`;
  return `${left.sql} = ${value === null ? "'null'::jsonb" : right(left, value, context, scope)}`;
};

/** Inside a JSON value, null is a value. The column itself is compared with the null of SQL. */
function isJsonPath(left: Left): boolean {
  return left.type?.kind === "json" && left.column === undefined;
}

const ne: Lookup = (left, value, context, scope) =>
  value === null && !isJsonPath(left)
    ? `${left.sql} IS NOT NULL`
    : `${left.sql} IS DISTINCT FROM ${value === null ? "'null'::jsonb" : right(left, value, context, scope)}`;

const comparison =
  (operator: string): Lookup =>
  (left, value, context, scope) =>
    `${left.sql} ${operator} ${right(left, value, context, scope)}`;

const isIn: Lookup = (left, value, context, scope) => {
  const query = queryOf(value);
  if (query) return `${left.sql} IN (${context.subselect(keysOfQuery(left, query), scope, "values")})`;
  const items = listOf(left, value);
  const parts: string[] = [];
  // One parameter for a list of any length: the statement's text stays the same, and no limit of parameters applies.
  if (left.type?.kind === "array") {
    // PostgreSQL would read a list of lists as one list with more dimensions.
    for (const item of items)
      if (isPlain(item)) parts.push(`${left.sql} = ${context.param(encodeFor(left, item))}::${left.type.sqlType}`);
  } else if (items.some(isPlain))
    parts.push(`${left.sql} = ANY(${context.bind(value, (given) => encodeList(left, given))}${anyCast(left.type)})`);
  if (items.includes(null)) parts.push(exact(left, null, context, scope));
  for (const item of items) if (nodeOf(item)) parts.push(`${left.sql} = ${right(left, item, context, scope)}`);
  // PostgreSQL refuses parameters that a statement does not use: those of a computed value must stay in the text.
  if (parts.length === 0) return left.column ? "FALSE" : `(FALSE AND ${left.sql} IS NULL)`;
  return parts.length === 1 ? parts[0]! : `(${parts.join(" OR ")})`;
};

function isPlain(item: unknown): boolean {
  return item !== null && nodeOf(item) === undefined;
}

function encodeList(left: Left, value: unknown): unknown {
  const items = listOf(left, value).filter(isPlain);
  // A list inside JSON is one value: it is encoded before the array is written.
  if (left.type?.kind === "json") return encode.array(undefined)(items.map((item) => encodeFor(left, item)));
  return encodeNamed(
    left.name,
    encode.array(left.type?.encode),
    items.map((item) => keyOfInstance(left, item)),
  );
}

function anyCast(type: ColumnType | undefined): string {
  return type?.kind === "json" ? "::jsonb[]" : "";
}

const range: Lookup = (left, value, context, scope) => {
  const ends = (given: unknown): unknown[] => {
    const items = listOf(left, given);
    if (items.length !== 2) throw new ParameterTypeError(`${left.name}: range takes a list of two values`);
    return items;
  };
  const [from, to] = ends(value).map((item, index) =>
    isPlain(item)
      ? context.bind(value, (given) => encodeFor(left, ends(given)[index]))
      : right(left, item, context, scope),
  );
  return `${left.sql} BETWEEN ${from} AND ${to}`;
};

function listOf(left: Left, value: unknown): unknown[] {
  if (value instanceof Set) return [...value];
  if (!Array.isArray(value)) throw encode.wrongType(`a list for ${left.name}`, value);
  if (value.includes(undefined)) throw new ParameterTypeError(`${left.name}: the list holds undefined`);
  return value;
}

const isnull: Lookup = (left, value) => {
  if (typeof value !== "boolean") throw encode.wrongType(`true or false for ${left.name}__isnull`, value);
  return `${left.sql} IS ${value ? "" : "NOT "}NULL`;
};

/** LIKE, with the special characters of patterns escaped in the text. */
const like =
  (operator: "LIKE" | "ILIKE", before: string, after: string): Lookup =>
  (left, value, context, scope) => {
    const node = nodeOf(value);
    const subject = asText(left);
    if (node) {
      const escaped = escapePattern(`${context.expression(node, scope)}::text`);
      return `${subject} ${operator} '${before}' || ${escaped} || '${after}'`;
    }
    const pattern = (given: unknown): string => before + encodeText(left, given).replace(/[\\%_]/g, "\\$&") + after;
    return `${subject} ${operator} ${context.bind(value, pattern)}`;
  };

const regex =
  (operator: "~" | "~*"): Lookup =>
  (left, value, context) =>
    `${asText(left)} ${operator} ${context.bind(value, (given) => encodeText(left, given))}`;

const iexact: Lookup = (left, value, context, scope) => {
  if (value === null) return `${left.sql} IS NULL`;
  return like("ILIKE", "", "")(left, value, context, scope);
};

function encodeText(left: Left, value: unknown): string {
  return encodeNamed(left.name, encode.text, value) as string;
}

/** `E''` strings have the same meaning for any `standard_conforming_strings`. */
function escapePattern(sql: string): string {
  return `replace(replace(replace(${sql}, E'\\\\', E'\\\\\\\\'), '%', E'\\\\%'), '_', E'\\\\_')`;
}

/** The value as text, to compare it with a pattern. */
function asText(left: Left): string {
  const kind = left.type?.kind;
  return kind === "char" || kind === "text" ? left.sql : (left.text ?? `${left.sql}::text`);
}

const hasKey: Lookup = (left, value, context) =>
  `${left.sql} ? ${context.bind(value, (given) => encodeText(left, given))}`;

const hasKeys =
  (sign: "?&" | "?|"): Lookup =>
  (left, value, context) => {
    const keys = (given: unknown): unknown => encodeNamed(left.name, encode.array(encode.text), given);
    return `${left.sql} ${sign} ${context.bind(value, keys)}::text[]`;
  };

/** Full text search, with the syntax of a search box: quotes, `or`, `-`. */
const search: Lookup = (left, value, context) => {
  const vector = left.type?.kind === "searchVector" ? left.sql : `to_tsvector(${asText(left)})`;
  return `${vector} @@ websearch_to_tsquery(${context.bind(value, (given) => encodeText(left, given))})`;
};

const common: Readonly<Record<string, Lookup>> = {
  exact,
  ne,
  gt: comparison(">"),
  gte: comparison(">="),
  lt: comparison("<"),
  lte: comparison("<="),
  in: isIn,
  range,
  isnull,
};

const text: Readonly<Record<string, Lookup>> = {
  iexact,
  contains: like("LIKE", "%", "%"),
  icontains: like("ILIKE", "%", "%"),
  startswith: like("LIKE", "", "%"),
  istartswith: like("ILIKE", "", "%"),
  endswith: like("LIKE", "%", ""),
  iendswith: like("ILIKE", "%", ""),
  regex: regex("~"),
  iregex: regex("~*"),
  search,
};

const array: Readonly<Record<string, Lookup>> = {
  contains: comparison("@>"),
  containedBy: comparison("<@"),
  overlap: comparison("&&"),
};

const json: Readonly<Record<string, Lookup>> = {
  ...text,
  contains: comparison("@>"),
  containedBy: comparison("<@"),
  hasKey,
  hasKeys: hasKeys("?&"),
  hasAnyKeys: hasKeys("?|"),
};

const byKind: Partial<Record<ColumnKind, Readonly<Record<string, Lookup>>>> = { array, json, searchVector: { search } };

function findLookup(left: Left, name: string): Lookup | undefined {
  if (Object.hasOwn(common, name)) return common[name];
  const special = (left.type && byKind[left.type.kind]) ?? text;
  return Object.hasOwn(special, name) ? special[name] : undefined;
}

function noLookup(left: Left, part: string): FieldError {
  const special = (left.type && byKind[left.type.kind]) ?? text;
  const known = [...Object.keys(common), ...Object.keys(special)];
  return new FieldError(`${left.name} has no lookup ${shown(part)}${didYouMean(part.slice(0, 100), known)}`);
}
