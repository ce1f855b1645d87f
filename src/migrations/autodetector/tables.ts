import type { ForeignKeyState, SchemaState, TableState } from "../../orm/schema/state.js";
import { tidyTable } from "../../orm/schema/tidy.js";
import { isUnique } from "../fit.js";
import { has, own } from "../lookup.js";
import { op } from "../operations.js";
import type { Journal } from "./journal.js";

/** Creates the tables that are new, each after those it refers to. Foreign keys that form a circle are added later. */
export function createTables(journal: Journal, to: SchemaState): void {
  const names = Object.keys(to.tables).filter((name) => !has(journal.state.tables, name));
  for (const name of afterTargets(names, to)) {
    const table = to.tables[name]!;
    const foreignKeys = Object.entries(table.foreignKeys ?? {}).filter(([, key]) =>
      isThere(journal.state, to, name, key),
    );
    journal.add(op.createTable(name, tidyTable({ ...table, foreignKeys: Object.fromEntries(foreignKeys) })));
  }
}

/** Drops the tables that were removed, each before those it refers to; foreign keys that form a circle go first. */
export function dropTables(journal: Journal, to: SchemaState): void {
  const names = Object.keys(journal.state.tables).filter((name) => !has(to.tables, name));
  const order = afterTargets(names, journal.state).reverse();
  for (const [place, name] of order.entries()) {
    for (const [key, { table: target }] of Object.entries(journal.state.tables[name]!.foreignKeys ?? {})) {
      if (order.indexOf(target) >= 0 && order.indexOf(target) < place) journal.add(op.dropConstraint(name, key));
    }
  }
  for (const name of order) journal.add(op.dropTable(name));
}

/** True if the foreign key of a new table can be made together with it. */
function isThere(state: SchemaState, to: SchemaState, name: string, key: ForeignKeyState): boolean {
  if (key.table === name || !has(to.tables, key.table)) return true;
  const target: TableState | undefined = own(state.tables, key.table);
  return target !== undefined && isUnique(target, key.references);
}

/** The names in an order in which each comes after those its foreign keys lead to, as far as there is one. */
function afterTargets(names: readonly string[], state: SchemaState): string[] {
  const done: string[] = [];
  const seen = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const { table } of Object.values(state.tables[name]!.foreignKeys ?? {}))
      if (names.includes(table)) visit(table);
    done.push(name);
  };
  names.forEach(visit);
  return done;
}
