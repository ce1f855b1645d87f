/** Relations that are loaded with a separate query. */

import { noField, splitPath } from "../compile/scope.js";
import { FieldError } from "../errors.js";
import type { Subquery } from "../expressions/expression.js";
import type { FieldsOf, tableOf } from "../fields/types.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import type { PrefetchNode, Query } from "../nodes.js";
import type { CheckedRelation, RelationSuggestions, RelationTarget } from "./row-types.js";

declare const prefetchPath: unique symbol;
declare const prefetchRow: unique symbol;

/** A relation to load with its own query: `prefetch("books", Book.objects.filter({ year__gte: 2000 }))`. */
export interface Prefetch<Path extends string, Row = unknown> {
  readonly [prefetchPath]: Path;
  readonly [prefetchRow]: Row;
}

/** A path of relations, or a prefetch whose query is for the model that its path leads to. */
export type CheckedPrefetch<M, P> = P extends string
  ? CheckedRelation<M, P>
  : P extends Prefetch<infer Path, infer Row>
    ? [RelationTarget<FieldsOf<M>, Path>] extends [never]
      ? NoInfer<Prefetch<RelationSuggestions<FieldsOf<M>, Path>>>
      : Row extends Pick<RelationTarget<FieldsOf<M>, Path>, TableMark<RelationTarget<FieldsOf<M>, Path>>>
        ? P
        : NoInfer<Prefetch<Path, RelationTarget<FieldsOf<M>, Path>>>
    : never;

type TableMark<Target> = Extract<typeof tableOf, keyof Target>;

/** The path of an argument of `prefetchRelated`. */
export type PrefetchPath<P> = P extends Prefetch<infer Path> ? Path : P extends string ? P : never;

interface PrefetchRequest {
  readonly path: string;
  readonly query: Query;
}

class PrefetchWithQuery implements PrefetchRequest {
  constructor(
    readonly path: string,
    readonly query: Query,
  ) {}
}

export function prefetch<const Path extends string, Row>(path: Path, queryset: Subquery<Row>): Prefetch<Path, Row> {
  return new PrefetchWithQuery(path, queryset.query) as unknown as Prefetch<Path, Row>;
}

export function prefetchRelated(query: Query, paths: readonly unknown[]): Query {
  if (query.selection) throw new FieldError("prefetchRelated loads models, but values were asked for");
  let nodes = query.prefetch;
  for (const given of paths) {
    const request = given instanceof PrefetchWithQuery ? given : { path: given as string, query: undefined };
    nodes = addPrefetch(query.meta, nodes, splitPath(request.path), request.query);
  }
  return { ...query, prefetch: nodes };
}

function addPrefetch(
  meta: ModelMeta,
  nodes: readonly PrefetchNode[],
  parts: readonly string[],
  query: Query | undefined,
): PrefetchNode[] {
  const [name, ...rest] = parts as [string, ...string[]];
  const relation = meta.relations.get(name);
  if (relation === undefined) throw noField(meta, name);
  const here = rest.length === 0 && query ? withColumns(query, relation.targetColumns) : undefined;
  if (here && here.meta.sqlName !== relation.target.sqlName)
    throw new FieldError(
      `${meta.name}.${name} leads to ${relation.target.name}, but the query is for ${here.meta.name}`,
    );
  const known = nodes.find((node) => node.relation === name);
  const nested =
    rest.length === 0 ? (known?.nested ?? []) : addPrefetch(relation.target, known?.nested ?? [], rest, query);
  const node: PrefetchNode = { relation: name, query: here ?? known?.query, nested, as: undefined };
  return known ? nodes.map((each) => (each === known ? node : each)) : [...nodes, node];
}

/** Adds columns to the columns to load: related rows are assigned to their owners by them. */
export function withColumns(query: Query, columns: readonly ColumnMeta[]): Query {
  if (query.columns === null) return query;
  return { ...query, columns: new Set([...query.columns, ...columns.map((column) => column.index)]) };
}
