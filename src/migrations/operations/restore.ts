/** Removes a part of a table together with everything that depends on it, and restores the parts that are missing. */

import { quote } from "../../orm/identifiers.js";
import { partOf, primaryKeyName, sqlName } from "../../orm/schema/names.js";
import {
  addConstraintSql,
  checkSql,
  columnSql,
  commentColumnSql,
  createIndexSql,
  createSequenceFor,
  dropConstraintSql,
  dropIndexSql,
  foreignKeySql,
  ownSequence,
  primaryKeySql,
  uniqueSql,
} from "../../orm/schema/render.js";
import type { ColumnState, IndexState, TableState } from "../../orm/schema/state.js";
import { tidyTable } from "../../orm/schema/tidy.js";
import { mentions } from "../files/sql-text.js";
import { has, put } from "../lookup.js";

export interface Taken {
  readonly table: TableState;
  readonly statements: readonly string[];
}

/**
 * A table without a column. PostgreSQL drops the constraints and indexes on it together with it. Those that only
 * mention it in an expression are dropped by name, so that the database certainly matches the state.
 */
export function withoutColumn(name: string, table: TableState, column: string): Taken {
  const { table: rest, statements } = withoutMentions(name, table, column);
  const keep = <T>(record: Readonly<Record<string, T>> | undefined, columnsOf: (value: T) => readonly string[]) =>
    Object.fromEntries(Object.entries(record ?? {}).filter(([, value]) => !columnsOf(value).includes(column)));
  const { primaryKey, primaryKeyName: keyName, ...others } = rest;
  return {
    statements: [...statements, `ALTER TABLE ${sqlName(name)} DROP COLUMN ${quote(column)}`],
    table: tidyTable({
      ...others,
      ...(primaryKey?.includes(column) ? {} : { primaryKey, primaryKeyName: keyName }),
      columns: put(rest.columns, column, undefined),
      unique: keep(rest.unique, (unique) => unique.columns),
      foreignKeys: keep(rest.foreignKeys, (key) => key.columns),
      indexes: keep(rest.indexes, indexColumns),
    } as TableState),
  };
}

/** A table without the checks and indexes whose expressions speak of a column. */
function withoutMentions(name: string, table: TableState, column: string): Taken {
  const checks = Object.entries(table.checks ?? {}).filter(([, sql]) => mentions(sql, column));
  const indexes = Object.entries(table.indexes ?? {}).filter(([, index]) => indexMentions(index, column));
  const without = <T>(
    record: Readonly<Record<string, T>> | undefined,
    taken: readonly (readonly [string, unknown])[],
  ) => Object.fromEntries(Object.entries(record ?? {}).filter(([each]) => !taken.some(([other]) => other === each)));
  return {
    statements: [
      ...checks.map(([check]) => dropConstraintSql(name, check)),
      ...indexes.map(([index]) => dropIndexSql(name, index)),
    ],
    table: tidyTable({ ...table, checks: without(table.checks, checks), indexes: without(table.indexes, indexes) }),
  };
}

/** A table without the parts that block a change of a column's type: computed columns, and expressions if `all`. */
export function withoutDependents(name: string, table: TableState, column: string, all: boolean): Taken {
  let taken: Taken = all ? withoutMentions(name, table, column) : { table, statements: [] };
  for (const computed of computedFrom(table, column)) {
    const next = withoutColumn(name, taken.table, computed);
    taken = { table: next.table, statements: [...taken.statements, ...next.statements] };
  }
  return taken;
}

/** The columns that are computed from another. */
export function computedFrom(table: TableState, column: string): string[] {
  return Object.entries(table.columns)
    .filter(([name, { generated }]) => name !== column && mentions(generated, column))
    .map(([name]) => name);
}

/** The statements that give a table what it has in `to` and not in `from`: columns, constraints, indexes. */
export function restoreStatements(name: string, from: TableState, to: TableState): string[] {
  const columns = missingOf(from.columns, to.columns);
  return [
    ...columns.flatMap(([column, state]) => addColumnStatements(name, column, state)),
    ...(to.primaryKey && !from.primaryKey
      ? [addConstraintSql(name, primaryKeySql(primaryKeyName(name, to), to.primaryKey))]
      : []),
    ...missingOf(from.unique, to.unique).map(([key, unique]) => addConstraintSql(name, uniqueSql(key, unique))),
    ...missingOf(from.checks, to.checks).map(([key, sql]) => addConstraintSql(name, checkSql(key, sql))),
    ...missingOf(from.indexes, to.indexes).map(([key, index]) => createIndexSql(name, key, index)),
    ...missingOf(from.foreignKeys, to.foreignKeys).map(([key, foreignKey]) =>
      addConstraintSql(name, foreignKeySql(key, foreignKey)),
    ),
  ];
}

export function addColumnStatements(table: string, name: string, column: ColumnState): string[] {
  return [
    ...createSequenceFor(column),
    `ALTER TABLE ${sqlName(table)} ADD COLUMN ${columnSql(name, column)}`,
    ...ownSequence(table, name, column),
    ...(column.comment === undefined ? [] : [commentColumnSql(table, name, column.comment)]),
  ];
}

function indexColumns(index: IndexState): string[] {
  return [...index.on.flatMap((part) => partOf(part).column ?? []), ...(index.include ?? [])];
}

function indexMentions(index: IndexState, column: string): boolean {
  return mentions(index.where, column) || index.on.some((part) => mentions(partOf(part).expression, column));
}

/** The members that `to` has and `from` has not. */
export function missingOf<T>(
  from: Readonly<Record<string, T>> | undefined,
  to: Readonly<Record<string, T>> | undefined,
): [string, T][] {
  return Object.entries(to ?? {}).filter(([name]) => !has(from, name));
}
