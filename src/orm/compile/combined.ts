/** The parts of set operations: UNION, INTERSECT, EXCEPT. */

import { FieldError } from "../errors.js";
import type { Query } from "../nodes.js";
import { orderOf } from "./query-parts.js";
import { directionSql, type OrderTerm } from "./wrapped-select.js";

export interface CombinedPart {
  readonly text: string;
  /** The positions of its values in a row, by name. */
  readonly positions: ReadonlyMap<string, number>;
}

/** The order of combined rows. PostgreSQL allows only columns of the result in it. */
export function orderByPosition(query: Query, positions: ReadonlyMap<string, number>): OrderTerm[] {
  return orderOf({ ...query, orderBy: query.orderBy ?? [] }).map((node) => {
    const at = node.expression.type === "path" ? positions.get(node.expression.path) : undefined;
    if (at === undefined)
      throw new FieldError(`a union can only be ordered by one of ${[...positions.keys()].join(", ")}`);
    return { sql: String(at + 1), tail: directionSql(node) };
  });
}
