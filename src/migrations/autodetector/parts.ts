import { isDeepStrictEqual } from "node:util";
import type { SchemaState, TableState } from "../../orm/schema/state.js";
import { has, own } from "../lookup.js";
import { missingOf, withoutColumn } from "../operations/restore.js";
import { op } from "../operations.js";
import { type Journal, tablesThatStay } from "./journal.js";

/** Drops unique constraints, checks and indexes that were removed or changed, unless they go with a column. */
export function dropParts(journal: Journal, to: SchemaState): void {
  for (const { name, table, wanted } of tablesThatStay(journal, to)) {
    const rest = withoutDropped(name, table, wanted);
    for (const kind of ["unique", "checks", "indexes"] as const) {
      for (const [part, state] of Object.entries<unknown>(table[kind] ?? {})) {
        if (isDeepStrictEqual(own<unknown>(wanted[kind], part), state)) continue;
        if (!has(rest[kind], part) && !isReused(wanted, part)) continue;
        journal.add(kind === "indexes" ? op.dropIndex(name, part) : op.dropConstraint(name, part));
      }
    }
  }
}

/** Adds unique constraints, checks and indexes to existing tables, and sets comments of tables. */
export function addParts(journal: Journal, to: SchemaState): void {
  for (const { name, table, wanted } of tablesThatStay(journal, to)) {
    for (const [key, unique] of missingOf(table.unique, wanted.unique)) journal.add(op.addUnique(name, key, unique));
    for (const [key, sql] of missingOf(table.checks, wanted.checks)) journal.add(op.addCheck(name, key, sql));
    for (const [key, index] of missingOf(table.indexes, wanted.indexes)) journal.add(op.createIndex(name, key, index));
    if (table.comment !== wanted.comment) journal.add(op.commentTable(name, wanted.comment ?? null));
  }
}

function withoutDropped(name: string, table: TableState, wanted: TableState): TableState {
  return Object.keys(table.columns)
    .filter((column) => !has(wanted.columns, column))
    .reduce((rest, column) => withoutColumn(name, rest, column).table, table);
}

export function isReused(wanted: TableState, part: string): boolean {
  return [wanted.unique, wanted.checks, wanted.foreignKeys, wanted.indexes].some((parts) => has(parts, part));
}
