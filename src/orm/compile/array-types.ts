import type { ColumnType } from "../meta.js";

/** The type of an array that holds a column's values, without limits: a cast would apply them silently. */
export function arrayTypeOf(type: ColumnType): string {
  if (type.kind === "char" || (type.kind === "enum" && type.enumName === undefined)) return "text[]";
  return type.kind === "decimal" ? "numeric[]" : `${type.sqlType}[]`;
}
