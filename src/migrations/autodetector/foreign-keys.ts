import { isDeepStrictEqual } from "node:util";
import type { ForeignKeyState, SchemaState, TableState } from "../../orm/schema/state.js";
import { isUnique } from "../fit.js";
import { has, own } from "../lookup.js";
import { sameFamily } from "../operations/casts.js";
import { op } from "../operations.js";
import type { Journal } from "./journal.js";
import { isReused } from "./parts.js";

/** Drops the foreign keys that were removed or changed, and those that stand in the way of other changes. */
export function dropForeignKeys(journal: Journal, to: SchemaState): void {
  const before = journal.state;
  for (const [name, table] of Object.entries(before.tables)) {
    for (const [key, foreignKey] of Object.entries(table.foreignKeys ?? {})) {
      const wanted = own(to.tables, name);
      const stays = wanted !== undefined && isDeepStrictEqual(own(wanted.foreignKeys, key), foreignKey);
      const drops =
        stays || goesByItself(table, wanted, key, foreignKey) ? isInTheWay(before, to, name, foreignKey) : true;
      if (drops) journal.add(op.dropConstraint(name, key));
    }
  }
}

export function addForeignKeys(journal: Journal, to: SchemaState): void {
  for (const [name, { foreignKeys = {} }] of Object.entries(to.tables)) {
    for (const [key, foreignKey] of Object.entries(foreignKeys)) {
      if (!has(journal.state.tables[name]!.foreignKeys, key)) journal.add(op.addForeignKey(name, key, foreignKey));
    }
  }
}

/**
 * True if the foreign key is dropped together with its table or with one of its columns; false if a new constraint
 * takes its name before.
 */
function goesByItself(
  table: TableState,
  wanted: TableState | undefined,
  key: string,
  foreignKey: ForeignKeyState,
): boolean {
  if (wanted === undefined) return true;
  const dropped = foreignKey.columns.some(
    (column) => !has(wanted.columns, column) && !table.columns[column]!.generated,
  );
  return dropped && !isReused(wanted, key);
}

/**
 * True if a column at either end, or the key that it refers to, changes so that PostgreSQL would refuse the change
 * while the foreign key exists.
 */
function isInTheWay(before: SchemaState, to: SchemaState, name: string, foreignKey: ForeignKeyState): boolean {
  const old = own(before.tables, foreignKey.table);
  const target = own(to.tables, foreignKey.table);
  const ownColumns = own(to.tables, name)?.columns;
  const local = foreignKey.columns.some((column) =>
    isMadeAnother(before.tables[name]!.columns[column]!, own(ownColumns, column)),
  );
  if (local) return true;
  if (old === undefined || target === undefined) return false;
  return (
    !isUnique(target, foreignKey.references) ||
    losesKey(old, target, foreignKey.references) ||
    foreignKey.references.some((column) => isMadeAnother(old.columns[column]!, own(target.columns, column)))
  );
}

function isMadeAnother(old: TableState["columns"][string], now: TableState["columns"][string] | undefined): boolean {
  return now !== undefined && (!sameFamily(old.type, now.type) || old.generated !== now.generated);
}

/** True if a constraint or an index that can carry a foreign key is dropped or made again. */
function losesKey(old: TableState, now: TableState, columns: readonly string[]): boolean {
  const alone = (part: Partial<TableState>): boolean => isUnique({ columns: old.columns, ...part }, columns);
  if (alone({ primaryKey: old.primaryKey ?? [] }) && !isDeepStrictEqual(old.primaryKey, now.primaryKey)) return true;
  return (["unique", "indexes"] as const).some((kind) =>
    Object.entries(old[kind] ?? {}).some(
      ([name, part]) => alone({ [kind]: { [name]: part } }) && !isDeepStrictEqual(own<unknown>(now[kind], name), part),
    ),
  );
}
