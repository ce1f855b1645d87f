import { quote } from "../identifiers.js";
import { quotedWords } from "./keywords.js";

/**
 * The normal spelling of a type in states: that of PostgreSQL's `format_type`, but with `varchar` and `char` for the
 * two long names and a space after a comma. `int4` and `INTEGER` become `integer`, `timestamptz(3)` becomes
 * `timestamp(3) with time zone`, `"status"` becomes `status`, `"Status"` stays.
 */
export function normalizeType(given: string): string {
  let text = given.trim();
  let dimensions = "";
  while (text.endsWith("]")) {
    const start = text.lastIndexOf("[");
    if (start === -1 || !/^\d*$/.test(text.slice(start + 1, -1).trim())) break;
    text = text.slice(0, start).trimEnd();
    dimensions += "[]";
  }
  return scalarType(text) + dimensions;
}

/** The name of a type as it stands in a column definition, with quotes if they are needed. */
export function typeName(name: string): string {
  const [schema, type] = name.includes(".")
    ? [name.slice(0, name.indexOf(".")), name.slice(name.indexOf(".") + 1)]
    : ["", name];
  return schema === "" ? quoteIfNeeded(type) : `${quoteIfNeeded(schema)}.${quoteIfNeeded(type)}`;
}

/** The type without the part in parentheses; for an array, the type of its items. */
export function baseType(type: string): string {
  let item = type;
  while (item.endsWith("[]")) item = item.slice(0, -2);
  const start = item.indexOf("(");
  const end = item.indexOf(")", start);
  return start === -1 || end === -1 ? item : item.slice(0, start).trimEnd() + item.slice(end + 1);
}

function scalarType(text: string): string {
  const plain = outsideQuotes(text)
    .replace(/^pg_catalog\./, "")
    .replace(/\s+/g, " ");
  const match = /^([a-z_][\w $]*?) ?(?:\(([^)]*)\))?( with(?:out)? time zone)?$/.exec(plain);
  if (match === null) return plain;
  const [, name = "", modifier, zone = ""] = match;
  const limits =
    modifier === undefined
      ? undefined
      : modifier
          .split(",")
          .map((part) => part.trim())
          .join(", ");
  return spell(name, limits, zone);
}

function spell(name: string, limits: string | undefined, zone: string): string {
  const suffix = limits === undefined ? "" : `(${limits})`;
  switch (name) {
    case "timestamp":
    case "time":
      return `${name}${suffix}${zone || " without time zone"}`;
    case "timestamptz":
    case "timetz":
      return `${name.slice(0, -2)}${suffix} with time zone`;
    case "char":
    case "character":
    case "nchar":
      return `char(${limits ?? 1})`;
    case "bit":
      return `bit(${limits ?? 1})`;
    case "float":
      return limits !== undefined && Number(limits) <= 24 ? "real" : "double precision";
    case "numeric":
    case "decimal":
    case "dec":
      // PostgreSQL adds the scale of 0 if it is omitted.
      return `numeric${limits === undefined || limits.includes(",") ? suffix : `(${limits}, 0)`}`;
    default:
      return `${aliases.get(name) ?? name}${suffix}${zone}`;
  }
}

const aliases = new Map([
  ["int", "integer"],
  ["int4", "integer"],
  ["int2", "smallint"],
  ["int8", "bigint"],
  ["bool", "boolean"],
  ["float4", "real"],
  ["float8", "double precision"],
  ["character varying", "varchar"],
  ["char varying", "varchar"],
  ["varbit", "bit varying"],
]);

/** Converts text outside of quotes to lower case and removes quotes that are not needed. */
function outsideQuotes(text: string): string {
  return text.replace(/"((?:[^"]|"")*)"|[^"]+/g, (part, quoted: string | undefined) =>
    quoted === undefined ? part.toLowerCase() : quoteIfNeeded(quoted.replaceAll('""', '"')),
  );
}

function quoteIfNeeded(name: string): string {
  return /^[a-z_][a-z0-9_$]*$/.test(name) && !quotedWords.has(name) ? name : quote(name);
}
