/** Related rows with a limit that holds for each owner: the three newest books of each author. */

import { type CompiledSelect, Compiler } from "../compile/compiler.js";
import { orderOf } from "../compile/query-parts.js";
import { compilePerOwner } from "../compile/statement-cache.js";
import { FieldError } from "../errors.js";
import { quote } from "../identifiers.js";
import type { ColumnMeta, RelationMeta } from "../meta.js";
import type { OrderNode, Query } from "../nodes.js";

/** A statement for the rows of each of several owners, within the limit. The columns have the keys of the owners. */
export function limitedRows(query: Query, columns: readonly ColumnMeta[], keys: readonly unknown[]): CompiledSelect {
  refuseUnion(query);
  const ordered: Query = { ...query, orderBy: totalOrder(query), reversed: false };
  return compilePerOwner(ordered, columns, { type: "lookup", key: "", value: keys });
}

/** A statement for the pairs of keys in a join table, within the limit for each owner. `keys` are the owners, encoded. */
export function limitedPairs(
  relation: RelationMeta,
  query: Query,
  keys: unknown,
): { readonly text: string; readonly params: readonly unknown[] } {
  refuseUnion(query);
  if (query.distinct !== false) throw new FieldError("a limit for each owner cannot be combined with distinct()");
  const { meta, sourceColumn, targetColumn } = relation.through!;
  const [source, target] = [quote(sourceColumn.column), quote(targetColumn.column)];
  const compiler = new Compiler();
  const scope = compiler.scope(query);
  const list = [
    scope.column(relation.targetColumn),
    `row_number() OVER (ORDER BY ${compiler.order(totalOrder(query), scope)})`,
  ];
  const bare: Query = { ...unlimited(query), orderBy: [], reversed: false, related: {}, prefetch: [], lock: null };
  const rows = compiler.assemble(bare, scope, list, { names: ["k", "o"] });
  const pairs = `SELECT j.${source} AS s, r.k, row_number() OVER (PARTITION BY j.${source} ORDER BY r.o) AS place FROM ${meta.sqlName} j INNER JOIN (${rows}) r ON r.k = j.${target} WHERE j.${source} = ANY(${compiler.param(keys)})`;
  const first = query.offset ?? 0;
  const last = query.limit === null ? "" : ` AND p.place <= ${compiler.param(first + query.limit)}::bigint`;
  const text = `SELECT p.s, p.k FROM (${pairs}) p WHERE p.place > ${compiler.param(first)}::bigint${last}`;
  return { text, params: compiler.params };
}

export function unlimited(query: Query): Query {
  return { ...query, limit: null, offset: null };
}

/** The order of the query, made unique by the primary key. */
function totalOrder(query: Query): OrderNode[] {
  const keys = query.meta.primaryKey.map(
    (column): OrderNode => ({
      expression: { type: "path", path: column.attribute },
      descending: false,
    }),
  );
  const order = orderOf(query);
  // PostgreSQL wants the expressions of DISTINCT ON first in the order.
  if (order.length > 0 || typeof query.distinct === "boolean") return [...order, ...keys];
  return [
    ...query.distinct.map((path): OrderNode => ({ expression: { type: "path", path }, descending: false })),
    ...keys,
  ];
}

function refuseUnion(query: Query): void {
  if (query.combined) throw new FieldError("a limit for each owner cannot be combined with a union");
}
