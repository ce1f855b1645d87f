import { checkOption, is } from "../../kit/options.js";
import { literal, quote } from "../../orm/identifiers.js";
import { joinName, splitName, sqlName } from "../../orm/schema/names.js";
import { commentTableSql, createSchemaFor, createSchemaSql, createTableStatements } from "../../orm/schema/render.js";
import type { SchemaState, TableState } from "../../orm/schema/state.js";
import { mapValues, tidyTable } from "../../orm/schema/tidy.js";
import { MigrationError } from "../errors.js";
import { checkReferrers, checkTable } from "../fit.js";
import { findTable, has, own, renameKey, withTable } from "../lookup.js";
import type { Operation } from "../operation.js";
import { define } from "./define.js";
import { readName, readQualifiedName, readTable } from "./read.js";
import { partRenames, renamePartSql, renameParts, reversed } from "./rename-parts.js";

/** Creates a table with its constraints, indexes and comments, and the schema that its name may hold. */
export function createTable(name: string, table: TableState): Operation {
  readQualifiedName("the name of a table", name);
  const state = readTable(name, table);
  return define({
    source: ["createTable", name, state],
    description: `create table ${name}`,
    apply(before) {
      checkNewTable(before, name);
      checkTable(before, name, state);
      return withTable(before, name, state);
    },
    up: () => createTableStatements(name, state),
    down: () => [dropTableSql(name)],
  });
}

/** Drops a table. Undoing creates it again, without its rows. */
export function dropTable(name: string): Operation {
  readQualifiedName("the name of a table", name);
  return define({
    source: ["dropTable", name],
    description: `drop table ${name}`,
    apply(before) {
      findTable(before, name);
      const after = withTable(before, name, undefined);
      checkReferrers(before, after, name);
      return after;
    },
    up: () => [dropTableSql(name)],
    down: (before) => createTableStatements(name, findTable(before, name)),
  });
}

/**
 * Renames a table, or moves it into another schema. Constraints, indexes and sequences that are named after it are renamed
 * too, and foreign keys to it are changed.
 */
export function renameTable(from: string, to: string): Operation {
  readQualifiedName("the name of a table", from);
  readQualifiedName("the new name of a table", to);
  const renamesIn = (before: SchemaState) => {
    const table = findTable(before, from);
    return partRenames({ name: from, table }, { name: to, table });
  };
  return define({
    source: ["renameTable", from, to],
    description: `rename table ${from} to ${to}`,
    apply(before) {
      const table = renameParts(findTable(before, from), renamesIn(before));
      checkNewTable(before, to);
      const tables = renameKey({ ...before.tables, [from]: table }, from, to);
      return { ...before, tables: mapValues(tables, (each) => followTable(each, from, to)) };
    },
    up: (before) => [
      ...renameSql("TABLE", from, to),
      ...renamesIn(before).map((each) => renamePartSql(to, each)),
      ...renameSequences(findTable(before, from), from, to),
    ],
    down: (before) => [
      ...reversed(renamesIn(before)).map((each) => renamePartSql(to, each)),
      ...renameSql("TABLE", to, from),
      ...renameSequences(findTable(before, from), to, from),
    ],
  });
}

/** Sets the comment of a table; null removes it. */
export function commentTable(name: string, comment: string | null): Operation {
  readQualifiedName("the name of a table", name);
  const text = comment ?? undefined;
  if (text !== undefined) checkOption("commentTable", "comment", text, is.string);
  return define({
    source: ["commentTable", name, comment],
    description: `comment on table ${name}`,
    apply(before) {
      const { comment: _, ...table } = findTable(before, name);
      return withTable(before, name, text === undefined ? table : { ...table, comment: text });
    },
    up: () => [commentTableSql(name, text)],
    down: (before) => [commentTableSql(name, own(before.tables, name)?.comment)],
  });
}

/** Creates a schema if it does not exist. Undoing keeps it, because others may use it. `createTable` creates the schema of its table. */
export function createSchema(name: string): Operation {
  readName("the name of a schema", name);
  return define({
    source: ["createSchema", name],
    description: `create schema ${name}`,
    apply: (before) => before,
    up: () => [createSchemaSql(name)],
    down: () => [],
  });
}

/** The statements that rename a table or a type, and move it when the schema is another. */
export function renameSql(kind: "TABLE" | "TYPE", from: string, to: string): string[] {
  const old = splitName(from);
  const now = splitName(to);
  const schema = now.schema ?? "public";
  const moved = old.schema === now.schema ? from : joinName(schema, old.name);
  return [
    ...(old.schema === now.schema
      ? []
      : [...createSchemaFor(to), `ALTER ${kind} ${sqlName(from)} SET SCHEMA ${quote(schema)}`]),
    ...(old.name === now.name ? [] : [`ALTER ${kind} ${sqlName(moved)} RENAME TO ${quote(now.name)}`]),
  ];
}

/**
 * The statements that rename the sequences of numbered columns; these are already in the schema of the renamed table. A
 * sequence is renamed only if it is named after the former table and its new name is free: sequences are not part of
 * the state, and a person may have named them.
 */
function renameSequences(table: TableState, from: string, to: string): string[] {
  const [old, now] = [splitName(from).name, splitName(to).name];
  if (old === now) return [];
  const identities = Object.entries(table.columns).filter(([, column]) => column.identity);
  return identities.flatMap(([column]) => {
    const names = [`${old}_${column}_seq`, `${now}_${column}_seq`] as const;
    // PostgreSQL shortens longer names in its own way.
    if (names.some((name) => Buffer.byteLength(name) > 63)) return [];
    const [former, wanted] = names.map((name) => sqlName(joinName(splitName(to).schema, name))) as [string, string];
    const isOwn = `to_regclass(${literal(former)}) = pg_get_serial_sequence(${literal(sqlName(to))}, ${literal(column)})::regclass`;
    return [
      `DO $rename$ BEGIN IF ${isOwn} AND to_regclass(${literal(wanted)}) IS NULL THEN ALTER SEQUENCE ${former} RENAME TO ${quote(names[1])}; END IF; END $rename$`,
    ];
  });
}

function dropTableSql(name: string): string {
  return `DROP TABLE ${sqlName(name)}`;
}

function checkNewTable(state: SchemaState, name: string): void {
  if (has(state.tables, name)) throw new MigrationError(`there is already a table '${name}'`);
}

function followTable(table: TableState, from: string, to: string): TableState {
  if (table.foreignKeys === undefined) return table;
  const foreignKeys = mapValues(table.foreignKeys, (key) => (key.table === from ? { ...key, table: to } : key));
  return tidyTable({ ...table, foreignKeys });
}
