/**
 * The normal form of a state: values that equal PostgreSQL's defaults are removed, so that equal schemas are equal as
 * data.
 */

import type {
  ColumnState,
  ForeignKeyState,
  IndexPart,
  IndexState,
  SchemaState,
  TableState,
  UniqueState,
  ViewState,
} from "./state.js";
import { normalizeType } from "./type-names.js";

export function tidyState(state: SchemaState): SchemaState {
  return only({
    tables: mapValues(state.tables, tidyTable),
    enums: mapValues(state.enums, (values) => [...values]),
    views: entries(state.views, tidyView),
  });
}

export function tidyView(view: ViewState): ViewState {
  return only({
    as: view.as,
    materialized: view.materialized || undefined,
    indexes: entries(view.indexes, tidyIndex),
  });
}

export function tidyTable(table: TableState): TableState {
  return only({
    columns: mapValues(table.columns, tidyColumn),
    primaryKey: table.primaryKey && table.primaryKey.length > 0 ? table.primaryKey : undefined,
    primaryKeyName: table.primaryKey && table.primaryKey.length > 0 ? table.primaryKeyName : undefined,
    unique: entries(table.unique, tidyUnique),
    foreignKeys: entries(table.foreignKeys, tidyForeignKey),
    checks: entries(table.checks, (sql) => sql),
    indexes: entries(table.indexes, tidyIndex),
    comment: table.comment,
  });
}

export function tidyColumn(column: ColumnState): ColumnState {
  return only({
    type: normalizeType(column.type),
    nullable: column.nullable || undefined,
    default: column.default,
    identity: column.identity || undefined,
    generated: column.generated,
    collation: column.collation,
    comment: column.comment,
  });
}

export function tidyUnique(unique: UniqueState): UniqueState {
  return only({ columns: unique.columns, nullsNotDistinct: unique.nullsNotDistinct || undefined });
}

export function tidyForeignKey(key: ForeignKeyState): ForeignKeyState {
  return only({
    columns: key.columns,
    table: key.table,
    references: key.references,
    onDelete: key.onDelete === "no action" ? undefined : key.onDelete,
    onUpdate: key.onUpdate === "no action" ? undefined : key.onUpdate,
    onDeleteColumns: key.columns.every((column) => key.onDeleteColumns?.includes(column))
      ? undefined
      : key.onDeleteColumns,
    matchFull: key.matchFull || undefined,
    deferred: key.deferred || undefined,
  });
}

export function tidyIndex(index: IndexState): IndexState {
  return only({
    on: index.on.map(tidyPart),
    unique: index.unique || undefined,
    method: index.method === "btree" ? undefined : index.method,
    nullsNotDistinct: index.nullsNotDistinct || undefined,
    where: index.where,
    include: index.include && index.include.length > 0 ? index.include : undefined,
  });
}

function tidyPart(part: string | IndexPart): string | IndexPart {
  if (typeof part === "string") return part;
  const { column, expression, descending, nulls, operatorClass } = part;
  // Nulls sort as the largest values: descending order puts them first by default.
  const usual = descending ? "first" : "last";
  const rest = only({
    descending: descending || undefined,
    nulls: nulls === usual ? undefined : nulls,
    operatorClass,
  });
  if (column === undefined) return only({ expression, ...rest });
  return Object.keys(rest).length === 0 ? column : { column, ...rest };
}

/** Removes the keys whose value is undefined. */
export function only<T extends object>(given: T): Tidied<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Tidied<T>;
}

type Tidied<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

export function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}

function entries<T, U>(
  record: Readonly<Record<string, T>> | undefined,
  change: (value: T) => U,
): Record<string, U> | undefined {
  return record === undefined || Object.keys(record).length === 0 ? undefined : mapValues(record, change);
}
