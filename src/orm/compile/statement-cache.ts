/** A cache of statements by the shape of their query: the same lookups with other values are not compiled again. */

import { array } from "../fields/encode.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import type { ConditionNode, OrderNode, PrefetchNode, Query, RelatedTree } from "../nodes.js";
import { arrayTypeOf } from "./array-types.js";
import { type Binding, type Compiled, type CompiledSelect, Compiler } from "./compiler.js";
import { type CompiledJson, jsonStatement } from "./json/json.js";
import type { JsonPlan } from "./json/json-plan.js";
import { encodeFor, nodeOf, queryOf } from "./operands.js";
import type { RowPlan } from "./row-plan.js";

interface Entry {
  readonly text: string;
  readonly plan: RowPlan | JsonPlan;
  readonly bindings: readonly { readonly from: number; readonly make: Binding["make"] }[];
}

interface Cache {
  readonly entries: Map<string, Entry>;
  /** The number of limits that are part of a text, by shape. */
  readonly limits: Map<string, number>;
}

const caches = new WeakMap<ModelMeta, Cache>();
/** There are as many shapes as queries in the application, unless clients can choose them. */
const mostShapes = 500;
/**
 * PostgreSQL keeps the plan of a statement with a literal limit. If the limit is a parameter, it plans the statement
 * again each time, which took longer than reading 20 rows of two tables. Limits are few, unless clients can choose
 * them.
 */
const mostLimits = 8;

const limitPlace = -1;
const offsetPlace = -2;
const constantPlace = -3;

export function compileSelect(query: Query): CompiledSelect {
  return compiled("select", query, [], (compiler) => compiler.select(query));
}

export function compileJson(query: Query): CompiledJson {
  return compiled("json", query, [], (compiler) => jsonStatement(query, compiler));
}

/** The rows of a query for each of several keys, which are the value of `owners`. A limit holds for each of them. */
export function compilePerOwner(query: Query, columns: readonly ColumnMeta[], owners: Lookup): CompiledSelect {
  const kind = `owners ${columns.map((column) => column.index).join()} `;
  return compiled(kind, query, [owners], (compiler) => perOwnerStatement(query, columns, owners, compiler));
}

/** `lookups` are those that the statement has beside those of the query. */
function compiled<Plan extends RowPlan | JsonPlan>(
  kind: string,
  query: Query,
  lookups: Lookup[],
  compile: (compiler: Compiler) => Compiled & { readonly plan: Plan },
): Compiled & { readonly plan: Plan } {
  const limits: (number | null)[] = [];
  const shape = shapeOf(query, { lookups, limits, nested: kind === "json" });
  if (shape === null) return compile(new Compiler());
  const cache = cacheOf(query.meta);
  const general = kind + shape;
  const limited = limits.every((limit) => limit === null) ? general : `${general}\nl${limits.join()}`;
  const known = cache.entries.get(limited) ?? (mayAddLimit(cache, general) ? undefined : cache.entries.get(general));
  if (known)
    return {
      text: known.text,
      params: known.bindings.map(({ from, make }) => make(valueAt(from, query, lookups))),
      plan: known.plan as Plan,
    };
  const literal = limited !== general && mayAddLimit(cache, general);
  const compiler = new Compiler(literal);
  const made = compile(compiler);
  const bindings = compiler.bindings.map(({ from, make }) => ({ from: placeOf(from, lookups), make }));
  if (bindings.some(({ from }) => from === undefined)) {
    if (!literal) return made;
    // No statement of this shape is kept: the next one is compiled once.
    if (cache.limits.size < mostShapes) cache.limits.set(general, mostLimits);
    return compile(new Compiler());
  }
  if (cache.entries.size < mostShapes) {
    const entry = { text: made.text, plan: made.plan, bindings: bindings as Entry["bindings"] };
    cache.entries.set(literal ? limited : general, entry);
    if (literal) cache.limits.set(general, (cache.limits.get(general) ?? 0) + 1);
  }
  return made;
}

function cacheOf(meta: ModelMeta): Cache {
  let cache = caches.get(meta);
  if (cache === undefined) caches.set(meta, (cache = { entries: new Map(), limits: new Map() }));
  return cache;
}

function mayAddLimit({ entries, limits }: Cache, general: string): boolean {
  return entries.size < mostShapes && (limits.get(general) ?? 0) < mostLimits;
}

export type Lookup = Extract<ConditionNode, { type: "lookup" }>;

/** What the statements of a shape differ in. */
interface ShapeValues {
  readonly lookups: Lookup[];
  /** The limit of the query, and of the queries inside it. */
  readonly limits: (number | null)[];
  /** True if prefetched rows are part of the statement. */
  readonly nested: boolean;
}

function placeOf(from: Binding["from"], lookups: readonly Lookup[]): number | undefined {
  if (from === "limit") return limitPlace;
  if (from === "offset") return offsetPlace;
  if (from === "constant") return constantPlace;
  const at = lookups.indexOf(from as Lookup);
  return at === -1 ? undefined : at;
}

function valueAt(place: number, query: Query, lookups: readonly Lookup[]): unknown {
  if (place >= 0) return lookups[place]!.value;
  return place === limitPlace ? query.limit : place === offsetPlace ? query.offset : undefined;
}

/** A text that is the same for queries with the same statement; null for queries that are not cached. */
function shapeOf(query: Query, parts: ShapeValues): string | null {
  if (query.combined || query.lock || query.empty || query.sources.length > 0) return null;
  for (const _ in query.annotations) return null;
  parts.limits.push(query.limit);
  let shape = `${query.limit === null ? "" : "l"}${query.offset === null ? "" : "o"}${query.reversed ? "r" : ""}${query.deleted[0]}`;
  if (query.timeZone !== "UTC") shape += `\nz${query.timeZone}`;
  if (query.distinct !== false) shape += `\nd${query.distinct === true ? "" : query.distinct.join("\n")}`;
  if (query.columns) shape += `\nc${[...query.columns].join()}`;
  shape += relatedShape(query.related);
  if (query.selection) {
    if (query.selection.grouped) return null;
    shape += `\ns${query.selection.shape}`;
    for (const { expression } of query.selection.fields) {
      if (expression.type !== "path") return null;
      shape += `\nv${expression.path}`;
    }
  }
  if (query.orderBy) {
    const order = orderShape(query.orderBy);
    if (order === null) return null;
    shape += order;
  }
  for (const condition of query.where) {
    const part = conditionShape(condition, parts.lookups);
    if (part === null) return null;
    shape += part;
  }
  for (const node of query.prefetch) {
    const part = prefetchShape(node, parts);
    if (part === null) return null;
    shape += part;
  }
  return shape;
}

/** Prefetched rows that are not part of the statement can only change the columns that are loaded. */
function prefetchShape({ relation, query, nested, as }: PrefetchNode, parts: ShapeValues): string | null {
  let shape = `\np${relation}`;
  if (!parts.nested) return shape;
  if (as !== undefined) shape += `\na${as}`;
  if (query !== undefined) {
    const part = shapeOf(query, parts);
    if (part === null) return null;
    shape += `\nq${part}`;
  }
  for (const node of nested) {
    const part = prefetchShape(node, parts);
    if (part === null) return null;
    shape += part;
  }
  return `${shape}\nP`;
}

function relatedShape(tree: RelatedTree): string {
  let shape = "";
  for (const name in tree) {
    const { columns, related } = tree[name]!;
    shape += `\nj${name}${columns === null ? "" : `\nc${[...columns].join()}`}${relatedShape(related)}\nJ`;
  }
  return shape;
}

function orderShape(nodes: readonly OrderNode[]): string | null {
  let shape = "\nO";
  for (const { expression, descending, nulls } of nodes) {
    if (expression.type !== "path") return null;
    shape += `\n${descending ? "-" : "+"}${nulls ?? ""} ${expression.path}`;
  }
  return shape;
}

function conditionShape(node: ConditionNode, lookups: Lookup[]): string | null {
  switch (node.type) {
    case "lookup": {
      const value = valueShape(node);
      // Line breaks separate the parts; no name contains one.
      if (value === null || node.key.includes("\n")) return null;
      // The same condition at two places has one place among the lookups, which is part of the shape.
      const at = lookups.indexOf(node);
      if (at === -1) lookups.push(node);
      return `\n${node.joined ? "+" : "?"}${value}${node.key}${at === -1 ? "" : `\n=${at}`}`;
    }
    case "and":
    case "or": {
      let shape = `\n${node.type}`;
      for (const child of node.children) {
        const part = conditionShape(child, lookups);
        if (part === null) return null;
        shape += part;
      }
      return `${shape}\n)`;
    }
    case "not": {
      const child = conditionShape(node.child, lookups);
      return child === null ? null : `\nnot${child}\n)`;
    }
    default:
      return null;
  }
}

/** The part of a value that changes the statement: null, true and false, an empty list. */
function valueShape({ key, value }: Lookup): string | null {
  if (value === null) return "n";
  if (typeof value === "boolean" && key.endsWith("isnull")) return value ? "t" : "f";
  if (typeof value !== "object") return "v";
  if (nodeOf(value) || queryOf(value)) return null;
  const items = Array.isArray(value) ? value : value instanceof Set ? [...value] : undefined;
  if (items === undefined) return "v";
  let nulls = false;
  let plain = false;
  for (const item of items) {
    if (item === null) nulls = true;
    else if (typeof item === "object" && nodeOf(item)) return null;
    else plain = true;
  }
  return `${nulls ? "N" : ""}${plain ? "a" : "e"}`;
}

/**
 * The rows of a query for each of several keys: the newest three books of each author. The query runs once for each key, so
 * that an index can find the few rows of a limit; a window function would number all rows of all owners first.
 *
 * `columns` have the key in the rows. The value of `owners` is the list of keys: values, or lists of values for a composite
 * key.
 */
function perOwnerStatement(
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
