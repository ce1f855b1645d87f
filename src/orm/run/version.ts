/** Optimistic locking: a row with a version is written only if it was not changed since it was read. */

import type { Queries } from "../../engines/db/database.js";
import { StaleError } from "../errors.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import type { Query } from "../nodes.js";
import { exists } from "./read.js";
import type { Values } from "./state.js";

export function versionColumn(meta: ModelMeta): ColumnMeta | undefined {
  return meta.columns.find((column) => column.version);
}

/**
 * The query for the row of an instance with the version that the instance has. A client's version can be assigned to the
 * instance before it is saved.
 */
export function atVersion(query: Query, instance: object): Query {
  const column = versionColumn(query.meta);
  const value = column && (instance as Values)[column.attribute];
  // The version was not loaded: only().
  if (column === undefined || value === undefined) return query;
  return { ...query, where: [...query.where, { type: "lookup", key: column.attribute, value }] };
}

/** Throws `StaleError` if the row of a query exists with another version. */
export async function assertCurrent(query: Query, db: Queries | null): Promise<void> {
  if (versionColumn(query.meta) === undefined || !(await exists({ ...query, db }))) return;
  throw new StaleError(`${query.meta.name} was changed since it was read`);
}
