import { FieldError } from "../errors.js";
import * as columnTypes from "../fields/column-types.js";
import type { ColumnMeta, ColumnType } from "../meta.js";
import type { Left } from "./operands.js";
import { shown } from "./scope.js";

/**
 * Applies a transform to a value before it is compared: the year of a date, the length of a list. Undefined if the part
 * is not a transform.
 */
export function transform(left: Left, part: string): Left | undefined {
  const name = `${left.name}__${part}`;
  const { type } = left;
  if (type?.kind === "array") return arrayPart(left, part, name);
  const make = (sql: string, made: ColumnType): Left => ({ sql, type: made, column: undefined, name });
  if (type?.kind === "char" || type?.kind === "text") {
    if (part === "length") return make(`length(${left.sql})`, columnTypes.int);
    if (part === "lower" || part === "upper") return make(`${part}(${left.sql})`, columnTypes.text);
    return undefined;
  }
  if (type?.kind !== "datetime" && type?.kind !== "date" && type?.kind !== "time") return undefined;
  const moment = localTime(left.sql, type, left.timeZone ?? "UTC");
  if (type.kind === "datetime" && part === "date") return make(`${moment}::date`, columnTypes.date);
  if (type.kind === "datetime" && part === "time") return make(`${moment}::time`, columnTypes.time);
  const field = dateParts.get(part);
  if (field === undefined || (type.kind === "time" && !timeParts.has(part))) return undefined;
  return make(datePart(field, moment), columnTypes.int);
}

/** A column after transforms: `published__year`, `title__lower`. */
export function transformed(
  sql: string,
  column: ColumnMeta,
  path: string,
  rest: readonly string[],
  timeZone: string,
): Left {
  let left: Left = { sql, type: column.type, column, name: path, timeZone };
  for (const part of rest) {
    const next = transform(left, part);
    if (next === undefined) throw new FieldError(`${shown(path)} is not the name of a field`);
    left = next;
  }
  return left;
}

/** The date and time in a time zone. Dates and times without time zone stay as they are. */
export function localTime(sql: string, type: ColumnType | undefined, timeZone: string): string {
  return type?.kind === "datetime" && type.timezone ? `(${sql} AT TIME ZONE '${timeZone}')` : sql;
}

/** A part of a time as an integer. A cast alone would round 59.9 seconds to 60. */
export function datePart(part: string, moment: string): string {
  const value = `extract(${part} FROM ${moment})`;
  return part === "second" ? `trunc(${value})::int` : `${value}::int`;
}

const timeParts = new Set(["hour", "minute", "second"]);
const dateParts = new Map([
  ["year", "year"],
  ["isoYear", "isoyear"],
  ["quarter", "quarter"],
  ["month", "month"],
  ["week", "week"],
  ["day", "day"],
  // Sunday is 0, as in Date.getDay; isoWeekDay starts with Monday, 1.
  ["weekDay", "dow"],
  ["week_day", "dow"],
  ["isoWeekDay", "isodow"],
  ["iso_week_day", "isodow"],
  ["yearDay", "doy"],
  ["hour", "hour"],
  ["minute", "minute"],
  ["second", "second"],
]);

function arrayPart(left: Left, part: string, name: string): Left | undefined {
  if (part === "len") return { sql: `cardinality(${left.sql})`, type: columnTypes.int, column: undefined, name };
  // Counted from 0, as in JavaScript; PostgreSQL counts from 1.
  if (/^\d{1,6}$/.test(part))
    return { sql: `${left.sql}[${Number(part) + 1}]`, type: left.type?.item, column: undefined, name };
  return undefined;
}
