import { array } from "../fields/encode.js";
import type { ColumnMeta } from "../meta.js";
import type { ConditionNode, Query } from "../nodes.js";
import { arrayTypeOf } from "./array-types.js";
import type { CompiledSelect, Compiler } from "./compiler.js";
import { encodeFor } from "./operands.js";

/**
 * The rows of a query for each of several keys: the newest three books of each author. The query runs once for each key, so
 * that an index can find the few rows of a limit; a window function would number all rows of all owners first.
 *
 * `columns` have the key in the rows. The value of `owners` is the list of keys: values, or lists of values for a composite
 * key.
 */
export function perOwnerStatement(
  query: Query,
  columns: readonly ColumnMeta[],
  owners: Extract<ConditionNode, { type: "lookup" }>,
  compiler: Compiler,
): CompiledSelect {
  compiler.lookup(owners);
  const lists = columns.map((column, at) => {
    const left = { sql: "", type: column.type, column, name: `${query.meta.name}.${column.name}` };
    const encoded = (keys: unknown): unknown =>
      array(undefined)(
        (keys as readonly unknown[]).map((key) =>
          encodeFor(left, columns.length === 1 ? key : (key as readonly unknown[])[at]),
        ),
      );
    return `${compiler.bind(owners.value, encoded)}::${arrayTypeOf(column.type)}`;
  });
  const { text, params, plan } = compiler.select(query, {
    also: (scope) => columns.map((column, at) => `${scope.column(column)} = k.k${at}`).join(" AND "),
  });
  const names = columns.map((_, at) => `k${at}`);
  return {
    text: `SELECT o.* FROM unnest(${lists.join(", ")}) k(${names.join(", ")}) CROSS JOIN LATERAL (${text}) o`,
    params,
    plan,
  };
}
