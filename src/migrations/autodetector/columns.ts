import { isDeepStrictEqual } from "node:util";
import type { ColumnState, SchemaState } from "../../orm/schema/state.js";
import { has, own } from "../lookup.js";
import type { ColumnChanges } from "../operations/read.js";
import { computedFrom } from "../operations/restore.js";
import { op } from "../operations.js";
import { type Journal, tablesThatStay } from "./journal.js";
import type { Asker } from "./questions.js";

/**
 * Drops computed columns that were removed, and those that change together with a column they are computed from. No data is
 * lost. They would block changes to the columns that they are computed from.
 */
export function dropComputedColumns(journal: Journal, to: SchemaState): void {
  for (const { name, table, wanted } of tablesThatStay(journal, to)) {
    const retyped = Object.keys(table.columns).filter((column) => {
      const now = own(wanted.columns, column);
      const old = table.columns[column]!;
      return now === undefined || now.type !== old.type || now.generated !== old.generated;
    });
    const inTheWay = new Set(retyped.flatMap((column) => computedFrom(table, column)));
    for (const [column, state] of Object.entries(table.columns)) {
      if (state.generated === undefined) continue;
      const now = own(wanted.columns, column);
      const changed = now !== undefined && (now.generated !== state.generated || now.type !== state.type);
      if (now === undefined || (changed && now.generated !== undefined && inTheWay.has(column))) {
        journal.add(op.dropColumn(name, column));
      }
    }
  }
}

/**
 * Adds and alters columns. Columns that are no longer computed come first, because they would block changes to their
 * source columns. Computed columns come last, when their source columns exist.
 */
export function changeColumns(journal: Journal, to: SchemaState, ask: Asker): void {
  for (const { name, table, wanted } of tablesThatStay(journal, to)) {
    const rank = (column: string): number =>
      wanted.columns[column]!.generated !== undefined ? 2 : own(table.columns, column)?.generated !== undefined ? 0 : 1;
    for (const column of Object.keys(wanted.columns).sort((a, b) => rank(a) - rank(b))) {
      const state = wanted.columns[column]!;
      const old = own(journal.state.tables[name]!.columns, column);
      if (old === undefined) addColumn(journal, name, column, state, ask);
      else if (!isDeepStrictEqual(old, state)) alterColumn(journal, name, column, old, state, ask);
    }
  }
}

/** Drops a changed primary key if one of its columns becomes nullable: PostgreSQL would refuse that. */
export function dropPrimaryKeys(journal: Journal, to: SchemaState): void {
  for (const { name, table, wanted } of tablesThatStay(journal, to)) {
    if (isDeepStrictEqual(table.primaryKey, wanted.primaryKey)) continue;
    if (table.primaryKey?.some((column) => own(wanted.columns, column)?.nullable))
      journal.add(op.setPrimaryKey(name, null));
  }
}

export function setPrimaryKeys(journal: Journal, to: SchemaState): void {
  for (const { name, table, wanted } of tablesThatStay(journal, to)) {
    if (isDeepStrictEqual(table.primaryKey, wanted.primaryKey)) continue;
    journal.add(op.setPrimaryKey(name, wanted.primaryKey ?? null, wanted.primaryKeyName));
  }
}

/**
 * The values of a dropped column are lost. To undo the drop of a column that is not nullable, existing rows need
 * `fill`.
 */
export function dropColumns(journal: Journal, to: SchemaState, ask: Asker): void {
  for (const { name, table, wanted } of tablesThatStay(journal, to)) {
    for (const [column, state] of Object.entries(table.columns)) {
      if (has(wanted.columns, column)) continue;
      const fill = needsValue(state)
        ? ask.text({ kind: "fill", table: name, column, type: state.type, reason: "dropped" })
        : undefined;
      journal.add(op.dropColumn(name, column, fill === undefined ? {} : { fill }));
    }
  }
}

/** True if existing rows need a value for a column that is added. */
function needsValue(column: ColumnState): boolean {
  return !column.nullable && column.default === undefined && !column.identity && column.generated === undefined;
}

function addColumn(journal: Journal, table: string, name: string, column: ColumnState, ask: Asker): void {
  const fill = needsValue(column)
    ? ask.text({ kind: "fill", table, column: name, type: column.type, reason: "added" })
    : undefined;
  journal.add(op.addColumn(table, name, column, fill === undefined ? {} : { fill }));
}

function alterColumn(
  journal: Journal,
  table: string,
  name: string,
  from: ColumnState,
  to: ColumnState,
  ask: Asker,
): void {
  const tightened = from.nullable && !to.nullable && to.generated === undefined && !to.identity;
  const fill = tightened
    ? ask.text({ kind: "fill", table, column: name, type: to.type, reason: "notNull" })
    : undefined;
  journal.add(op.alterColumn(table, name, changesOf(from, to), fill === undefined ? {} : { fill }));
}

/** The properties that differ; null for one that was removed. */
function changesOf(from: ColumnState, to: ColumnState): ColumnChanges {
  const text = <K extends "default" | "generated" | "collation" | "comment">(key: K) =>
    from[key] === to[key] ? {} : { [key]: to[key] ?? null };
  return {
    ...(from.type === to.type ? {} : { type: to.type }),
    ...(!from.nullable === !to.nullable ? {} : { nullable: to.nullable === true }),
    ...(!from.identity === !to.identity ? {} : { identity: to.identity === true }),
    ...text("default"),
    ...text("generated"),
    ...text("collation"),
    ...text("comment"),
  };
}
