/** The choice of fields to load, of the rows themselves and of related rows: `only("title", "author__name")`. */

import { noField, shown, splitPath } from "../compile/scope.js";
import { FieldError } from "../errors.js";
import type { ColumnMeta, ModelMeta, RelationMeta } from "../meta.js";
import { type PrefetchNode, type Query, type RelatedNode, type RelatedTree, relatedQuery } from "../nodes.js";
import { withColumns } from "./prefetches.js";

export function only(query: Query, names: readonly string[]): Query {
  return chosen(query, names, "only");
}

export function defer(query: Query, names: readonly string[]): Query {
  return chosen(query, names, "defer");
}

type Choice = "only" | "defer";
type Columns = ReadonlySet<number> | null;

function chosen(query: Query, names: readonly string[], choice: Choice): Query {
  const { meta } = query;
  const { own, nested } = split(meta, names);
  let { related, prefetch } = query;
  for (const [name, rest] of nested) {
    const node = prefetch.find((each) => each.relation === name);
    if (Object.hasOwn(related, name)) related = inTree(meta, related, name, rest, choice);
    else if (node === undefined) throw notLoaded(meta, name, choice);
    else prefetch = prefetch.map((each) => (each === node ? inPrefetch(query, node, rest, choice) : each));
  }
  return { ...query, columns: columnsOf(meta, query.columns, own, meta.primaryKey, choice), related, prefetch };
}

/** Separates the fields of the rows from those of related rows, which are listed by relation. */
function split(meta: ModelMeta, names: readonly string[]): { own: ColumnMeta[]; nested: Map<string, string[]> } {
  const own: ColumnMeta[] = [];
  const nested = new Map<string, string[]>();
  for (const name of names) {
    const [head, ...rest] = splitPath(name) as [string, ...string[]];
    const column = meta.column(name);
    if (column !== undefined) own.push(column);
    else if (rest.length === 0 || !meta.relations.has(head)) throw noField(meta, rest.length === 0 ? name : head);
    else nested.set(head, [...(nested.get(head) ?? []), rest.join("__")]);
  }
  return { own, nested };
}

/** The columns to load. Those in `kept` are always among them. */
function columnsOf(
  meta: ModelMeta,
  before: Columns,
  named: readonly ColumnMeta[],
  kept: readonly ColumnMeta[],
  choice: Choice,
): Columns {
  if (choice === "only") return new Set([...kept, ...named].map((column) => column.index));
  if (named.length === 0) return before;
  const left = meta.columns.filter(
    (column) => kept.includes(column) || (!named.includes(column) && (before?.has(column.index) ?? true)),
  );
  return new Set(left.map((column) => column.index));
}

function inTree(
  meta: ModelMeta,
  tree: RelatedTree,
  name: string,
  names: readonly string[],
  choice: Choice,
): RelatedTree {
  const relation = meta.relations.get(name)!;
  const { target } = relation;
  const node = tree[name]!;
  const { own, nested } = split(target, names);
  let { related } = node;
  for (const [inner, rest] of nested) {
    if (!Object.hasOwn(related, inner)) throw notLoaded(target, inner, choice);
    related = inTree(target, related, inner, rest, choice);
  }
  const changed: RelatedNode = { columns: columnsOf(target, node.columns, own, keysOf(relation), choice), related };
  return { ...tree, [name]: changed };
}

/** The columns by which a related row is found and compared. */
function keysOf({ target, targetColumns }: RelationMeta): readonly ColumnMeta[] {
  return [...target.primaryKey, ...targetColumns];
}

function inPrefetch(query: Query, node: PrefetchNode, names: readonly string[], choice: Choice): PrefetchNode {
  const relation = query.meta.relations.get(node.relation)!;
  const base = node.query ?? { ...relatedQuery(relation), strict: query.strict };
  const whole = { ...base, prefetch: [...base.prefetch, ...node.nested] };
  return { ...node, query: withColumns(chosen(whole, names, choice), relation.targetColumns), nested: [] };
}

function notLoaded(meta: ModelMeta, name: string, choice: Choice): FieldError {
  const method = meta.relations.get(name)?.single ? "selectRelated" : "prefetchRelated";
  return new FieldError(`${meta.name}.${name} is not loaded: call ${method}(${shown(name)}) before ${choice}()`);
}
