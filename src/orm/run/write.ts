import { softDeleteColumn } from "../compile/query-parts.js";
import { assignments, deleteStatement, returningPlan, updateStatement } from "../compile/write.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import type { Query } from "../nodes.js";
import { hydrate } from "./hydrate.js";
import { load } from "./load.js";
import { count } from "./read.js";

/** Updates rows and returns their number. Without values, the matching rows are only counted. */
export async function update(query: Query, values: object): Promise<number> {
  const list = assignments(query.meta, values);
  if (query.empty) return 0;
  if (list.length === 0) return count(query);
  const { text, params } = updateStatement(query, list);
  return (await connectionFor(query.db).execute(text, params)).rowCount;
}

export async function updateReturning(query: Query, values: object): Promise<object[]> {
  const list = assignments(query.meta, values);
  if (query.empty) return [];
  if (list.length === 0) return (await load(query)) as object[];
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
