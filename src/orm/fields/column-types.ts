/** One column type for each kind, with the conversions of its values to the database, from the database and to JSON. */

import { isoText } from "../../engines/db/values/timestamps.js";
import { literal, quote } from "../identifiers.js";
import type { ColumnType } from "../meta.js";
import * as encode from "./encode.js";

export const smallInt = integerType("smallInt", "smallint", -32_768, 32_767);
export const int = integerType("int", "integer", -2_147_483_648, 2_147_483_647);

function integerType(kind: "smallInt" | "int", sqlType: string, min: number, max: number): ColumnType {
  return {
    kind,
    sqlType,
    range: { min, max },
    json: { type: "integer", format: kind === "int" ? "int32" : "int16", minimum: min, maximum: max },
    encode: encode.integer(min, max),
  };
}

/** A string in JSON: most JSON parsers read a number as a double, which is exact only up to 2^53. */
export const bigInt: ColumnType = {
  kind: "bigInt",
  sqlType: "bigint",
  range: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
  json: { type: "string", format: "int64", pattern: "^-?\\d+$" },
  encode: encode.bigInteger,
  decode: (value) => BigInt(value as string | number | bigint),
  toJson: String,
  jsonSql: (column) => `${column}::text`,
};

export const float: ColumnType = {
  kind: "float",
  sqlType: "double precision",
  json: { type: "number", format: "double" },
  encode: encode.float,
  decode: Number,
  // JSON has neither NaN nor infinities. JSON.stringify writes null for them too.
  jsonSql: (column) => `CASE WHEN ${column} NOT IN ('NaN', 'Infinity', '-Infinity') THEN ${column} END`,
};

export const real: ColumnType = { ...float, sqlType: "real", json: { type: "number", format: "float" } };

export function decimal(precision: number | undefined, scale: number | undefined): ColumnType {
  const limits = precision === undefined ? "" : scale === undefined ? `(${precision})` : `(${precision}, ${scale})`;
  return {
    kind: "decimal",
    sqlType: `numeric${limits}`,
    ...(precision === undefined ? {} : { precision }),
    ...(scale === undefined ? {} : { scale }),
    json: { type: "string", format: "decimal" },
    encode: encode.decimal,
    decode: String,
    jsonSql: (column) => `${column}::text`,
  };
}

export const bool: ColumnType = {
  kind: "bool",
  sqlType: "boolean",
  json: { type: "boolean" },
  encode: encode.boolean,
};

export function char(maxLength: number): ColumnType {
  return {
    kind: "char",
    sqlType: `varchar(${maxLength})`,
    maxLength,
    json: { type: "string", maxLength },
    encode: encode.text,
  };
}

export const text: ColumnType = { kind: "text", sqlType: "text", json: { type: "string" }, encode: encode.text };

export const uuid: ColumnType = {
  kind: "uuid",
  sqlType: "uuid",
  json: { type: "string", format: "uuid" },
  encode: encode.uuid,
};

export const json: ColumnType = {
  kind: "json",
  sqlType: "jsonb",
  json: {},
  encode: encode.json,
};

/** Milliseconds, the precision of a Date: a value that is read, compared and written back stays the same. */
export const datetime: ColumnType = {
  kind: "datetime",
  sqlType: "timestamp(3) with time zone",
  timezone: true,
  json: { type: "string", format: "date-time" },
  encode: encode.datetime,
  decode: (value) => (value instanceof Date ? value : readMoment(value)),
  toJson: (value) => (value instanceof Date ? isoText(value) : value),
  jsonSql: isoMoment,
};

/** PostgreSQL's `infinity` cannot be a Date. It becomes the number `Infinity`, which can be written back. */
function readMoment(value: unknown): Date | number {
  if (value === "infinity" || value === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (value === "-infinity" || value === Number.NEGATIVE_INFINITY) return Number.NEGATIVE_INFINITY;
  return new Date(value as string);
}

/**
 * The format of Date.toISOString: years of more than four digits and years before Christ have a sign and six digits.
 */
function isoMoment(column: string): string {
  const utc = `${column} AT TIME ZONE 'UTC'`;
  const rest = '-MM-DD"T"HH24:MI:SS.MS"Z"';
  const year = `(extract(year FROM ${utc})::int + CASE WHEN ${column} < '0001-01-01Z' THEN 1 ELSE 0 END)`;
  const long = `concat(CASE WHEN ${year} < 0 THEN '-' ELSE '+' END, lpad(abs(${year})::text, 6, '0'), to_char(${utc}, '${rest}'))`;
  return `CASE WHEN ${column} >= '0001-01-01Z' AND ${column} < '10000-01-01Z' THEN to_char(${utc}, 'YYYY${rest}') WHEN isfinite(${column}) THEN ${long} END`;
}

/** A point in time with another number of digits after the seconds than a Date. PostgreSQL's default is 6. */
export function datetimeOf(precision: number): ColumnType {
  return { ...datetime, sqlType: `timestamp${digits(precision)} with time zone` };
}

export function localDatetimeOf(precision: number): ColumnType {
  return { ...localDatetime, sqlType: `timestamp${digits(precision)} without time zone` };
}

function digits(precision: number): string {
  return precision === 6 ? "" : `(${precision})`;
}

/** A local date and time. It is a string, because a Date is a point in time. */
export const localDatetime: ColumnType = {
  kind: "datetime",
  sqlType: "timestamp without time zone",
  timezone: false,
  json: { type: "string", format: "local-date-time" },
  encode: encode.localDatetime,
  // to_json writes ISO 8601 for any DateStyle. Drivers would convert the column itself to a Date.
  decode: (value) => (value instanceof Date ? value.toISOString().slice(0, -1) : value),
  selectSql: (column) => `to_json(${column}) #>> '{}'`,
};

export const date: ColumnType = {
  kind: "date",
  sqlType: "date",
  json: { type: "string", format: "date" },
  encode: encode.date,
};

export const time: ColumnType = {
  kind: "time",
  sqlType: "time without time zone",
  timezone: false,
  json: { type: "string", format: "time" },
  encode: encode.time,
};

export const zonedTime: ColumnType = { ...time, sqlType: "time with time zone", timezone: true };

export const interval: ColumnType = {
  kind: "interval",
  sqlType: "interval",
  json: { type: "string", format: "duration" },
  encode: encode.interval,
  selectSql: isoInterval,
  jsonSql: isoInterval,
};

/** ISO 8601, for any IntervalStyle. */
function isoInterval(column: string): string {
  const part = (name: string, letter: string): string =>
    `nullif(extract(${name} FROM ${column})::int, 0) || '${letter}'`;
  const seconds = `nullif(trim_scale(extract(second FROM ${column})::numeric), 0) || 'S'`;
  const clock = `nullif(concat('T', ${part("hour", "H")}, ${part("minute", "M")}, ${seconds}), 'T')`;
  const all = `concat('P', ${part("year", "Y")}, ${part("month", "M")}, ${part("day", "D")}, ${clock})`;
  return `CASE WHEN ${column} IS NOT NULL THEN coalesce(nullif(${all}, 'P'), 'PT0S') END`;
}

export const bytes: ColumnType = {
  kind: "bytes",
  sqlType: "bytea",
  json: { type: "string", contentEncoding: "base64" },
  encode: encode.bytes,
  toJson: (value) => Buffer.from(value as Uint8Array).toString("base64"),
  jsonSql: (column) => `translate(encode(${column}, 'base64'), E'\\n', '')`,
};

export function enumeration(choices: readonly string[], enumName: string | undefined): ColumnType {
  return {
    kind: "enum",
    sqlType: enumName === undefined ? "text" : quote(enumName),
    choices,
    ...(enumName === undefined ? {} : { enumName }),
    json: { type: "string", enum: choices },
    encode: encode.choice(choices),
  };
}

/** Types of items that drivers return without loss. Arrays of other types are read as text. */
const plainItems = new Set([
  "smallInt",
  "int",
  "bigInt",
  "float",
  "decimal",
  "bool",
  "char",
  "text",
  "uuid",
  "date",
  "time",
  "datetime",
]);

export function array(item: ColumnType): ColumnType {
  // PostgreSQL's arrays of arrays are rectangular: one array, with the items of the innermost type.
  const inner = innermost(item);
  const { decode, toJson } = inner;
  const jsonSql = inner === item ? item.jsonSql : undefined;
  const deep = (value: unknown, change: (item: unknown) => unknown): unknown =>
    Array.isArray(value) ? value.map((each) => deep(each, change)) : value === null ? null : change(value);
  const plain = plainItems.has(inner.kind);
  const fromText =
    inner.kind === "bytes" ? hexBytes : inner.kind === "json" ? (JSON.parse as (value: unknown) => unknown) : decode;
  const decodeItem = plain ? decode : fromText;
  return {
    kind: "array",
    sqlType: `${item.sqlType}[]`,
    item,
    json: { type: "array", items: item.json },
    encode: encode.array(inner.encode),
    ...(decodeItem ? { decode: (value: unknown) => deep(value, decodeItem) } : {}),
    ...(toJson ? { toJson: (value: unknown) => deep(value, toJson) } : {}),
    ...(jsonSql ? { jsonSql: (column: string) => eachItem(column, jsonSql) } : {}),
    ...(plain
      ? {}
      : { selectSql: (column: string) => (item.selectSql ? eachItem(column, item.selectSql) : `${column}::text[]`) }),
  };
}

export function innermost(item: ColumnType): ColumnType {
  return item.item === undefined ? item : innermost(item.item);
}

function eachItem(column: string, change: (item: string) => string): string {
  return `CASE WHEN ${column} IS NOT NULL THEN ARRAY(SELECT ${change("u.i")} FROM unnest(${column}) WITH ORDINALITY AS u(i, n) ORDER BY u.n) END`;
}

function hexBytes(value: unknown): unknown {
  return typeof value === "string" ? Uint8Array.from(Buffer.from(value.slice(2), "hex")) : value;
}

export const searchVector: ColumnType = {
  kind: "searchVector",
  sqlType: "tsvector",
  json: { type: "string" },
  encode: encode.text,
  selectSql: (column) => `${column}::text`,
  jsonSql: (column) => `${column}::text`,
};

/** The definition of a text enum's check. */
export function choicesCheck(column: string, choices: readonly string[]): string {
  return `${quote(column)} IN (${choices.map(literal).join(", ")})`;
}
