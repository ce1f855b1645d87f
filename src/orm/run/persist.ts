import type { Queries } from "../../engines/db/database.js";
import { isQueries } from "../../engines/db/is-queries.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { softDeleteColumn } from "../compile/query-parts.js";
import {
  type Assignment,
  assignments,
  deleteStatement,
  encodeColumn,
  insertStatement,
  returningPlan,
  updateStatement,
} from "../compile/write.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import { isSameKey } from "../key-values.js";
import type { ColumnMeta, ModelConstructor, ModelMeta, RelationMeta } from "../meta.js";
import { type ConditionNode, type Query, rootQuery } from "../nodes.js";
import { runHooks } from "./hooks.js";
import { absorb, valuesOf } from "./hydrate.js";
import { missing, missingTable } from "./missing.js";
import { savedValue, setRelated, stateOf, type Values } from "./state.js";
import { keepStates } from "./undo.js";
import { assertCurrent, atVersion } from "./version.js";

export const saveOptions = options("save()", {
  /** Writes only these fields. */
  fields: option(is.strings),
  /** The transaction or database to write with. Default: the one that the row was read with. */
  using: option(isQueries),
  /** Changes of related rows, by relation, in the same transaction. */
  related: option<object>(is.object),
});

export interface SaveOptions extends OptionsOf<typeof saveOptions.fields> {}

export function metaOf(instance: object): ModelMeta {
  return (instance.constructor as unknown as ModelConstructor).meta;
}

/** Creates an instance from values and inserts it. */
export async function create(meta: ModelMeta, values: object, db: Queries | null): Promise<object> {
  const instance = new meta.model(values);
  stateOf(instance).db = db;
  await save(instance);
  return instance;
}

/** Inserts a new row, or updates the changed columns of an existing one. Later saves of the instance go to `home`. */
export async function save(
  instance: object,
  options: SaveOptions = {},
  home: Queries | null = options.using ?? stateOf(instance).db,
): Promise<void> {
  const meta = metaOf(instance);
  // The transaction of the caller, also if a hook takes so long that the transaction ends in between.
  const connection = connectionFor(options.using ?? home);
  // Hooks may change values, and have to find those from before if the transaction runs again.
  keepStates(connection, [instance]);
  const created = stateOf(instance).saved === null;
  await runHooks(instance, "beforeSave", { created });
  if (created) await insert(instance, meta, home, connection);
  else await update(instance, meta, home, connection, options.fields);
  await runHooks(instance, "afterSave", { created });
}

/** Inserts an instance. Later saves of it go to `db`. */
export async function insert(
  instance: object,
  meta: ModelMeta,
  db: Queries | null,
  connection: Queries,
): Promise<void> {
  const plan = returningPlan(meta);
  const sent = valuesOf(instance, plan);
  const { text, params } = insertStatement(meta, insertValues(instance, meta));
  const part = keepStates(connection, [instance]);
  const { rows } = await connection.fetchArrays(text, params).catch(missingTable);
  if (!part.undone) absorb(instance, rows[0]!, plan, db, sent);
}

/** The columns that an insert of an instance writes, with the defaults that only the application knows. */
export function insertValues(instance: object, meta: ModelMeta): Assignment[] {
  return writableValues(instance, meta).concat(missingDefaults(instance, meta));
}

/** The columns that an instance has a value for and that can be written. */
function writableValues(instance: object, meta: ModelMeta): Assignment[] {
  const values: Assignment[] = [];
  for (const column of meta.columns) {
    const value = (instance as Values)[column.attribute];
    if (value !== undefined && column.generated === undefined) values.push([column, value]);
  }
  return values;
}

/** The defaults that are functions. The database applies all other defaults. */
function missingDefaults(instance: object, meta: ModelMeta): Assignment[] {
  const values: Assignment[] = [];
  for (const column of meta.columns) {
    if (column.default?.from === "function" && (instance as Values)[column.attribute] === undefined)
      values.push([column, column.default.make()]);
  }
  return values;
}

async function update(
  instance: object,
  meta: ModelMeta,
  db: Queries | null,
  connection: Queries,
  fields: readonly string[] | undefined,
): Promise<void> {
  const changes = fields ? named(instance, meta, fields) : changed(instance, meta);
  if (changes.length === 0) return;
  await updateRow(instance, meta, db, connection, changes);
  const stale = changes.filter(([column]) => column.reference !== undefined);
  for (const [column] of stale) forgetRelation(instance, meta.relations.get(column.name)!);
  for (const { name } of meta.foreignKeys) forgetRelation(instance, meta.relations.get(name)!);
}

/** Updates the row of an instance, if it has the version of the instance. The instance takes over the new row. */
async function updateRow(
  instance: object,
  meta: ModelMeta,
  db: Queries | null,
  connection: Queries,
  changes: readonly Assignment[],
): Promise<void> {
  const plan = returningPlan(meta);
  const sent = valuesOf(instance, plan);
  const query = keyQuery(instance, meta, db);
  const { text, params } = updateStatement(atVersion(query, instance), changes, meta.columns);
  const part = keepStates(connection, [instance]);
  const { rows } = await connection.fetchArrays(text, params);
  if (part.undone) return;
  if (rows[0] !== undefined) return absorb(instance, rows[0], plan, db, sent);
  await assertCurrent(query, connection);
  throw missing(meta, "is no longer in the database");
}

/** Drops a relation that was loaded for another key, so that it is loaded again. */
function forgetRelation(instance: object, relation: RelationMeta): void {
  const { related } = stateOf(instance);
  const loaded = related?.get(relation.name) as object | null | undefined;
  if (loaded && !belongs(instance, loaded, relation)) related!.delete(relation.name);
}

/** True if an instance refers to a row. */
export function belongs(instance: object, row: object, { sourceColumns, targetColumns }: RelationMeta): boolean {
  return sourceColumns.every(({ attribute }, at) =>
    isSameKey((instance as Values)[attribute], (row as Values)[targetColumns[at]!.attribute]),
  );
}

function named(instance: object, meta: ModelMeta, fields: readonly string[]): Assignment[] {
  return fields.map((name): Assignment => {
    const column = meta.column(name);
    if (column === undefined) throw new FieldError(`${meta.name} has no field '${name}'`);
    return [column, (instance as Values)[column.attribute] ?? null];
  });
}

/**
 * The values that differ from the database. Lists, bytes and JSON may have changed in place, so they always count as
 * changed.
 */
export function changed(instance: object, meta: ModelMeta): Assignment[] {
  const state = stateOf(instance);
  return writableValues(instance, meta).filter(([column, value]) => {
    // The version that an instance has is compared, not written.
    if (column.version) return false;
    const saved = savedValue(state, column);
    const differs = value !== saved && !isSameKey(value, saved);
    if (column.autoNow) return differs;
    return differs || (typeof value === "object" && value !== null && column.type.kind !== "datetime");
  });
}

/** A query for the row of an instance, by its key in the database. */
export function keyQuery(instance: object, meta: ModelMeta, db: Queries | null): Query {
  const state = stateOf(instance);
  const where = meta.primaryKey.map((column): ConditionNode => {
    const value = savedValue(state, column) ?? (instance as Values)[column.attribute];
    if (value === undefined || value === null)
      throw new FieldError(`the instance of ${meta.name} has no ${column.name}: it was not saved or not loaded`);
    return { type: "lookup", key: column.attribute, value };
  });
  return { ...rootQuery(meta), db, where, deleted: "shown" };
}

export async function remove(instance: object, hard: boolean): Promise<void> {
  const meta = metaOf(instance);
  const state = stateOf(instance);
  if (state.saved === null)
    throw new FieldError(`the instance of ${meta.name} was not saved, and so cannot be deleted`);
  const connection = connectionFor(state.db);
  keepStates(connection, [instance]);
  await runHooks(instance, "beforeDelete", { created: false });
  const mark = hard ? undefined : softDeleteColumn(meta);
  if (mark) {
    await updateRow(instance, meta, state.db, connection, [[mark, new Date()]]);
  } else {
    const query = keyQuery(instance, meta, state.db);
    const { text, params } = deleteStatement(atVersion(query, instance));
    const part = keepStates(connection, [instance]);
    const { rowCount } = await connection.execute(text, params);
    if (rowCount === 0) await assertCurrent(query, connection);
    if (!part.undone) stateOf(instance).saved = null;
  }
  await runHooks(instance, "afterDelete", { created: false });
}

/** Restores a softly deleted row. */
export async function restore(instance: object): Promise<void> {
  const meta = metaOf(instance);
  const mark = softDeleteColumn(meta);
  if (mark === undefined) throw new FieldError(`${meta.name} is not deleted softly: nothing can be restored`);
  const { db } = stateOf(instance);
  await updateRow(instance, meta, db, connectionFor(db), [[mark, null]]);
}

/** Sets values of an instance from an object: columns, and relations with their instances. */
export function assign(instance: object, meta: ModelMeta, values: object): void {
  for (const [column, value] of assignments(meta, values)) {
    const isInstance = typeof value === "object" && value !== null && "meta" in value.constructor;
    (instance as Values)[column.attribute] = isInstance ? keyValue(meta, column, value) : value;
    if (isInstance) setRelated(instance, column.name, value);
  }
  for (const { name } of meta.foreignKeys) {
    const value = (values as Values)[name];
    if (value !== undefined) setRelated(instance, name, value);
  }
}

/** The key of an instance that a foreign key refers to, without encoding. `encodeColumn` only checks the instance. */
function keyValue(meta: ModelMeta, column: ColumnMeta, value: object): unknown {
  encodeColumn(meta, column, value);
  return (value as Values)[column.reference!.column.attribute];
}
