import { quote, shortName } from "../../orm/identifiers.js";
import {
  checkEndings,
  splitName,
  sqlIndexName,
  sqlName,
  usualCheckName,
  usualForeignKeyName,
  usualIndexName,
  usualPrimaryKeyName,
  usualUniqueName,
} from "../../orm/schema/names.js";
import type { TableState } from "../../orm/schema/state.js";
import { constraintNames } from "../fit.js";

/** A table under its name. */
export interface NamedTable {
  readonly name: string;
  readonly table: TableState;
}

/** A constraint or an index that is called after its table and columns, and changes its name with theirs. */
export interface PartRename {
  readonly kind: "constraint" | "index";
  readonly from: string;
  readonly to: string;
}

/**
 * The constraints and indexes that are renamed together with a table or a column. `after` has the new name and columns;
 * its constraints and indexes still have the old names.
 */
export function partRenames(before: NamedTable, after: NamedTable): PartRename[] {
  const taken = new Set([...constraintNames(before.name, before.table), ...Object.keys(before.table.indexes ?? {})]);
  const renames: PartRename[] = [];
  const add = (kind: PartRename["kind"], from: string, to: string | undefined): void => {
    if (to === undefined || to === from || taken.has(to)) return;
    taken.add(to);
    renames.push({ kind, from, to });
  };
  if (before.table.primaryKey && before.table.primaryKeyName === undefined) {
    add("constraint", usualPrimaryKeyName(before.name), usualPrimaryKeyName(after.name));
  }
  for (const [name, old, now] of pairs(before.table.unique, after.table.unique)) {
    if (name === usualUniqueName(before.name, old.columns))
      add("constraint", name, usualUniqueName(after.name, now.columns));
  }
  for (const [name, old, now] of pairs(before.table.foreignKeys, after.table.foreignKeys)) {
    if (name !== usualForeignKeyName(before.name, old.columns)) continue;
    add("constraint", name, usualForeignKeyName(after.name, now.columns));
  }
  for (const name of Object.keys(before.table.checks ?? {}))
    add("constraint", name, checkNameAfter(before, after, name));
  for (const [name, old, now] of pairs(before.table.indexes, after.table.indexes)) {
    if (name === usualIndexName(before.name, old)) add("index", name, usualIndexName(after.name, now));
  }
  return renames;
}

/** The table with its constraints and indexes under their new names. */
export function renameParts(table: TableState, renames: readonly PartRename[]): TableState {
  const rename = <T>(record: Readonly<Record<string, T>> | undefined, kind: PartRename["kind"]) =>
    record &&
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        renames.find((each) => each.kind === kind && each.from === name)?.to ?? name,
        value,
      ]),
    );
  return {
    ...table,
    ...(table.unique && { unique: rename(table.unique, "constraint") }),
    ...(table.foreignKeys && { foreignKeys: rename(table.foreignKeys, "constraint") }),
    ...(table.checks && { checks: rename(table.checks, "constraint") }),
    ...(table.indexes && { indexes: rename(table.indexes, "index") }),
  } as TableState;
}

export function renamePartSql(table: string, { kind, from, to }: PartRename): string {
  return kind === "index"
    ? `ALTER INDEX ${sqlIndexName(table, from)} RENAME TO ${quote(to)}`
    : `ALTER TABLE ${sqlName(table)} RENAME CONSTRAINT ${quote(from)} TO ${quote(to)}`;
}

/** The way back. */
export function reversed(renames: readonly PartRename[]): PartRename[] {
  return renames.map(({ kind, from, to }) => ({ kind, from: to, to: from })).reverse();
}

function pairs<T>(
  before: Readonly<Record<string, T>> | undefined,
  after: Readonly<Record<string, T>> | undefined,
): [string, T, T][] {
  return Object.entries(before ?? {}).map(([name, value]) => [name, value, after![name]!]);
}

/** A check is called after one column, or numbered: `books_year_check`, `books_check1`. */
function checkNameAfter(before: NamedTable, after: NamedTable, name: string): string | undefined {
  const columns = Object.keys(after.table.columns);
  for (const [index, column] of Object.keys(before.table.columns).entries()) {
    for (const ending of checkEndings) {
      if (name === usualCheckName(before.name, column, ending))
        return usualCheckName(after.name, columns[index]!, ending);
    }
  }
  const old = `${splitName(before.name).name}_check`;
  if (!name.startsWith(old) || !/^\d+$/.test(name.slice(old.length))) return undefined;
  return shortName(`${splitName(after.name).name}_check${name.slice(old.length)}`);
}
