/** Nested rows, as JSON that PostgreSQL builds. */

import { FieldError } from "../../errors.js";
import { quote } from "../../identifiers.js";
import type { ModelMeta, RelationMeta } from "../../meta.js";
import { type ExpressionNode, type PrefetchNode, type Query, type RelatedTree, relatedQuery } from "../../nodes.js";
import type { Compiler } from "../compiler.js";
import { relatedColumns, selectedColumns } from "../query-parts.js";
import { matching, type Scope } from "../scope.js";

/** An SQL expression for which `to_json` returns the right JSON. */
export function jsonValue(compiler: Compiler, expression: ExpressionNode, scope: Scope): string {
  const sql = compiler.expression(expression, scope);
  const type = compiler.typeOf(expression, scope);
  return type?.jsonSql ? type.jsonSql(`(${sql})`) : sql;
}

/** A value in SQL, with its name in quotes. */
type Field = readonly [sql: string, name: string];

function modelFields(query: Query, scope: Scope, compiler: Compiler): Field[] {
  return [
    ...columnFields(query.meta, scope, selectedColumns(query)),
    ...Object.entries(query.annotations).map(([name, node]): Field => [jsonValue(compiler, node, scope), quote(name)]),
    ...relatedFields(query.meta, query.related, scope, compiler),
    ...query.prefetch.map(
      (node): Field => [`${prefetchedText(query, node, scope, compiler)}::json`, quote(node.as ?? node.relation)],
    ),
  ];
}

function columnFields(meta: ModelMeta, scope: Scope, only: ReadonlySet<number> | null): Field[] {
  return meta.columns
    .filter((column) => !column.hidden && (only === null || only.has(column.index)))
    .map((column) => {
      const sql = scope.column(column);
      return [column.type.jsonSql ? column.type.jsonSql(sql) : sql, quote(column.attribute)];
    });
}

function relatedFields(meta: ModelMeta, tree: RelatedTree, scope: Scope, compiler: Compiler): Field[] {
  return Object.keys(tree).map((name): Field => {
    const relation = meta.relations.get(name)!;
    const inner = scope.join(relation);
    const fields = [
      ...columnFields(relation.target, inner, relatedColumns(relation.target, tree[name]!)),
      ...relatedFields(relation.target, tree[name]!.related, inner, compiler),
    ];
    const key = inner.column(relation.target.primaryKey[0]!);
    const list = fields.map(([sql, field]) => `${sql} AS ${field}`).join(", ");
    return [`CASE WHEN ${key} IS NOT NULL THEN row_to_json((SELECT o FROM (SELECT ${list}) o)) END`, quote(name)];
  });
}

/**
 * The related rows as the text of a JSON list; for a to-one relation, the row itself. `json_agg` would put a space and a line
 * break between rows.
 */
export function prefetchedText(outer: Query, node: PrefetchNode, scope: Scope, compiler: Compiler): string {
  const relation = outer.meta.relations.get(node.relation)!;
  const base = node.query ?? relatedQuery(relation);
  if (base.combined) throw new FieldError(`the query for ${relation.name} is a union, which cannot be part of JSON`);
  const query: Query = node.nested.length === 0 ? base : { ...base, prefetch: [...base.prefetch, ...node.nested] };
  const inner = compiler.scope(query, scope);
  const fields = modelFields(query, inner, compiler);
  const list = fields.map(([sql]) => sql);
  const names = fields.map(([, name]) => name);
  const select = compiler.assemble(query, inner, list, { names, also: belonging(relation, scope, inner) });
  if (relation.single) return `(SELECT row_to_json(o)::text FROM (${select}) o)`;
  return `(SELECT '[' || coalesce(string_agg(row_to_json(o)::text, ','), '') || ']' FROM (${select}) o)`;
}

/** The condition that related rows belong to a row of the outer query. */
function belonging(relation: RelationMeta, outer: Scope, inner: Scope): string {
  const { through } = relation;
  if (through === undefined) return matching(relation, outer, inner);
  const source = outer.column(relation.sourceColumn);
  const target = inner.column(relation.targetColumn);
  const { meta, sourceColumn, targetColumn } = through;
  return `${target} IN (SELECT ${quote(targetColumn.column)} FROM ${meta.sqlName} WHERE ${quote(sourceColumn.column)} = ${source})`;
}
