import { FieldError } from "../errors.js";
import type { OrderNode, Query } from "../nodes.js";

/** A key of ORDER BY: its expression, and its direction. */
export interface OrderTerm {
  readonly sql: string;
  readonly tail: string;
}

interface InnerSelect {
  readonly list: readonly string[];
  readonly names: readonly string[] | undefined;
  readonly order: readonly OrderTerm[];
  /** Conditions on the rows of the inner query, as SQL. */
  readonly conditions: readonly string[];
  /** FROM and the clauses after it. */
  readonly tables: () => string;
}

/**
 * A SELECT around the rows of a query, for two cases that one SELECT cannot express: a condition on a window function, which
 * is computed after WHERE, and DISTINCT with an order by values that are not selected.
 */
export function wrappedSelect(query: Query, { list, names, order, conditions, tables }: InnerSelect): string {
  if (query.lock !== null)
    throw new FieldError("forUpdate() cannot lock rows that are filtered by a window or made distinct");
  if (conditions.length > 0 && query.distinct !== false)
    throw new FieldError("distinct() cannot follow a filter on a window function");
  const inner = [
    ...list.map((sql, index) => `${sql} AS w${index}`),
    ...order.map(({ sql }, index) => `${sql} AS o${index}`),
    ...(conditions.length === 0 ? [] : [`(${conditions.join(" AND ")}) AS kept`]),
  ];
  const outer = list.map((_, index) => `q.w${index}`);
  const where = conditions.length === 0 ? "" : " WHERE q.kept";
  const terms = order.map(({ tail }, index) => ({ sql: `q.o${index}`, tail }));
  const distinct = query.distinct === true ? "DISTINCT " : "";
  return `SELECT ${namedList(outer, names)} FROM (SELECT ${distinct}${inner.join(", ")}${tables()}) q${where}${orderSql(terms)}`;
}

/** The direction of a key of ORDER BY, to stand after it. */
export function directionSql({ descending, nulls }: OrderNode): string {
  return `${descending ? " DESC" : ""}${nulls ? ` NULLS ${nulls.toUpperCase()}` : ""}`;
}

export function orderSql(terms: readonly OrderTerm[]): string {
  return terms.length === 0 ? "" : ` ORDER BY ${terms.map(({ sql, tail }) => sql + tail).join(", ")}`;
}

export function namedList(list: readonly string[], names: readonly string[] | undefined): string {
  return (names === undefined ? list : list.map((sql, index) => `${sql} AS ${names[index]}`)).join(", ");
}
