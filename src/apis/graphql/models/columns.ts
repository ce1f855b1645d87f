import type { ColumnMeta, ColumnType } from "../../../orm/meta.js";

/** The names of enums are made once each; `enumOf` returns the name for a column with choices. */
export type EnumNamer = (column: ColumnMeta, choices: readonly string[]) => string;

/** The type of a column in GraphQL, without `!`; null for a column that cannot be shown. */
export function columnType(column: ColumnMeta, enumOf: EnumNamer): string | null {
  if (column.primaryKey || column.reference) return "ID";
  return typeOf(column, column.type, enumOf);
}

function typeOf(column: ColumnMeta, type: ColumnType, enumOf: EnumNamer): string | null {
  switch (type.kind) {
    case "smallInt":
    case "int":
      return "Int";
    case "bigInt":
      return "BigInt";
    case "float":
      return "Float";
    case "bool":
      return "Boolean";
    case "datetime":
      return type.timezone === false ? "String" : "DateTime";
    case "json":
    case "custom":
      return "JSON";
    case "searchVector":
      return null;
    case "array": {
      const item = type.item ? typeOf(column, type.item, enumOf) : null;
      return item === null ? null : `[${item}]`;
    }
    case "enum":
      return type.choices?.every(isEnumValue) ? enumOf(column, type.choices) : "String";
    default:
      // char, text, uuid, decimal, date, time, interval, bytes: as in JSON.
      return "String";
  }
}

const enumValue = /^[_A-Za-z][_0-9A-Za-z]*$/;
const reserved = new Set(["true", "false", "null"]);

function isEnumValue(choice: string): boolean {
  return enumValue.test(choice) && !choice.startsWith("__") && !reserved.has(choice);
}

/** The function that makes the value of a field from that of the column; null if it is the same. */
export function columnReader(column: ColumnMeta, type: string): ((value: unknown) => unknown) | null {
  if (type === "DateTime" || type === "BigInt" || type === "[DateTime]" || type === "[BigInt]") return null;
  return column.type.toJson ?? null;
}
