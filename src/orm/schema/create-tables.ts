/** Creates the schema of models at once, without migrations. */

import type { ModelConstructor, ModelMeta } from "../meta.js";
import { sqlName } from "./names.js";
import {
  addConstraintSql,
  commentStatements,
  createEnumSql,
  createSchemaFor,
  createSequenceFor,
  createTableSql,
  foreignKeySql,
  indexStatements,
  ownSequence,
} from "./render.js";
import { stateOf } from "./state-of-models.js";
import { createViewStatements, dropViewSql, viewOrder } from "./views.js";

/** A database or a transaction, which runs the statements. */
export interface ScriptRunner {
  script(text: string): Promise<void>;
}

/** Creates the tables of models and their join tables, for tests and small tools. */
export async function createTables(db: ScriptRunner, models: readonly ModelConstructor[]): Promise<void> {
  await db.script(createTablesSql(models));
}

/** Drops the tables and enums that `createTables` creates, with all their rows. */
export async function dropTables(db: ScriptRunner, models: readonly ModelConstructor[]): Promise<void> {
  const { tables, enums, views = {} } = stateOf(models.map((model) => model.meta));
  await db.script(
    [
      ...Object.entries(views).map(([name, view]) => `${dropViewSql(name, view, "IF EXISTS ")} CASCADE;`),
      ...Object.keys(tables).map((name) => `DROP TABLE IF EXISTS ${sqlName(name)} CASCADE;`),
      ...Object.keys(enums).map((name) => `DROP TYPE IF EXISTS ${sqlName(name)} CASCADE;`),
    ].join("\n"),
  );
}

/** The statements of `createTables`: all tables first, then the foreign keys, since models may refer to one another in a circle. */
export function createTablesSql(models: readonly (ModelConstructor | ModelMeta)[]): string {
  const state = stateOf(models.map((model) => (typeof model === "function" ? model.meta : model)));
  const tables = Object.entries(state.tables);
  const names = [...Object.keys(state.tables), ...Object.keys(state.enums)];
  return [
    ...new Set(names.flatMap(createSchemaFor)),
    ...Object.entries(state.enums).map(([name, values]) => createEnumSql(name, values)),
    ...tables.flatMap(([, { columns }]) => Object.values(columns).flatMap(createSequenceFor)),
    ...tables.map(([name, { foreignKeys: _, ...table }]) => createTableSql(name, table)),
    ...tables.flatMap(([name, { columns }]) =>
      Object.entries(columns).flatMap(([column, state]) => ownSequence(name, column, state)),
    ),
    ...tables.flatMap(([name, { foreignKeys = {} }]) =>
      Object.entries(foreignKeys).map(([key, state]) => addConstraintSql(name, foreignKeySql(key, state))),
    ),
    ...tables.flatMap(([name, table]) => indexStatements(name, table)),
    ...tables.flatMap(([name, table]) => commentStatements(name, table)),
    ...viewOrder(state.views).flatMap((name) => createViewStatements(name, state.views![name]!)),
  ]
    .map((statement) => `${statement};\n`)
    .join("");
}
