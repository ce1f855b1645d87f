import { isLimited } from "../compile/chosen-rows.js";
import type { CompiledSelect } from "../compile/compiler.js";
import { encodeNamed } from "../compile/operands.js";
import type { ExtraPlan, RowPlan } from "../compile/row-plan.js";
import { compileSelect } from "../compile/statement-cache.js";
import { connectionFor, strictByDefault } from "../database.js";
import { FieldError } from "../errors.js";
import { array } from "../fields/encode.js";
import { quote } from "../identifiers.js";
import { keyText } from "../key-values.js";
import type { ColumnMeta, RelationMeta } from "../meta.js";
import { type ConditionNode, type PrefetchNode, type Query, relatedQuery } from "../nodes.js";
import { decodeExtra, hydrate } from "./hydrate.js";
import { limitedPairs, limitedRows, unlimited } from "./limit-per-owner.js";
import { send } from "./send.js";
import { setRelated, stateOf, type Values } from "./state.js";
import { keepStates } from "./undo.js";

/** Runs a query. Returns its rows as instances, or as plain values if it has a selection. */
export async function load(query: Query): Promise<unknown[]> {
  if (query.empty) return [];
  return run(query, compileSelect(query));
}

async function run(query: Query, { text, params, plan }: CompiledSelect): Promise<unknown[]> {
  const { rows } = await send(query, (connection) => connection.fetchArrays(text, params));
  return rowsOf(query, rows, plan);
}

/** Converts the rows of a statement to instances, with their prefetched relations, or to plain values. */
export async function rowsOf(query: Query, rows: unknown[][], plan: RowPlan): Promise<unknown[]> {
  if (query.selection === null) {
    const instances = hydrate(rows, plan, { db: query.db, strict: query.strict || strictByDefault() });
    if (query.prefetch.length > 0) await loadRelations(instances, query, query.prefetch);
    return instances;
  }
  return rows.map(valuesReader(query.selection.shape, plan.extras));
}

/** Returns a function that converts a row of plain values to the requested shape. */
export function valuesReader(
  shape: "object" | "list" | "single",
  extras: readonly ExtraPlan[],
): (row: unknown[]) => unknown {
  if (shape === "single") return (row) => decodeExtra(extras[0]!, row);
  if (shape === "list") return (row) => extras.map((extra) => decodeExtra(extra, row));
  return (row) => {
    const values: Values = {};
    for (const extra of extras) values[extra.name] = decodeExtra(extra, row);
    return values;
  };
}

/** Loads relations for existing instances: one query for each relation, two for a many-to-many relation. */
export async function loadRelations(
  instances: readonly object[],
  query: Query,
  nodes: readonly PrefetchNode[],
): Promise<void> {
  for (const node of nodes) {
    const relation = query.meta.relations.get(node.relation)!;
    const wanted = withNested(node.query ?? { ...relatedQuery(relation), strict: query.strict }, node.nested);
    await loadRelation(
      instances,
      relation,
      { ...wanted, db: wanted.db ?? query.db, place: wanted.place ?? query.place },
      node.as ?? relation.name,
      true,
    );
  }
}

function withNested(query: Query, nested: readonly PrefetchNode[]): Query {
  return nested.length === 0 ? query : { ...query, prefetch: [...query.prefetch, ...nested] };
}

/** Loads a relation of instances and puts it into each under `name`. */
export async function loadRelation(
  instances: readonly object[],
  relation: RelationMeta,
  query: Query,
  name: string,
  shown: boolean,
): Promise<void> {
  // Instances that were there before a transaction do not keep related rows that only the transaction has seen. Those of
  // the query that prefetches are new.
  const part = keepStates(connectionFor(query.db), shown ? [] : instances);
  const related = await relatedRows(instances, relation, query);
  if (part.undone && !shown) return;
  for (const [i, instance] of instances.entries()) {
    setRelated(instance, name, relation.single ? (related[i]![0] ?? null) : related[i], shown);
  }
}

/** The related rows of each instance. A limit of the query is that of each instance. */
export async function relatedRows(
  instances: readonly object[],
  relation: RelationMeta,
  query: Query,
): Promise<object[][]> {
  if (relation.single && isLimited(query))
    throw new FieldError(`the query for ${relation.name} is limited, but there is at most one row`);
  if (query.selection !== null) throw new FieldError(`the query for ${relation.name} must give models, not values`);
  const { sourceColumns: columns } = relation;
  const keys = columns.length === 1 ? singleKeys(instances, columns[0]!) : compositeKeys(instances, columns);
  const found = keys.length === 0 ? new Map<string, object[]>() : await fetchRelated(relation, query, keys);
  return instances.map((instance) => {
    const text = textOf(instance, columns);
    return (text === null ? undefined : found.get(text)) ?? [];
  });
}

function singleKeys(instances: readonly object[], column: ColumnMeta): readonly unknown[] {
  const keys = new Map<string, unknown>();
  for (const instance of instances) {
    const key = (instance as Values)[column.attribute];
    const text = keyText(key);
    if (text !== null) keys.set(text, key);
  }
  return [...keys.values()];
}

/** The different keys of instances. One with a null in it leads to no row. */
function compositeKeys(instances: readonly object[], columns: readonly ColumnMeta[]): readonly (readonly unknown[])[] {
  const keys = new Map<string, readonly unknown[]>();
  for (const instance of instances) {
    const text = textOf(instance, columns);
    const key = columns.map((column) => (instance as Values)[column.attribute]);
    if (text !== null) keys.set(text, key);
  }
  return [...keys.values()];
}

/** The related instances, by the text of the key of the instance they belong to. */
async function fetchRelated(
  relation: RelationMeta,
  query: Query,
  keys: readonly unknown[],
): Promise<Map<string, object[]>> {
  const { targetColumns: columns, targetColumn: column } = relation;
  const grouped = new Map<string, object[]>();
  const add = (text: string | null, row: object): void => {
    if (text === null) return;
    const rows = grouped.get(text);
    if (rows) rows.push(row);
    else grouped.set(text, [row]);
  };
  if (relation.through === undefined) {
    const rows =
      isLimited(query) && !query.empty
        ? await run(query, limitedRows(query, columns, keys))
        : await load(narrowed(query, columns, keys));
    for (const row of rows as object[]) add(textOf(row, columns), row);
    return grouped;
  }
  const pairs = await fetchPairs(relation, query, keys);
  const owners = new Map<string | null, (string | null)[]>();
  for (const [owner, target] of pairs) {
    const text = keyText(target);
    const list = owners.get(text);
    if (list) list.push(keyText(owner));
    else owners.set(text, [keyText(owner)]);
  }
  if (pairs.length === 0) return grouped;
  const targets = (await load(
    narrowed(unlimited(query), columns, [...new Set(pairs.map(([, target]) => target))]),
  )) as object[];
  for (const target of targets) {
    for (const owner of owners.get(keyText((target as Values)[column.attribute])) ?? []) add(owner, target);
  }
  return grouped;
}

function narrowed(query: Query, columns: readonly ColumnMeta[], keys: readonly unknown[]): Query {
  const condition: ConditionNode =
    columns.length === 1
      ? { type: "lookup", key: `${columns[0]!.attribute}__in`, value: keys }
      : { type: "keys", columns, keys: keys as readonly (readonly unknown[])[] };
  // Window functions are computed over the related rows alone.
  const { windowsAfter } = query;
  return {
    ...query,
    where: [condition, ...query.where],
    windowsAfter: windowsAfter === null ? null : windowsAfter + 1,
  };
}

async function fetchPairs(
  relation: RelationMeta,
  query: Query,
  keys: readonly unknown[],
): Promise<[unknown, unknown][]> {
  const { meta, sourceColumn, targetColumn } = relation.through!;
  const [source, target] = [quote(sourceColumn.column), quote(targetColumn.column)];
  const list = encodeNamed(relation.name, array(sourceColumn.type.encode), [...keys]);
  const { text, params } = isLimited(query)
    ? limitedPairs(relation, query, list)
    : { text: `SELECT ${source}, ${target} FROM ${meta.sqlName} WHERE ${source} = ANY($1)`, params: [list] };
  const { rows } = await send(query, (connection) => connection.fetchArrays(text, params));
  const decode = (column: ColumnMeta, value: unknown): unknown =>
    column.type.decode && value !== null ? column.type.decode(value) : value;
  return rows.map(([owner, other]) => [decode(sourceColumn, owner), decode(targetColumn, other)]);
}

/** The text of an instance's key in the columns of a relation; null if a null is in it: it leads to no row. */
function textOf(instance: object, columns: readonly ColumnMeta[]): string | null {
  if (columns.length === 1) return keyText((instance as Values)[columns[0]!.attribute]);
  const texts = columns.map((column) => keyText((instance as Values)[column.attribute]));
  return texts.includes(null) ? null : JSON.stringify(texts);
}

/** Loads a relation for an instance and all its siblings that do not have it. */
export function loadForSiblings(instance: object, relation: RelationMeta): Promise<void> {
  const state = stateOf(instance);
  const { siblings } = state;
  const load = (instances: readonly object[]): Promise<void> =>
    loadRelation(
      instances,
      relation,
      { ...relatedQuery(relation), db: state.db, strict: siblings?.strict === true },
      relation.name,
      false,
    );
  if (siblings === null) return load([instance]);
  siblings.loading ??= new Map();
  const running = siblings.loading.get(relation.name);
  if (running) return running;
  const without = siblings.instances.filter((each) => stateOf(each).related?.has(relation.name) !== true);
  const loading = load(without.includes(instance) ? without : [...without, instance]).finally(() =>
    siblings.loading!.delete(relation.name),
  );
  siblings.loading.set(relation.name, loading);
  return loading;
}
