import { literal, quote, shortName } from "../../orm/identifiers.js";
import { joinName, splitName, sqlName } from "../../orm/schema/names.js";
import { createEnumSql } from "../../orm/schema/render.js";
import type { ColumnState, SchemaState } from "../../orm/schema/state.js";
import { baseType, typeName } from "../../orm/schema/type-names.js";
import { holdsText } from "../files/sql-text.js";
import { findTable } from "../lookup.js";
import { restoreStatements, withoutDependents } from "./restore.js";

export interface EnumColumn {
  readonly table: string;
  readonly column: string;
  readonly state: ColumnState;
}

/** The columns that have a type, alone or as the items of an array. */
export function columnsOfEnum(state: SchemaState, name: string): EnumColumn[] {
  return Object.entries(state.tables).flatMap(([table, { columns }]) =>
    Object.entries(columns)
      .filter(([, column]) => baseType(column.type) === typeName(name))
      .map(([column, each]) => ({ table, column, state: each })),
  );
}

/** A column of the type whose default is this value, as `table.column`. */
export function staleDefault(state: SchemaState, name: string, value: string): string | undefined {
  const found = columnsOfEnum(state, name).find((each) => holdsText(each.state.default, value));
  return found && `${found.table}.${found.column}`;
}

/** The type with other values: made again beside the old one, every column converted, the old one dropped. */
export function recreateEnum(
  name: string,
  state: SchemaState,
  values: readonly string[],
  replace: Readonly<Record<string, string>> = {},
): string[] {
  const { schema, name: type } = splitName(name);
  const former = shortName(`${type}_former`);
  return [
    `ALTER TYPE ${sqlName(name)} RENAME TO ${quote(former)}`,
    createEnumSql(name, values),
    ...columnsOfEnum(state, name).flatMap((column) => convertStatements(state, column, replace)),
    `DROP TYPE ${sqlName(joinName(schema, former))}`,
  ];
}

function convertStatements(
  state: SchemaState,
  { table, column, state: { type, default: value } }: EnumColumn,
  replace: Readonly<Record<string, string>>,
): string[] {
  const target = findTable(state, table);
  const rest = withoutDependents(table, target, column, true);
  const alter = `ALTER TABLE ${sqlName(table)} ALTER COLUMN ${quote(column)}`;
  return [
    ...rest.statements,
    ...(value === undefined ? [] : [`${alter} DROP DEFAULT`]),
    `${alter} TYPE ${type} USING ${converted(quote(column), type, replace)}::${type}`,
    ...(value === undefined ? [] : [`${alter} SET DEFAULT ${value}`]),
    ...restoreStatements(table, rest.table, target),
  ];
}

function converted(column: string, type: string, replace: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(replace).map(([gone, now]) => [literal(gone), literal(now)] as const);
  if (type.endsWith("]")) {
    return pairs.reduce((sql, [gone, now]) => `array_replace(${sql}, ${gone}, ${now})`, `${column}::text[]`);
  }
  if (pairs.length === 0) return `${column}::text`;
  const cases = pairs.map(([gone, now]) => `WHEN ${gone} THEN ${now}`);
  return `(CASE ${column}::text ${cases.join(" ")} ELSE ${column}::text END)`;
}
