/** Functions that read and change states. Users choose the names: a table can be named `constructor`. */

import { didYouMean } from "../kit/suggest.js";
import type { ColumnState, SchemaState, TableState, ViewState } from "../orm/schema/state.js";
import { tidyState } from "../orm/schema/tidy.js";
import { MigrationError } from "./errors.js";

type Named<T> = Readonly<Record<string, T>>;

export function own<T>(record: Named<T> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

export function has(record: Named<unknown> | undefined, name: string): boolean {
  return record !== undefined && Object.hasOwn(record, name);
}

/** The record with a value under a name, or without the name; an existing name keeps its place. */
export function put<T>(record: Named<T> | undefined, name: string, value: T | undefined): Named<T> {
  if (value !== undefined) return { ...record, [name]: value };
  return Object.fromEntries(Object.entries(record ?? {}).filter(([each]) => each !== name));
}

/** The record with one name replaced by another at the same position. */
export function renameKey<T>(record: Named<T>, from: string, to: string): Named<T> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name === from ? to : name, value]));
}

export function findTable(state: SchemaState, name: string): TableState {
  const table = own(state.tables, name);
  if (table === undefined) throw missing(`there is no table '${name}'`, name, state.tables);
  return table;
}

export function findColumn(name: string, table: TableState, column: string): ColumnState {
  const found = own(table.columns, column);
  if (found === undefined) throw missing(`${name} has no column '${column}'`, column, table.columns);
  return found;
}

export function findEnum(state: SchemaState, name: string): readonly string[] {
  const values = own(state.enums, name);
  if (values === undefined) throw missing(`there is no enum '${name}'`, name, state.enums);
  return values;
}

export function findView(state: SchemaState, name: string): ViewState {
  const view = own(state.views, name);
  if (view === undefined) throw missing(`there is no view '${name}'`, name, state.views ?? {});
  return view;
}

export function missing(message: string, name: string, known: Named<unknown> | readonly string[]): MigrationError {
  return new MigrationError(`${message}${didYouMean(name, Array.isArray(known) ? known : Object.keys(known))}`);
}

export function withTable(state: SchemaState, name: string, table: TableState | undefined): SchemaState {
  return { ...state, tables: put(state.tables, name, table) };
}

export function withEnum(state: SchemaState, name: string, values: readonly string[] | undefined): SchemaState {
  return { ...state, enums: put(state.enums, name, values) };
}

export function withView(state: SchemaState, name: string, view: ViewState | undefined): SchemaState {
  return tidyState({ ...state, views: put(state.views, name, view) });
}
