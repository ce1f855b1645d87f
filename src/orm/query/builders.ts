/**
 * Functions that return a changed copy of a query. Wrong names and values are refused here, before a statement is sent.
 */

import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { isAggregate } from "../compile/aggregation.js";
import { isLimited, onChosenRows } from "../compile/chosen-rows.js";
import { namesOf, noField, shown, splitPath } from "../compile/scope.js";
import { refuseWindows, usesWindow } from "../compile/windows.js";
import { FieldError } from "../errors.js";
import { Expression, orderNode } from "../expressions/expression.js";
import type { ModelMeta } from "../meta.js";
import { checkFieldName } from "../model/field-names.js";
import type { ConditionNode, ExpressionNode, OrderNode, Query, RelatedTree, Selection } from "../nodes.js";
import { checkValue, columnPaths } from "./checked-paths.js";
import { checkLast, clientLookups, isPattern } from "./client-values.js";
import { badRequest, type ClientParameters, entriesOf, pageParameters, refusing } from "./page-input.js";

/** Checks that rows are not those of a union, on which a call would have no effect. */
export function notCombined(query: Query, call: string): Query {
  if (query.combined) throw new FieldError(`${call} cannot follow a union: call it on the parts`);
  return query;
}

export function filter(query: Query, condition: ConditionNode): Query {
  if (query.combined) throw new FieldError("a union cannot be filtered: filter its parts");
  if (isLimited(query)) throw new FieldError("a limited queryset cannot be filtered: filter before limit and offset");
  const rows = onChosenRows(query, "filter()");
  const many = query.selection?.many ?? [];
  return { ...rows, where: [...rows.where, many.length === 0 ? condition : onJoined(condition, many)] };
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
  // The first order of `distinct("author")` is the one that chooses its rows, also if it is given after it.
  const rows = isLimited(query) || query.orderBy !== null ? onChosenRows(query, "orderBy()") : query;
  return { ...rows, orderBy: plain ? nodes : nodes.flatMap((node) => byColumns(query, node)), reversed: false };
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
  return { ...onChosenRows(query, "distinct()"), distinct: paths.length === 0 ? true : paths };
}

export function reverse(query: Query): Query {
  const rows = onChosenRows(query, "reverse()");
  return { ...rows, reversed: !rows.reversed };
}

/** The first rows of those that an earlier limit has kept. */
export function limit(query: Query, count: number): Query {
  return { ...query, limit: Math.min(count, query.limit ?? count) };
}

export function offset(query: Query, count: number): Query {
  if (query.offset !== null) throw new FieldError("the offset is given twice");
  return { ...query, offset: count };
}

/** Softly deleted rows among those that a limit chooses. */
export function deleted(query: Query, which: Query["deleted"], call: string): Query {
  notCombined(query, call);
  if (isLimited(query) || typeof query.distinct !== "boolean")
    throw new FieldError(`${call} cannot follow limit(), offset() or distinct(): call it before them`);
  return { ...query, deleted: which };
}

export function annotate(rows: Query, given: Readonly<Record<string, unknown>>): Query {
  if (rows.combined) throw new FieldError("a union cannot be annotated: annotate its parts");
  if (rows.selection && rows.distinct === true)
    throw new FieldError("distinct values cannot be annotated: annotate before distinct()");
  const nodes = Object.values(given).flatMap((each) => (each instanceof Expression ? [each.node] : []));
  const grouped = rows.selection !== null && (rows.selection.grouped || nodes.some((node) => isAggregate(node)));
  const groups = grouped && !rows.selection!.grouped;
  const windows = nodes.some((node) => usesWindow(node, {}));
  if (groups) refuseWindows(rows, "a group");
  if (windows && rows.windowsAfter !== null && rows.where.length > rows.windowsAfter)
    refuseWindows(rows, "a window function over filtered rows");
  // Windows and groups are made before a limit.
  const chosen = groups || windows ? onChosenRows(rows, "annotate()") : rows;
  const query = windows ? { ...chosen, windowsAfter: chosen.where.length } : chosen;
  const annotations = groups ? ofRows(query.annotations) : { ...query.annotations };
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
  const others = (query.selection.grouped ? added : fields).filter(
    ({ expression }) => !isAggregate(expression, annotations),
  );
  const keys = grouped ? [...(query.selection.keys ?? []), ...others.map(({ expression }) => expression)] : undefined;
  return { ...query, annotations, selection: { ...query.selection, fields, grouped, keys } };
}

/** The annotations of rows that are to be grouped: their aggregates over related rows stay those of each row. */
function ofRows(annotations: Query["annotations"]): Record<string, ExpressionNode> {
  const nodes = Object.entries(annotations).map(([name, expression]): [string, ExpressionNode] => [
    name,
    isAggregate(expression, annotations) ? { type: "ofRow", expression } : expression,
  ]);
  return Object.fromEntries(nodes);
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
  if (query.distinct === true) throw new FieldError("values() cannot follow distinct(): call distinct() after it");
  if (query.selection?.grouped) return valuesOfGroups(query, query.selection, names, shape);
  const scope = namesOf(query);
  const all = [...query.meta.columns.map((column) => column.attribute), ...Object.keys(query.annotations)];
  const many: string[] = [];
  const fields = (names.length === 0 ? all : names).map((name) => {
    splitPath(name);
    if (checkValue(scope, name)) many.push(name);
    return { name, expression: { type: "path", path: name } as const };
  });
  if (many.length > 0) refuseWindows(query, "values() of a relation to many");
  // There is a row for each related row: a limit would count those.
  const rows = many.length > 0 || query.selection?.many.length ? onChosenRows(query, "values()") : query;
  return { ...rows, selection: { fields, shape, grouped: false, many }, columns: null, related: {}, prefetch: [] };
}

/** Some of the values of groups. The groups stay the same. */
function valuesOfGroups(
  query: Query,
  selection: Selection,
  names: readonly string[],
  shape: Selection["shape"],
): Query {
  const fields = names.map((name) => {
    const found = selection.fields.find((each) => each.name === name);
    if (found === undefined)
      throw new FieldError(
        `${shown(name)} is not among the values of the groups: ${selection.fields.map((each) => each.name).join(", ")}`,
      );
    return found;
  });
  return { ...query, selection: { ...selection, fields: names.length === 0 ? selection.fields : fields, shape } };
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
    windowsAfter: null,
    combined: { operator, queries },
  };
}

const lockOptions = options("forUpdate()", {
  /** True fails at once if a row is locked by somebody else. Default false: it waits. */
  nowait: option(is.boolean, false),
  /** True leaves out the rows that are locked by somebody else. Default false. */
  skipLocked: option(is.boolean, false),
  /** The lock: the weaker ones let some statements of others through. Default `update`. */
  strength: option(is.oneOf("update", "no key update", "share", "key share"), "update"),
});

export interface LockOptions extends OptionsOf<typeof lockOptions.fields> {}

export function forUpdate(query: Query, options: LockOptions | undefined): Query {
  const { nowait, skipLocked, strength } = lockOptions.read([options]);
  notCombined(query, "forUpdate()");
  if (nowait && skipLocked) throw new ValueError("forUpdate takes nowait or skipLocked, not both");
  return { ...query, lock: { strength, wait: nowait ? "nowait" : skipLocked ? "skip locked" : "wait" } };
}
