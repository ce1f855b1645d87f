/** Checks that the parts of a schema fit together, before any statement is sent to PostgreSQL. */

import { partOf, primaryKeyName } from "../orm/schema/names.js";
import type { ForeignKeyState, IndexState, SchemaState, TableState } from "../orm/schema/state.js";
import { MigrationError } from "./errors.js";
import { findColumn, has, own } from "./lookup.js";

export function checkTable(state: SchemaState, name: string, table: TableState): void {
  if (table.primaryKey) checkPrimaryKey(name, table, table.primaryKey);
  for (const { columns } of Object.values(table.unique ?? {})) checkColumns(name, table, columns);
  for (const index of Object.values(table.indexes ?? {})) checkIndex(name, table, index);
  for (const [key, foreignKey] of Object.entries(table.foreignKeys ?? {})) {
    checkForeignKey({ ...state, tables: { ...state.tables, [name]: table } }, name, key, foreignKey);
  }
  const names = [...constraintNames(name, table), ...Object.keys(table.indexes ?? {})];
  const twice = names.find((each, index) => names.indexOf(each) !== index);
  if (twice !== undefined) throw new MigrationError(`${name} has two constraints or indexes called '${twice}'`);
}

export function checkPrimaryKey(name: string, table: TableState, columns: readonly string[]): void {
  checkColumns(name, table, columns);
  const nullable = columns.find((column) => table.columns[column]!.nullable);
  if (nullable !== undefined) {
    throw new MigrationError(`${name}.${nullable} can be null and cannot be part of the primary key: alter it first`);
  }
}

export function checkColumns(name: string, table: TableState, columns: readonly string[]): void {
  for (const column of columns) findColumn(name, table, column);
}

export function checkIndex(name: string, table: TableState, index: IndexState): void {
  const parts = index.on.map(partOf);
  checkColumns(
    name,
    table,
    parts.flatMap(({ column }) => column ?? []),
  );
  checkColumns(name, table, index.include ?? []);
}

/** The table that a foreign key refers to may be unknown: migrations may not manage it. */
export function checkForeignKey(state: SchemaState, name: string, key: string, foreignKey: ForeignKeyState): void {
  checkColumns(name, own(state.tables, name)!, foreignKey.columns);
  const target = own(state.tables, foreignKey.table);
  if (target === undefined) return;
  checkColumns(foreignKey.table, target, foreignKey.references);
  if (!isUnique(target, foreignKey.references)) {
    const list = foreignKey.references.join(", ");
    throw new MigrationError(
      `${key} of ${name} refers to ${foreignKey.table} (${list}), which is neither its primary key nor unique`,
    );
  }
}

export function constraintNames(name: string, table: TableState): string[] {
  return [
    ...(table.primaryKey ? [primaryKeyName(name, table)] : []),
    ...Object.keys(table.unique ?? {}),
    ...Object.keys(table.checks ?? {}),
    ...Object.keys(table.foreignKeys ?? {}),
  ];
}

/** Refuses a name that another constraint or index of the table has. */
export function checkNewName(name: string, table: TableState, wanted: string): void {
  if (constraintNames(name, table).includes(wanted) || has(table.indexes, wanted)) {
    throw new MigrationError(`${name} already has a constraint or index called '${wanted}'`);
  }
}

export interface Referrer {
  readonly table: string;
  readonly key: string;
  readonly foreignKey: ForeignKeyState;
}

/** The foreign keys that lead to a table, those of the table itself included. */
export function referrersOf(state: SchemaState, name: string): Referrer[] {
  return Object.entries(state.tables).flatMap(([table, { foreignKeys = {} }]) =>
    Object.entries(foreignKeys)
      .filter(([, foreignKey]) => foreignKey.table === name)
      .map(([key, foreignKey]) => ({ table, key, foreignKey })),
  );
}

/** Refuses to remove a key that a foreign key refers to. */
export function checkReferrers(before: SchemaState, after: SchemaState, name: string): void {
  const table = own(after.tables, name);
  for (const { table: other, key, foreignKey } of referrersOf(after, name)) {
    if (table !== undefined && isUnique(table, foreignKey.references)) continue;
    const known = own(before.tables, name);
    if (known === undefined || !isUnique(known, foreignKey.references)) continue;
    throw new MigrationError(
      `${key} of ${other} refers to ${name} (${foreignKey.references.join(", ")}): drop that constraint first`,
    );
  }
}

/** True if a foreign key may refer to these columns: PostgreSQL requires a unique index on exactly them. */
export function isUnique(table: TableState, columns: readonly string[]): boolean {
  const same = (others: readonly string[]): boolean =>
    others.length === columns.length && columns.every((column) => others.includes(column));
  return (
    (table.primaryKey !== undefined && same(table.primaryKey)) ||
    Object.values(table.unique ?? {}).some((unique) => same(unique.columns)) ||
    Object.values(table.indexes ?? {}).some(
      ({ unique, where, on }) => unique && where === undefined && same(on.map((part) => partOf(part).column ?? "")),
    )
  );
}
