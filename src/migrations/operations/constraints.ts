import { primaryKeyName, usualPrimaryKeyName } from "../../orm/schema/names.js";
import {
  addConstraintSql,
  checkSql,
  dropConstraintSql,
  foreignKeySql,
  primaryKeySql,
  uniqueSql,
} from "../../orm/schema/render.js";
import type { ForeignKeyState, SchemaState, TableState, UniqueState } from "../../orm/schema/state.js";
import { only, tidyTable } from "../../orm/schema/tidy.js";
import { MigrationError } from "../errors.js";
import {
  checkColumns,
  checkForeignKey,
  checkNewName,
  checkPrimaryKey,
  checkReferrers,
  constraintNames,
} from "../fit.js";
import { findTable, has, missing, own, put, renameKey, withTable } from "../lookup.js";
import type { Operation } from "../operation.js";
import { define } from "./define.js";
import { readForeignKey, readName, readNames, readQualifiedName, readText, readUnique } from "./read.js";
import { renamePartSql } from "./rename-parts.js";
import { restoreStatements } from "./restore.js";

/** Adds a unique constraint over columns: `["author_id", "title"]`, or with `nullsNotDistinct`. */
export function addUnique(table: string, name: string, unique: readonly string[] | UniqueState): Operation {
  const state = readUnique(`the unique constraint ${name} of ${table}`, unique);
  return adding(
    ["addUnique", table, name, state.nullsNotDistinct ? state : state.columns],
    uniqueSql(name, state),
    (target) => {
      checkColumns(table, target, state.columns);
      return { ...target, unique: put(target.unique, name, state) };
    },
  );
}

export function addForeignKey(table: string, name: string, foreignKey: ForeignKeyState): Operation {
  const state = readForeignKey(`the foreign key ${name} of ${table}`, foreignKey);
  return adding(["addForeignKey", table, name, state], foreignKeySql(name, state), (target, before) => {
    checkForeignKey(before, table, name, state);
    return { ...target, foreignKeys: put(target.foreignKeys, name, state) };
  });
}

/** Adds a check constraint, as SQL. */
export function addCheck(table: string, name: string, sql: string): Operation {
  readText(`the check ${name} of ${table}`, sql);
  return adding(["addCheck", table, name, sql], checkSql(name, sql), (target) => ({
    ...target,
    checks: put(target.checks, name, sql),
  }));
}

/** Drops a unique constraint, a foreign key or a check. Undoing creates it again. */
export function dropConstraint(table: string, name: string): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of a constraint", name);
  return define({
    source: ["dropConstraint", table, name],
    description: `drop constraint ${name} of ${table}`,
    apply(before) {
      const target = findTable(before, table);
      const kind = kindOf(table, target, name);
      if (kind === "primaryKey") {
        throw new MigrationError(`${name} is the primary key of ${table}: setPrimaryKey(..., null) drops it`);
      }
      const rest = put<unknown>(target[kind], name, undefined);
      const after = withTable(before, table, tidyTable({ ...target, [kind]: rest }));
      checkReferrers(before, after, table);
      return after;
    },
    up: () => [dropConstraintSql(table, name)],
    down: (before, after) => restoreStatements(table, findTable(after, table), findTable(before, table)),
  });
}

export function renameConstraint(table: string, from: string, to: string): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of a constraint", from);
  readName("the new name of a constraint", to);
  return define({
    source: ["renameConstraint", table, from, to],
    description: `rename constraint ${from} of ${table} to ${to}`,
    apply(before) {
      const target = findTable(before, table);
      const kind = kindOf(table, target, from);
      checkNewName(table, target, to);
      const changed =
        kind === "primaryKey"
          ? withKey(table, target, target.primaryKey, to)
          : { ...target, [kind]: renameKey(target[kind] as Record<string, unknown>, from, to) };
      return withTable(before, table, changed);
    },
    up: () => [renamePartSql(table, { kind: "constraint", from, to })],
    down: () => [renamePartSql(table, { kind: "constraint", from: to, to: from })],
  });
}

/** Replaces the primary key; null removes it. */
export function setPrimaryKey(table: string, columns: readonly string[] | null, name?: string): Operation {
  readQualifiedName("the name of a table", table);
  const wanted = columns === null ? undefined : readNames(`the primary key of ${table}`, columns);
  if (name !== undefined) readName("the name of a primary key", name);
  return define({
    source: ["setPrimaryKey", table, wanted ?? null, name],
    description: wanted ? `set primary key of ${table} (${wanted.join(", ")})` : `drop primary key of ${table}`,
    apply(before) {
      const target = findTable(before, table);
      if (wanted) checkPrimaryKey(table, target, wanted);
      const bare = withKey(table, target, undefined);
      if (wanted) checkNewName(table, bare, name ?? usualPrimaryKeyName(table));
      const after = withTable(before, table, withKey(table, target, wanted, name));
      checkReferrers(before, after, table);
      return after;
    },
    up: (before, after) => keyStatements(table, findTable(before, table), findTable(after, table)),
    down: (before, after) => keyStatements(table, findTable(after, table), findTable(before, table)),
  });
}

function adding(
  source: readonly [name: string, table: string, constraint: string, ...args: unknown[]],
  sql: string,
  change: (target: TableState, before: SchemaState) => TableState,
): Operation {
  const [, table, name] = source;
  readQualifiedName("the name of a table", table);
  readName("the name of a constraint", name);
  return define({
    source,
    description: `add constraint ${name} to ${table}`,
    apply(before) {
      const target = findTable(before, table);
      checkNewName(table, target, name);
      return withTable(before, table, change(target, before));
    },
    up: () => [addConstraintSql(table, sql)],
    down: () => [dropConstraintSql(table, name)],
  });
}

function kindOf(
  name: string,
  table: TableState,
  constraint: string,
): "primaryKey" | "unique" | "checks" | "foreignKeys" {
  if (table.primaryKey && primaryKeyName(name, table) === constraint) return "primaryKey";
  const kind = (["unique", "checks", "foreignKeys"] as const).find((each) => has(table[each], constraint));
  if (kind !== undefined) return kind;
  const hint = own(table.indexes, constraint) ? "; it is an index, not a constraint" : "";
  throw missing(
    `${name} has no constraint '${constraint}'${hint}`,
    constraint,
    hint ? [] : constraintNames(name, table),
  );
}

function withKey(
  name: string,
  table: TableState,
  columns: readonly string[] | undefined,
  keyName?: string,
): TableState {
  const { primaryKey: _key, primaryKeyName: _name, ...rest } = table;
  const given = keyName === usualPrimaryKeyName(name) ? undefined : keyName;
  return columns === undefined ? rest : only({ ...rest, primaryKey: columns, primaryKeyName: given });
}

function keyStatements(name: string, from: TableState, to: TableState): string[] {
  return [
    ...(from.primaryKey ? [dropConstraintSql(name, primaryKeyName(name, from))] : []),
    ...(to.primaryKey ? [addConstraintSql(name, primaryKeySql(primaryKeyName(name, to), to.primaryKey))] : []),
  ];
}
