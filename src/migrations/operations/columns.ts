import { checkedOptions } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { quote } from "../../orm/identifiers.js";
import { partOf, sqlName } from "../../orm/schema/names.js";
import type { ColumnState, IndexState, SchemaState, TableState } from "../../orm/schema/state.js";
import { mapValues, tidyTable } from "../../orm/schema/tidy.js";
import { MigrationError } from "../errors.js";
import { renameColumnIn } from "../files/sql-text.js";
import { checkReferrers, referrersOf } from "../fit.js";
import { findColumn, findTable, has, put, renameKey, withTable } from "../lookup.js";
import type { Operation } from "../operation.js";
import { define } from "./define.js";
import { readColumn, readName, readQualifiedName } from "./read.js";
import { partRenames, renamePartSql, renameParts, reversed } from "./rename-parts.js";
import { addColumnStatements, computedFrom, restoreStatements, withoutColumn } from "./restore.js";

export interface FillOptions {
  /** SQL for existing rows: a value, or an expression over the other columns. */
  readonly fill?: string;
}

const readFill = checkedOptions<FillOptions>({ fill: is.text });

/** Adds a column. If it is not nullable and has no default, `fill` gives the value of existing rows. */
export function addColumn(table: string, name: string, column: ColumnState, options: FillOptions = {}): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of a column", name);
  const state = readColumn(`the column ${table}.${name}`, column);
  const { fill } = readFill(`addColumn of ${table}.${name}`, options);
  checkFill(`addColumn of ${table}.${name}`, state, fill);
  return define({
    source: ["addColumn", table, name, state, fill === undefined ? {} : { fill }],
    description: `add column ${table}.${name}`,
    apply(before) {
      const target = findTable(before, table);
      checkNewColumn(table, target, name);
      return withTable(before, table, { ...target, columns: put(target.columns, name, state) });
    },
    up: () => filledColumn(table, name, state, fill),
    down: () => [`ALTER TABLE ${sqlName(table)} DROP COLUMN ${quote(name)}`],
  });
}

/**
 * Drops a column with the constraints and indexes that need it. Undoing creates them again, but not the values; `fill`
 * gives the values of a column that is not nullable.
 */
export function dropColumn(table: string, name: string, options: FillOptions = {}): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of a column", name);
  const { fill } = readFill(`dropColumn of ${table}.${name}`, options);
  return define({
    source: ["dropColumn", table, name, fill === undefined ? {} : { fill }],
    description: `drop column ${table}.${name}`,
    apply(before) {
      const target = findTable(before, table);
      checkFill(`dropColumn of ${table}.${name}`, findColumn(table, target, name), fill);
      const after = withTable(before, table, withoutColumn(table, target, name).table);
      checkReferrers(before, after, table);
      const [computed] = computedFrom(target, name);
      if (computed !== undefined) {
        throw new MigrationError(`${table}.${computed} is computed from '${name}': drop or alter it first`);
      }
      return after;
    },
    up: (before) => withoutColumn(table, findTable(before, table), name).statements,
    down(before, after) {
      const target = findTable(before, table);
      const column = findColumn(table, target, name);
      const rest = findTable(after, table);
      const restored = { ...rest, columns: put(rest.columns, name, column) };
      return [...filledColumn(table, name, column, fill), ...restoreStatements(table, restored, target)];
    },
  });
}

/**
 * Renames a column everywhere: in keys, constraints, indexes, expressions and foreign keys to it. Constraints and indexes
 * that are named after it are renamed too.
 */
export function renameColumn(table: string, from: string, to: string): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of a column", from);
  readName("the new name of a column", to);
  const renamesIn = (before: SchemaState) => {
    const target = findTable(before, table);
    return partRenames({ name: table, table: target }, { name: table, table: renamedColumn(target, from, to) });
  };
  return define({
    source: ["renameColumn", table, from, to],
    description: `rename column ${table}.${from} to ${to}`,
    apply(before) {
      const target = findTable(before, table);
      findColumn(table, target, from);
      checkNewColumn(table, target, to);
      const renamed = renameParts(renamedColumn(target, from, to), renamesIn(before));
      return referringTo(withTable(before, table, renamed), table, from, to);
    },
    up: (before) => [renameColumnSql(table, from, to), ...renamesIn(before).map((each) => renamePartSql(table, each))],
    down: (before) => [
      ...reversed(renamesIn(before)).map((each) => renamePartSql(table, each)),
      renameColumnSql(table, to, from),
    ],
  });
}

/** A table with a column under another name, its constraints and indexes under the names they had. */
function renamedColumn(table: TableState, from: string, to: string): TableState {
  const name = (column: string): string => (column === from ? to : column);
  const sql = (text: string): string => renameColumnIn(text, from, to);
  return tidyTable({
    ...table,
    columns: mapValues(renameKey(table.columns, from, to), (column) =>
      column.generated === undefined ? column : { ...column, generated: sql(column.generated) },
    ),
    ...(table.primaryKey && { primaryKey: table.primaryKey.map(name) }),
    unique: mapValues(table.unique ?? {}, (unique) => ({ ...unique, columns: unique.columns.map(name) })),
    foreignKeys: mapValues(table.foreignKeys ?? {}, (key) => ({
      ...key,
      columns: key.columns.map(name),
      ...(key.onDeleteColumns && { onDeleteColumns: key.onDeleteColumns.map(name) }),
    })),
    checks: mapValues(table.checks ?? {}, sql),
    indexes: mapValues(table.indexes ?? {}, (index) => renamedInIndex(index, name, sql)),
  });
}

function renamedInIndex(
  index: IndexState,
  name: (column: string) => string,
  sql: (text: string) => string,
): IndexState {
  return {
    ...index,
    on: index.on.map((given) => {
      const { column, expression, ...part } = partOf(given);
      return column === undefined ? { ...part, expression: sql(expression!) } : { ...part, column: name(column) };
    }),
    ...(index.where === undefined ? {} : { where: sql(index.where) }),
    ...(index.include === undefined ? {} : { include: index.include.map(name) }),
  };
}

/** The state in which foreign keys that lead to a column know its new name. */
function referringTo(state: SchemaState, table: string, from: string, to: string): SchemaState {
  return referrersOf(state, table).reduce((current, { table: other, key, foreignKey }) => {
    const references = foreignKey.references.map((column) => (column === from ? to : column));
    const referring = findTable(current, other);
    const foreignKeys = put(referring.foreignKeys, key, { ...foreignKey, references });
    return withTable(current, other, { ...referring, foreignKeys });
  }, state);
}

function filledColumn(table: string, name: string, column: ColumnState, fill: string | undefined): string[] {
  if (fill === undefined) return addColumnStatements(table, name, column);
  return [
    ...addColumnStatements(table, name, { ...column, nullable: true }),
    `UPDATE ${sqlName(table)} SET ${quote(name)} = ${fill}`,
    ...(column.nullable ? [] : [`ALTER TABLE ${sqlName(table)} ALTER COLUMN ${quote(name)} SET NOT NULL`]),
  ];
}

function checkFill(owner: string, column: ColumnState, fill: string | undefined): void {
  if (fill !== undefined && (column.identity || column.generated !== undefined)) {
    throw new ValueError(`${owner}: the database gives the column its values, 'fill' cannot`);
  }
}

function checkNewColumn(name: string, table: TableState, column: string): void {
  if (has(table.columns, column)) throw new MigrationError(`${name} already has a column '${column}'`);
}

function renameColumnSql(table: string, from: string, to: string): string {
  return `ALTER TABLE ${sqlName(table)} RENAME COLUMN ${quote(from)} TO ${quote(to)}`;
}
