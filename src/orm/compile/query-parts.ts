/** The parts of a query that do not depend on a statement: its columns, its order, its lock. */

import { FieldError } from "../errors.js";
import { quote } from "../identifiers.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import type { OrderNode, Query, RelatedNode, Selection } from "../nodes.js";
import { resolvePath, type Scope } from "./scope.js";

/** The columns to load: the selected ones, and the keys by which loaded relations are found. Null for all. */
export function selectedColumns({ meta, columns, related, prefetch }: Query): ReadonlySet<number> | null {
  return withKeys(meta, columns, [...Object.keys(related), ...prefetch.map((node) => node.relation)]);
}

/** The columns of a related row to load. Null for all. */
export function relatedColumns(meta: ModelMeta, { columns, related }: RelatedNode): ReadonlySet<number> | null {
  return withKeys(meta, columns, Object.keys(related));
}

function withKeys(
  meta: ModelMeta,
  columns: ReadonlySet<number> | null,
  relations: readonly string[],
): ReadonlySet<number> | null {
  if (columns === null || relations.length === 0) return columns;
  return new Set([
    ...columns,
    ...relations.flatMap((name) => meta.relations.get(name)!.sourceColumns.map((column) => column.index)),
  ]);
}

export function softDeleteColumn(meta: ModelMeta): ColumnMeta | undefined {
  return meta.columns.find((column) => column.softDelete);
}

export function columnSql(column: ColumnMeta, scope: Scope): string {
  const sql = `${scope.alias}.${quote(column.column)}`;
  return column.type.selectSql ? column.type.selectSql(sql) : sql;
}

/** The order of a query, inverted if the query is reversed. The default is the order of the model. */
export function orderOf(query: Query): readonly OrderNode[] {
  const nodes =
    query.orderBy ?? (query.selection?.grouped ? [] : [...distinctOrder(query), ...defaultOrder(query.meta)]);
  if (!query.reversed) return nodes;
  const keys = nodes.length > 0 ? nodes : query.meta.primaryKey.map((column) => orderBy(column.name, false));
  return keys.map(({ expression, descending, nulls }) => ({
    expression,
    descending: !descending,
    nulls: nulls && (nulls === "first" ? ("last" as const) : ("first" as const)),
  }));
}

/** PostgreSQL wants the fields of `distinct("author")` at the beginning of the order. */
function distinctOrder({ distinct, meta }: Query): OrderNode[] {
  return typeof distinct === "boolean" || meta.ordering.length === 0
    ? []
    : distinct.map((path) => orderBy(path, false));
}

function defaultOrder(meta: ModelMeta): OrderNode[] {
  return meta.ordering.map((name) => (name.startsWith("-") ? orderBy(name.slice(1), true) : orderBy(name, false)));
}

function orderBy(path: string, descending: boolean): OrderNode {
  return { expression: { type: "path", path }, descending };
}

/** True if an order is by a field of the result. */
export function namesField({ expression }: OrderNode, { fields }: Selection): boolean {
  return expression.type === "path" && fields.some(({ name }) => name === expression.path);
}

/**
 * True for a field that may differ in the rows of a group: not one of the model if the primary key is among the keys of the
 * groups. PostgreSQL knows more cases, and refuses them too.
 */
export function isOutsideGroups({ expression }: OrderNode, scope: Scope, keys: readonly string[]): boolean {
  const { meta, annotations } = scope;
  if (expression.type !== "path") return false;
  const annotation = Object.hasOwn(annotations, expression.path) ? annotations[expression.path] : undefined;
  if (annotation !== undefined) return annotation.type === "joined";
  const found = resolvePath(scope, expression.path);
  const isOwn = found.kind === "column" && found.scope === scope;
  return !(isOwn && meta.primaryKey.every((column) => keys.includes(scope.column(column))));
}

/**
 * The limit is the only value that is inserted into the text. It was checked when it was set, and is checked again
 * here.
 */
export function checkedLimit(limit: number): string {
  if (!Number.isSafeInteger(limit) || limit < 0) throw new FieldError("the limit is not a number of rows");
  return String(limit);
}

export function lockSql(lock: NonNullable<Query["lock"]>, alias: string): string {
  const wait = lock.wait === "wait" ? "" : ` ${lock.wait.toUpperCase()}`;
  return `FOR ${lock.strength.toUpperCase()} OF ${alias}${wait}`;
}
