import { literal } from "../identifiers.js";
import type { ColumnMeta } from "../meta.js";
import { normalizeType } from "./type-names.js";

/**
 * The default of a column in the database, as SQL. It is undefined for a function, because only the application can
 * call it.
 */
export function defaultSql(column: ColumnMeta): string | undefined {
  if (column.autoNowAdd || column.autoNow) return column.type.kind === "date" ? "CURRENT_DATE" : "CURRENT_TIMESTAMP";
  switch (column.default?.from) {
    case "sql":
      return column.default.sql;
    case "value":
      return valueSql(column, column.default.value);
    default:
      return undefined;
  }
}

function valueSql({ type }: ColumnMeta, value: unknown): string {
  if (value === null) return "NULL";
  const parameter = type.encode ? type.encode(value) : value;
  if (typeof parameter === "boolean") return parameter ? "true" : "false";
  if (typeof parameter === "number" && Number.isFinite(parameter)) return String(parameter);
  const text = parameter instanceof Uint8Array ? `\\x${Buffer.from(parameter).toString("hex")}` : String(parameter);
  switch (type.kind) {
    case "decimal":
    case "bigInt":
      return text;
    case "char":
    case "text":
      return literal(text);
    default:
      return `${literal(text)}::${normalizeType(type.sqlType)}`;
  }
}
