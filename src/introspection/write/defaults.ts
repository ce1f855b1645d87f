import type { ColumnState } from "../../orm/schema/state.js";
import { normalizeType } from "../../orm/schema/type-names.js";
import { escaped } from "../names.js";
import type { TypeSource } from "./column-type.js";

/**
 * The code of a default that is a plain value. Undefined if it is an expression, or if the database would write the
 * value differently from the present default.
 */
export function defaultValueCode(
  { default: sql, type }: ColumnState,
  { maker, choices }: TypeSource,
): string | undefined {
  if (sql === undefined) return undefined;
  switch (maker) {
    case "smallInt":
      return integerCode(sql, 32_767);
    case "int":
      return integerCode(sql, largestInt);
    case "bigInt":
      return integerCode(sql, largestInt) ?? bigIntegerCode(sql);
    case "float":
      return /^\d+(\.\d+)?$/.test(sql) && String(Number(sql)) === sql ? sql : undefined;
    case "decimal":
      return decimalCode(sql);
    case "bool":
      return sql === "true" || sql === "false" ? sql : undefined;
    case "text":
    case "char":
    case "uuid":
      return stringCode(sql, type);
    case "enum":
      return choices?.map(escaped).includes(stringCode(sql, type) ?? "") ? stringCode(sql, type) : undefined;
    case "json":
      return sql === "'{}'::jsonb" || sql === "'[]'::jsonb" ? sql.slice(1, 3) : undefined;
    case "array":
      return castText(sql, type) === "{}" ? "[]" : undefined;
    default:
      return undefined;
  }
}

const largestInt = 2_147_483_647;

/** PostgreSQL writes negative numbers as a string with a cast. */
function integerCode(sql: string, largest: number): string | undefined {
  const text = /^(?:(\d+)|'(-\d+)'::integer)$/.exec(sql)?.slice(1).find(Boolean);
  return text !== undefined && Math.abs(Number(text)) <= largest ? text : undefined;
}

function bigIntegerCode(sql: string): string | undefined {
  const text = /^'(-?\d+)'::bigint$/.exec(sql)?.[1];
  return text !== undefined && Math.abs(Number(text)) > largestInt + 1 ? `${text}n` : undefined;
}

function decimalCode(sql: string): string | undefined {
  const text =
    integerCode(sql, largestInt) ?? /^(?:(\d+\.\d+)|'(-\d+\.\d+)'::numeric)$/.exec(sql)?.slice(1).find(Boolean);
  return text === undefined ? undefined : escaped(text);
}

function stringCode(sql: string, type: string): string | undefined {
  const text = castText(sql, type);
  return text === undefined ? undefined : escaped(text);
}

/** The text of a literal that is cast to the type of the column. Backslashes depend on a setting of the server. */
function castText(sql: string, type: string): string | undefined {
  const [, quoted, cast] = /^'((?:[^'\\]|'')*)'::(.+)$/s.exec(sql) ?? [];
  if (quoted === undefined || cast === undefined) return undefined;
  // A literal for a varchar(20) is cast without the length.
  const expected = type.startsWith("varchar(") && !type.endsWith("[]") ? "varchar" : type;
  return normalizeType(cast) === expected ? quoted.replaceAll("''", "'") : undefined;
}
