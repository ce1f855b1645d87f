import { softDeleteColumn } from "../compile/compiler.js";
import { assignments, deleteStatement, returningPlan, updateStatement } from "../compile/write.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import { conditionOf } from "../expressions/q.js";
import * as bulk from "../run/bulk.js";
import { hydrate } from "../run/hydrate.js";
import * as persist from "../run/persist.js";
import * as races from "../run/races.js";
import { filter } from "./builders.js";
import type { Query } from "./nodes.js";

export async function create(query: Query, values: object): Promise<object> {
  return persist.create(query.meta, values, query.db);
}

export async function bulkCreate(
  query: Query,
  items: readonly object[],
  options: bulk.BulkCreateOptions,
): Promise<object[]> {
  return items.length === 0 ? [] : bulk.bulkCreate(query.meta, items, options, query.db);
}

export async function bulkUpdate(
  query: Query,
  instances: readonly object[],
  fields: readonly string[],
  batchSize: number | undefined,
): Promise<number> {
  return instances.length === 0 ? 0 : bulk.bulkUpdate(query.meta, instances, fields, batchSize, query.db);
}

export async function getOrCreate(query: Query, where: object, defaults: object): Promise<[object, boolean]> {
  return races.getOrCreate(filter(query, conditionOf(where)), where, defaults);
}

export async function updateOrCreate(
  query: Query,
  where: object,
  defaults: object,
  creating: object,
): Promise<[object, boolean]> {
  return races.updateOrCreate(filter(query, conditionOf(where)), where, defaults, creating);
}

export async function update(query: Query, values: object): Promise<number> {
  const list = assignments(query.meta, values, "update");
  if (list.length === 0) throw new FieldError("update needs at least one field");
  if (query.empty) return 0;
  const { text, params } = updateStatement(query, list);
  return (await connectionFor(query.db).execute(text, params)).rowCount;
}

export async function updateReturning(query: Query, values: object): Promise<object[]> {
  const list = assignments(query.meta, values, "update");
  if (list.length === 0) throw new FieldError("update needs at least one field");
  if (query.empty) return [];
  const { text, params } = updateStatement(query, list, true);
  const { rows } = await connectionFor(query.db).fetchArrays(text, params);
  return hydrate(rows, returningPlan(query.meta), { db: query.db, strict: query.strict });
}

export async function remove(query: Query, hard: boolean): Promise<number> {
  if (query.empty) return 0;
  const mark = hard ? undefined : softDeleteColumn(query.meta);
  const { text, params } = mark ? updateStatement(query, [[mark, new Date()]]) : deleteStatement(query);
  return (await connectionFor(query.db).execute(text, params)).rowCount;
}

export async function restore(query: Query): Promise<number> {
  const mark = softDeleteColumn(query.meta);
  if (mark === undefined) throw new FieldError(`${query.meta.name} is not deleted softly: nothing can be restored`);
  const { text, params } = updateStatement({ ...query, deleted: "only" }, [[mark, null]]);
  return (await connectionFor(query.db).execute(text, params)).rowCount;
}
