import { FieldError } from "../errors.js";
import type { Query } from "../nodes.js";

/** True if the number of rows is limited. */
export function isLimited({ limit, offset }: Query): boolean {
  return limit !== null || offset !== null;
}

/**
 * The query for a call after a limit, an offset or `distinct("field")`. These choose rows by the order of the query, so
 * that a later order or condition in the same SELECT would choose other ones. The rows become a subquery, and are found
 * by their primary key. Rows without their own key are refused.
 */
export function onChosenRows(query: Query, call: string): Query {
  if (!isLimited(query) && typeof query.distinct === "boolean") return query;
  return { ...query, ...byKey(query, `${call} cannot follow`), limit: null, offset: null, distinct: false };
}

/** The condition for the rows of a query, by their primary key. */
export function byKey(query: Query, refusal: string): Pick<Query, "where" | "sources" | "deleted"> {
  const { combined, selection, sources } = query;
  if (combined) throw new FieldError(`${refusal} a limit of a union`);
  if (selection?.grouped || selection?.many.length || (selection && query.distinct === true))
    throw new FieldError(`${refusal} a limit of groups, of distinct values or of values of to-many relations`);
  if (sources.length > 0) throw new FieldError(`${refusal} a limit of joined rows`);
  if (query.windowsAfter !== null)
    throw new FieldError(`${refusal} a limit of rows with a window function, which would change`);
  return { where: [{ type: "chosen", query: keysOf(query) }], sources: [], deleted: "shown" };
}

/** The same rows, without what is loaded for them. */
export function keysOf(query: Query): Query {
  return { ...query, selection: null, columns: null, related: {}, prefetch: [], lock: null };
}
