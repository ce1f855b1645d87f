/**
 * Functions that return a changed copy of a query. Wrong names and values are refused here, before a statement is sent.
 */

import { ValueError } from "../../internal/value-error.js";
import { isAggregate } from "../compile/aggregation.js";
import type { Left } from "../compile/operands.js";
import {
  type KeyResolution,
  keyPaths,
  namesOf,
  noField,
  type Resolution,
  resolveJoined,
  resolveLookup,
  resolvePath,
  type Scope,
  shown,
  splitPath,
} from "../compile/scope.js";
import { transform } from "../compile/transforms.js";
import { FieldError } from "../errors.js";
import { Expression, orderNode } from "../expressions/expression.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import { checkFieldName } from "../model/field-names.js";
import type { ConditionNode, ExpressionNode, LockNode, OrderNode, Query, RelatedTree, Selection } from "../nodes.js";
import { checkLast, clientLookups, isPattern } from "./client-values.js";
import { badRequest, type ClientParameters, entriesOf, pageParameters, refusing } from "./page-input.js";

/** Checks that rows are not those of a union, on which a call would have no effect. */
export function notCombined(query: Query, call: string): Query {
  if (query.combined) throw new FieldError(`${call} cannot follow a union: call it on the parts`);
  return query;
}

export function filter(query: Query, condition: ConditionNode): Query {
  if (query.combined) throw new FieldError("a union cannot be filtered: filter its parts");
  if (query.limit !== null || query.offset !== null)
    throw new FieldError("a limited queryset cannot be filtered: filter before limit and offset");
  const many = query.selection?.many ?? [];
  return { ...query, where: [...query.where, many.length === 0 ? condition : onJoined(condition, many)] };
}

/** The condition on the rows that `values("tags__name")` joins: a filter after it is on those. */
function onJoined(node: ConditionNode, many: readonly string[]): ConditionNode {
  switch (node.type) {
    case "lookup":
      return many.some((path) => node.key === path || node.key.startsWith(`${path}__`))
        ? { ...node, joined: true }
        : node;
    case "and":
    case "or":
      return { ...node, children: node.children.map((child) => onJoined(child, many)) };
    case "not":
      return { ...node, child: onJoined(node.child, many) };
    default:
      return node;
  }
}

export function filterFrom(query: Query, input: ClientParameters, allowed: readonly string[]): Query {
  const entries = entriesOf(input).filter(([key]) => allowed.includes(key) || !pageParameters.includes(key));
  for (const [key] of entries)
    if (!allowed.includes(key)) throw badRequest(`${shown(String(key))} is not among the allowed filters`);
  const children = refusing(() => clientLookups(namesOf(query), entries));
  if (children.length === 0) return query;
  const filtered = filter(query, { type: "and", children });
  refusing(() => checkLast(filtered));
  const patterns = query.client === "patterns" || children.some(isPattern);
  return { ...filtered, client: patterns ? "patterns" : "values" };
}

export function orderBy(query: Query, nodes: readonly OrderNode[]): Query {
  const known = knownOrders.get(query.meta);
  const plain = nodes.every(({ expression }) => expression.type !== "path" || known?.has(expression.path));
  return { ...query, orderBy: plain ? nodes : nodes.flatMap((node) => byColumns(query, node)), reversed: false };
}

/** Paths that are known to exist. They are few, because each of them is a path of the model. */
const knownOrders = new WeakMap<ModelMeta, Set<string>>();
const mostOrders = 1000;

function byColumns(query: Query, node: OrderNode): OrderNode[] {
  if (node.expression.type !== "path") return [node];
  const { path } = node.expression;
  const paths = columnPaths(namesOf(query), path, query);
  if (paths.length > 1) return paths.map((each) => ({ ...node, expression: { type: "path", path: each } }));
  let known = knownOrders.get(query.meta);
  if (known === undefined) knownOrders.set(query.meta, (known = new Set()));
  const special = query.selection !== null || Object.hasOwn(query.annotations, path.split("__", 1)[0]!);
  if (!special && known.size < mostOrders) known.add(path);
  return [node];
}

/** The path if it exists and leads to one value. For a composite key, the paths of its columns. */
function columnPaths(scope: Scope, path: string, query: Query): readonly string[] {
  const names = query.selection?.fields.map((field) => field.name) ?? [];
  if (names.includes(path)) return [path];
  const found = resolveLookup(scope, path);
  if (found.kind === "key" && found.rest.length === 0) return keyPaths(found);
  if (found.kind === "many")
    throw new FieldError(`${shown(path)} goes through ${found.relation.name}, of which there are many`);
  checkEnd(found, path);
  return [path];
}

/** Checks a field of `values()`. True if it leads through a to-many relation. */
function checkValue(scope: Scope, path: string): boolean {
  const many = resolvePath(scope, path).kind === "many";
  checkEnd(resolveJoined(scope, path), path);
  return many;
}

function checkEnd(found: Exclude<Resolution, { kind: "many" }> | KeyResolution, path: string): void {
  if (found.rest.length > 0 && !(found.kind === "column" && isWithin(found.column, found.rest)))
    throw new FieldError(`${shown(path)} is not the name of a field`);
}

/** True for keys of JSON, and for transforms such as the year of a date. */
function isWithin(column: ColumnMeta, rest: readonly string[]): boolean {
  if (column.type.kind === "json") return true;
  let left: Left | undefined = { sql: "", type: column.type, column, name: column.name };
  for (const part of rest) left = left && transform(left, part);
  return left !== undefined;
}

export function orderFrom(
  query: Query,
  input: string | readonly string[] | null | undefined,
  allowed: readonly string[],
): Query {
  if (input === null || input === undefined || input.length === 0) return query;
  const names = typeof input === "string" ? input.split(",") : input;
  // A field that is named again has no effect on the order.
  const first = new Map<string, string>();
  for (const name of names) {
    const plain = String(name).replace(/^-/, "");
    if (!allowed.includes(plain)) throw badRequest(`${shown(plain)} is not among the allowed orders`);
    if (!first.has(plain)) first.set(plain, name);
  }
  return orderBy(query, [...first.values()].map(orderNode));
}

export function distinct(query: Query, names: readonly string[]): Query {
  notCombined(query, "distinct()");
  const scope = namesOf(query);
  const paths = names.flatMap((name) => columnPaths(scope, name, query));
  return { ...query, distinct: paths.length === 0 ? true : paths };
}

export function annotate(query: Query, given: Readonly<Record<string, unknown>>): Query {
  if (query.combined) throw new FieldError("a union cannot be annotated: annotate its parts");
  const annotations = { ...query.annotations };
  const added: Selection["fields"][number][] = [];
  for (const [name, expression] of Object.entries(given)) {
    checkNewName(query, name);
    if (!(expression instanceof Expression))
      throw new FieldError(`the annotation '${name}' must be an expression such as count("books")`);
    annotations[name] = expression.node;
    added.push({ name, expression: expression.node });
  }
  if (query.selection === null) return { ...query, annotations };
  const fields = [...query.selection.fields.filter(({ name }) => !Object.hasOwn(given, name)), ...added];
  const grouped = query.selection.grouped || added.some(({ expression }) => isAggregate(expression, query.annotations));
  return { ...query, annotations, selection: { ...query.selection, fields, grouped } };
}

/** The aggregates of `aggregate()`. They are the whole result, so they may have the names of fields. */
export function aggregates(
  query: Query,
  given: Readonly<Record<string, unknown>>,
): readonly (readonly [name: string, node: ExpressionNode])[] {
  return Object.entries(given).map(([name, expression]) => {
    checkAlias(query.meta, name);
    if (!(expression instanceof Expression))
      throw new FieldError(`the aggregate '${name}' must be an expression such as sum("price")`);
    return [name, expression.node] as const;
  });
}

/** Checks the name of a value that is added to rows: no field has it. */
export function checkNewName({ meta }: Query, name: string): void {
  checkAlias(meta, name);
  if (meta.column(name) || meta.relations.has(name))
    throw new FieldError(`the annotation '${name}' has the name of a field of ${meta.name}`);
}

/** Checks the name of a computed value by the rules for the names of fields. */
function checkAlias(meta: ModelMeta, name: string): void {
  try {
    checkFieldName(meta.table, name);
  } catch {
    throw new FieldError(`${shown(name)} cannot be the name of an annotation`);
  }
}

export function values(query: Query, names: readonly string[], shape: Selection["shape"]): Query {
  notCombined(query, "values()");
  const scope = namesOf(query);
  const all = [...query.meta.columns.map((column) => column.attribute), ...Object.keys(query.annotations)];
  const many: string[] = [];
  const fields = (names.length === 0 ? all : names).map((name) => {
    splitPath(name);
    if (checkValue(scope, name)) many.push(name);
    return { name, expression: { type: "path", path: name } as const };
  });
  return { ...query, selection: { fields, shape, grouped: false, many }, columns: null, related: {}, prefetch: [] };
}

export function selectRelated(query: Query, paths: readonly string[]): Query {
  notCombined(query, "selectRelated()");
  if (query.selection) throw new FieldError("selectRelated loads models, but values were asked for");
  return {
    ...query,
    related: paths.reduce((tree, path) => addRelated(query.meta, tree, splitPath(path)), query.related),
  };
}

function addRelated(meta: ModelMeta, tree: RelatedTree, parts: readonly string[]): RelatedTree {
  const [name, ...rest] = parts;
  if (name === undefined) return tree;
  const relation = meta.relations.get(name);
  if (relation === undefined) throw noField(meta, name);
  if (!relation.single) throw new FieldError(`${meta.name}.${name} leads to many: use prefetchRelated`);
  const node = Object.hasOwn(tree, name) ? tree[name]! : { columns: null, related: {} };
  return { ...tree, [name]: { ...node, related: addRelated(relation.target, node.related, rest) } };
}

export function combine(operator: NonNullable<Query["combined"]>["operator"], queries: readonly Query[]): Query {
  const [first] = queries as [Query];
  if (queries.some((query) => query.meta.sqlName !== first.meta.sqlName && !(query.selection && first.selection))) {
    throw new FieldError("only querysets of the same model, or of values, can be combined");
  }
  if (queries.some((query) => query.prefetch.length > 0))
    throw new FieldError("querysets with prefetchRelated cannot be combined");
  // A part that matches nothing is still a part: EXCEPT and INTERSECT depend on it.
  return {
    ...first,
    where: [],
    orderBy: null,
    reversed: false,
    limit: null,
    offset: null,
    distinct: false,
    lock: null,
    empty: false,
    deleted: "shown",
    sources: [],
    combined: { operator, queries },
  };
}

export interface LockOptions {
  readonly nowait?: boolean;
  readonly skipLocked?: boolean;
  readonly strength?: LockNode["strength"];
}

const strengths: readonly LockNode["strength"][] = ["update", "no key update", "share", "key share"];

export function forUpdate(query: Query, { nowait, skipLocked, strength = "update" }: LockOptions): Query {
  notCombined(query, "forUpdate()");
  if (nowait && skipLocked) throw new ValueError("forUpdate takes nowait or skipLocked, not both");
  if (!strengths.includes(strength))
    throw new ValueError(`the strength of a lock must be one of ${strengths.join(", ")}`);
  return { ...query, lock: { strength, wait: nowait ? "nowait" : skipLocked ? "skip locked" : "wait" } };
}
