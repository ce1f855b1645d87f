/** The SQL of rows beside those of the model. */

import * as columnTypes from "../fields/column-types.js";
import { quote } from "../identifiers.js";
import type { ColumnType } from "../meta.js";
import type { ExpressionNode, Query, RecursiveSource, SourceNode } from "../nodes.js";
import type { Context } from "./context.js";
import { type Scope, singleKey } from "./scope.js";

interface SourceCompiler extends Context {
  scope(query: Query): Scope;
  assemble(query: Query, scope: Scope, list: readonly string[], options: { readonly names: readonly string[] }): string;
}

/** The joins of all sources of a query. Fields of the model that they compare are joined before them. */
export function sourcesSql(sources: readonly SourceNode[], scope: Scope, compiler: SourceCompiler): string {
  return sources.map((source, at) => joinSql(source, scope.sourceAlias(at), scope, compiler)).join("");
}

function joinSql(source: SourceNode, alias: string, scope: Scope, compiler: SourceCompiler): string {
  if (source.type === "recursive") {
    const rows = recursiveSql(source, compiler);
    return ` INNER JOIN (${rows}) ${alias} ON ${alias}.c0 = ${scope.column(singleKey(scope.meta))}`;
  }
  const { query, left, on } = source;
  const inner = compiler.scope(query);
  const fields = query.selection!.fields;
  const list = fields.map(({ expression }) => compiler.expression(expression, inner));
  const rows = compiler.assemble(query, inner, list, { names: fields.map((_, index) => `c${index}`) });
  const pairs = on.map(([path, column]) => `${compiler.expression(path, scope)} = ${alias}.c${column}`);
  return ` ${left ? "LEFT" : "INNER"} JOIN (${rows}) ${alias} ON ${pairs.join(" AND ")}`;
}

/**
 * The keys of all rows that are reached, with their depth if it is needed. Without a depth, UNION drops rows that were
 * reached before, so circles end. With one, a path of keys ends them; many-to-many relations have a largest depth
 * instead, because there can be very many paths.
 */
function recursiveSql(source: RecursiveSource, compiler: SourceCompiler): string {
  const { start, self, relation, maxDepth } = source;
  const counted = source.depth || maxDepth !== undefined;
  const withPath = counted && relation.through === undefined;
  const found = compiler.alias();
  const first = compiler.alias();
  const rows = `(${compiler.subselect(start, null, "key")}) ${first}(k)`;
  const base = self
    ? `SELECT ${first}.k${counted ? ", 0" : ""}${withPath ? `, ARRAY[${first}.k]` : ""} FROM ${rows}`
    : step(source, compiler, {
        from: rows,
        key: `${first}.k`,
        depth: counted ? "1" : undefined,
        path: withPath ? noPath : undefined,
      });
  const next = step(source, compiler, {
    from: found,
    key: `${found}.k`,
    depth: counted ? `${found}.depth + 1` : undefined,
    path: withPath ? `${found}.path` : undefined,
    most: maxDepth === undefined ? undefined : `${found}.depth < ${compiler.param(maxDepth)}::int`,
  });
  const columns = `k${counted ? ", depth" : ""}${withPath ? ", path" : ""}`;
  const result = counted ? `k AS c0, min(depth) AS c1 FROM ${found} GROUP BY k` : `k AS c0 FROM ${found}`;
  return `WITH RECURSIVE ${found}(${columns}) AS (${base} UNION ${next}) SELECT ${result}`;
}

/** The path before the first step. A row to start from is not on it: a step may lead back to the row. */
const noPath = "";

interface From {
  readonly from: string;
  readonly key: string;
  readonly depth: string | undefined;
  readonly path: string | undefined;
  readonly most?: string | undefined;
}

/** A SELECT of the keys that are one step away. */
function step(
  { relation, start }: RecursiveSource,
  compiler: SourceCompiler,
  { from, key, depth, path, most }: From,
): string {
  const { target, sourceColumns, targetColumns, through } = relation;
  const primary = quote(singleKey(target).column);
  const [here, there] = [compiler.alias(), compiler.alias()];
  const reached = `${there}.${primary}`;
  let sources = sourceColumns.map((column) => `${here}.${quote(column.column)}`);
  let joins = ` INNER JOIN ${target.sqlName} ${here} ON ${here}.${primary} = ${key}`;
  if (through) {
    const between = compiler.alias();
    joins += ` INNER JOIN ${through.meta.sqlName} ${between} ON ${between}.${quote(through.sourceColumn.column)} = ${sources[0]}`;
    sources = [`${between}.${quote(through.targetColumn.column)}`];
  }
  const on = targetColumns.map((column, at) => `${there}.${quote(column.column)} = ${sources[at]}`).join(" AND ");
  joins += ` INNER JOIN ${target.sqlName} ${there} ON ${on}`;
  const mark = target.columns.find((column) => column.softDelete);
  const conditions = [
    mark && start.deleted === "hidden" ? `${there}.${quote(mark.column)} IS NULL` : undefined,
    path === undefined || path === noPath ? undefined : `${reached} <> ALL(${path})`,
    most,
  ].filter((condition) => condition !== undefined);
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  const passed = path === noPath ? `ARRAY[${reached}]` : `${path} || ${reached}`;
  const more = `${depth === undefined ? "" : `, ${depth}`}${path === undefined ? "" : `, ${passed}`}`;
  return `SELECT ${reached}${more} FROM ${from}${joins}${where}`;
}

/** The type of a column of a source. */
export function typeOfJoined(
  { source, column }: Extract<ExpressionNode, { type: "joined" }>,
  scope: Scope,
  context: Context,
): ColumnType | undefined {
  const from = scope.sources[source]!;
  if (from.type === "recursive") return columnTypes.int;
  return context.typeOf(from.query.selection!.fields[column]!.expression, context.innerScope(from.query, scope));
}
