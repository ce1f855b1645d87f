/** Conversions of values from one column type to another. */

import { quote } from "../../orm/identifiers.js";
import { baseType } from "../../orm/schema/type-names.js";

const families: readonly (readonly string[])[] = [
  ["text", "varchar", "char", "bpchar", "citext", "name"],
  ["smallint", "integer", "bigint", "numeric", "real", "double precision"],
  ["date", "timestamp without time zone", "timestamp with time zone"],
  ["time without time zone", "time with time zone"],
  ["json", "jsonb"],
  ["bit", "bit varying"],
];

/**
 * True if PostgreSQL itself converts one type to the other and checks every value. An explicit cast would silently cut
 * a text that is too long for the new type.
 */
function convertsByItself(from: string, to: string): boolean {
  if (isArray(from) !== isArray(to)) return !isArray(to) && isText(to);
  return sameFamily(from, to) || (!isArray(to) && isText(to));
}

/**
 * True if values of the two types can be compared, so that expressions and foreign keys over them keep their meaning.
 */
export function sameFamily(from: string, to: string): boolean {
  if (isArray(from) !== isArray(to)) return false;
  const [old, now] = [baseType(from), baseType(to)];
  return old === now || families.some((family) => family.includes(old) && family.includes(now));
}

/** The expression that converts a column where PostgreSQL asks for one. */
export function usualUsing(column: string, from: string, to: string): string | undefined {
  if (convertsByItself(from, to)) return undefined;
  const name = quote(column);
  if (isArray(from) !== isArray(to)) return `${name}::${to}`;
  if (isNumber(from) && to === "boolean") return `${name} <> 0`;
  if (from === "boolean" && isNumber(to)) return `${name}::integer`;
  return isText(from) ? `${name}::${to}` : `${name}::text${isArray(from) ? "[]" : ""}::${to}`;
}

function isArray(type: string): boolean {
  return type.endsWith("]");
}

function isText(type: string): boolean {
  return families[0]!.includes(baseType(type));
}

function isNumber(type: string): boolean {
  return !isArray(type) && families[1]!.includes(baseType(type));
}
