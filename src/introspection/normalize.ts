import { randomBytes } from "node:crypto";
import type { Queries, Transaction } from "../engines/db/database.js";
import { DatabaseError, OperationalError } from "../engines/db/errors.js";
import { MigrationError } from "../migrations/errors.js";
import { quote } from "../orm/identifiers.js";
import { joinName, splitName } from "../orm/schema/names.js";
import { createEnumSql, createIndexSql, createSchemaSql, createTableSql } from "../orm/schema/render.js";
import type { SchemaState, TableState } from "../orm/schema/state.js";
import { mapValues, tidyState } from "../orm/schema/tidy.js";
import { createViewStatements, viewOrder } from "../orm/schema/views.js";
import { searchPath } from "./catalog.js";
import { readSchemas } from "./introspect.js";
import { legible, shown } from "./names.js";

/**
 * The same schema with types, defaults, checks and conditions as PostgreSQL writes them. The tables are created, empty
 * and without foreign keys, in separate schemas and read back, in a transaction that is rolled back: no other session
 * sees them, nothing else is locked.
 */
export async function normalizeState(state: SchemaState, db: Queries): Promise<SchemaState> {
  const { state: normal, problems } = await tryNormalize(db, state);
  if (problems.length > 0) {
    throw new MigrationError(problems.map(({ text }) => text).join("\n"));
  }
  return normal;
}

/** Something that PostgreSQL refused to make. */
export interface Problem {
  /** The table; undefined if the problem is with an enum. */
  readonly table: string | undefined;
  readonly text: string;
}

export interface Normalized {
  /** Parts that PostgreSQL refused are unchanged. */
  readonly state: SchemaState;
  readonly problems: readonly Problem[];
}

export async function tryNormalize(db: Queries, given: SchemaState): Promise<Normalized> {
  const undo = new Error("rolled back on purpose");
  let result: Normalized | undefined;
  try {
    await db.transaction(async (tx) => {
      result = await normalizeIn(tx, tidyState(given));
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
  return result!;
}

async function normalizeIn(tx: Transaction, given: SchemaState): Promise<Normalized> {
  const scratch = await makeScratch(tx, given);
  const problems: Problem[] = [];
  const attempt = async (table: string | undefined, what: string, ...statements: string[]): Promise<boolean> => {
    try {
      // One statement at a time: a text with several could end the transaction.
      await tx.transaction(async (inner) => {
        for (const sql of statements) await inner.execute(sql, [], { prepare: false });
      });
      return true;
    } catch (error) {
      // Only an error of the statement is a problem of the schema; a busy or lost database proves nothing.
      if (!(error instanceof DatabaseError) || error instanceof OperationalError) throw error;
      problems.push({ table, text: `${what} cannot be made as it is expected: ${legible(error.message)}` });
      return false;
    }
  };
  for (const [name, values] of Object.entries(given.enums)) {
    // An enum with a schema is used where it is.
    if (splitName(name).schema !== undefined) continue;
    await attempt(undefined, `enum ${shown(name)}`, createEnumSql(scratch.nameFor(name), values));
  }
  for (const [name, table] of Object.entries(given.tables)) {
    const { foreignKeys: _, ...bare } = table;
    const what = `table ${shown(name)}:`;
    if (!(await attempt(name, `${what} it`, createTableSql(scratch.nameFor(name), bare)))) continue;
    for (const [index, state] of Object.entries(table.indexes ?? {})) {
      await attempt(name, `${what} index ${shown(index)}`, createIndexSql(scratch.nameFor(name), index, state));
    }
  }
  for (const name of viewOrder(given.views)) {
    const statements = createViewStatements(scratch.nameFor(name), given.views![name]!);
    // What it names with a schema is not in the scratch schemas, and may not be anywhere yet: no problem of the view.
    if (!(await attempt(name, "", ...statements))) problems.pop();
  }
  const read = await readSchemas(tx, scratch.schemas, { dots: "skip" });
  const made = new Map(Object.entries(read.tables).map(([name, table]) => [scratch.originOf(name), table]));
  const views = new Map(Object.entries(read.views ?? {}).map(([name, view]) => [scratch.originOf(name), view]));
  return {
    state: tidyState({
      ...given,
      tables: mapValues(given.tables, (table, name) => withNormalForms(table, made.get(name))),
      views: mapValues(given.views ?? {}, (view, name) => views.get(name) ?? view),
    }),
    problems,
  };
}

interface Scratch {
  readonly schemas: readonly string[];
  /** The temporary name of a table or enum in the scratch schema. */
  nameFor(table: string): string;
  originOf(table: string): string;
}

/**
 * Creates a schema for each one that the state names, and one for tables without a schema. That one comes first in the
 * search path, so that its tables are read back without a schema.
 */
async function makeScratch(tx: Transaction, given: SchemaState): Promise<Scratch> {
  const base = `stoa_scratch_${randomBytes(6).toString("hex")}`;
  const names = [...Object.keys(given.tables), ...Object.keys(given.views ?? {})];
  const named = new Set([undefined, ...names.map((name) => splitName(name).schema)]);
  const stands = new Map([...named].map((schema, index) => [schema, index === 0 ? base : `${base}_${index}`]));
  const origins = new Map([...stands].map(([schema, stand]) => [stand, schema]));
  const path = [base, ...(await searchPath(tx))].map(quote).join(", ");
  for (const schema of stands.values()) await tx.execute(createSchemaSql(schema), [], { prepare: false });
  await tx.execute("select pg_catalog.set_config('search_path', $1, true)", [path]);
  return {
    schemas: [...stands.values()],
    nameFor(table) {
      const { schema, name } = splitName(table);
      return joinName(stands.get(schema)!, name);
    },
    originOf(table) {
      const { schema, name } = splitName(table);
      return schema === undefined || !origins.has(schema) ? table : joinName(origins.get(schema), name);
    },
  };
}

/** The key, foreign keys and comments have no other form in PostgreSQL and stay as they were given. */
function withNormalForms(given: TableState, made: TableState | undefined): TableState {
  if (made === undefined) return given;
  const { unique: _, ...rest } = given;
  const columns = new Map(Object.entries(made.columns));
  const indexes = new Map(Object.entries(made.indexes ?? {}));
  return {
    ...rest,
    columns: mapValues(given.columns, (column, name) => {
      const { comment } = column;
      return { ...columns.get(name)!, ...(comment === undefined ? {} : { comment }) };
    }),
    // PostgreSQL makes no unique constraint that repeats the primary key or another unique constraint.
    ...(made.unique ? { unique: made.unique } : {}),
    ...(made.checks ? { checks: made.checks } : {}),
    ...(given.indexes ? { indexes: mapValues(given.indexes, (index, name) => indexes.get(name) ?? index) } : {}),
  };
}
