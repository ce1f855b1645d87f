import { FieldError } from "../errors.js";
import { quote } from "../identifiers.js";
import type { RelationMeta } from "../meta.js";
import type { ConditionNode } from "../nodes.js";
import type { Context } from "./context.js";
import { compileKeyLookup, compileKeys } from "./key-lookups.js";
import { compileLookup } from "./lookups.js";
import { encodeFor, nodeOf } from "./operands.js";
import { matching, resolveJoined, resolveLookup, Scope, singleKey } from "./scope.js";
import { usesWindow } from "./windows.js";

/**
 * Compiles a condition to SQL. Conditions on a to-many relation become EXISTS, so that no row is returned twice.
 * `values` is the scope of expressions on the right side: also inside EXISTS, `F("name")` is a field of the filtered
 * model.
 */
export function compileCondition(node: ConditionNode, scope: Scope, context: Context, values = scope): string {
  switch (node.type) {
    case "lookup":
      return compileAll([node], scope, context, values)[0]!;
    case "and": {
      const parts = compileAll(node.children, scope, context, values);
      return parts.length === 0 ? "TRUE" : parts.length === 1 ? parts[0]! : `(${parts.join(" AND ")})`;
    }
    case "or": {
      const parts = node.children.map((child) => context.condition(child, scope));
      return parts.length === 0 ? "FALSE" : parts.length === 1 ? parts[0]! : `(${parts.join(" OR ")})`;
    }
    case "not":
      // Null counts as false, so that a row is either in filter(x) or in exclude(x).
      return `(${context.condition(node.child, scope)}) IS NOT TRUE`;
    case "expression":
      return context.expression(node.expression, scope);
    case "keys":
      return compileKeys(node.columns, node.keys, scope, context);
    case "chosen": {
      const keys = scope.meta.primaryKey.map((column) => scope.column(column));
      return `(${keys.join(", ")}) IN (${context.subselect(node.query, scope, "row")})`;
    }
    case "member": {
      const { meta, sourceColumn, targetColumn } = node.relation.through!;
      const left = { sql: "", type: sourceColumn.type, column: sourceColumn, name: node.relation.name };
      const key = context.param(encodeFor(left, node.key));
      return `${scope.column(node.relation.targetColumn)} IN (SELECT ${quote(targetColumn.column)} FROM ${meta.sqlName} WHERE ${quote(sourceColumn.column)} = ${key})`;
    }
  }
}

interface ManyGroup {
  readonly scope: Scope;
  readonly relation: RelationMeta;
  readonly lookups: { readonly rest: readonly string[]; readonly value: unknown }[];
  readonly at: number;
}

/** Compiles conditions that must all hold. Those on the same to-many relation must hold for the same related row. */
function compileAll(nodes: readonly ConditionNode[], scope: Scope, context: Context, values: Scope): string[] {
  const parts: string[] = [];
  const groups = new Map<string, ManyGroup>();
  for (const node of nodes) {
    if (node.type !== "lookup") {
      parts.push(context.condition(node, scope));
      continue;
    }
    const found = node.joined ? resolveJoined(scope, node.key) : resolveLookup(scope, node.key);
    if (found.kind === "many") {
      const name = `${found.scope.alias}.${found.relation.name}`;
      const group = groups.get(name);
      if (group) group.lookups.push({ rest: found.rest, value: node.value });
      else {
        groups.set(name, {
          scope: found.scope,
          relation: found.relation,
          lookups: [{ rest: found.rest, value: node.value }],
          at: parts.length,
        });
        parts.push("");
      }
    } else if (found.kind === "key") {
      context.lookup(node);
      parts.push(compileKeyLookup(found, node.key, node.value, context, values));
    } else if (found.kind === "annotation") {
      const sql = context.expression(found.node, scope);
      const left = {
        sql: `(${sql})`,
        type: context.typeOf(found.node, scope),
        column: undefined,
        name: node.key,
        timeZone: scope.timeZone,
      };
      parts.push(compileLookup(left, found.rest, node.value, context, values));
    } else {
      const left = {
        sql: found.scope.column(found.column),
        type: found.column.type,
        column: found.column,
        name: `${found.scope.meta.name}.${found.column.name}`,
        timeZone: scope.timeZone,
      };
      context.lookup(node);
      parts.push(compileLookup(left, found.rest, node.value, context, values));
    }
  }
  for (const group of groups.values()) parts[group.at] = compileGroup(group, context, values);
  return parts;
}

function compileGroup(group: ManyGroup, context: Context, values: Scope): string {
  const { scope, relation } = group;
  const existence = (exists: boolean): string =>
    `${exists ? "" : "NOT "}EXISTS (SELECT 1 FROM ${manySource(scope, relation, context).from})`;
  // `books: null` and `books__isnull: true` mean that there is no related row.
  const parts: string[] = [];
  const lookups = group.lookups.filter(({ rest, value }) => {
    const [lookup = "exact", more] = rest;
    if (more !== undefined || !(lookup === "isnull" || (lookup === "exact" && value === null))) return true;
    if (lookup === "isnull" && typeof value !== "boolean")
      throw new FieldError(`${relation.name}__isnull takes true or false`);
    parts.push(existence(value === false));
    return false;
  });
  if (lookups.length > 0) parts.push(existsWith(group, lookups, context, values));
  return parts.length === 1 ? parts[0]! : `(${parts.join(" AND ")})`;
}

/** Compiles EXISTS for a related row for which all of the lookups hold. */
function existsWith(
  { scope, relation }: ManyGroup,
  lookups: ManyGroup["lookups"],
  context: Context,
  values: Scope,
): string {
  const source = manySource(scope, relation, context);
  const conditions = lookups.map(({ rest, value }): ConditionNode => {
    const node = nodeOf(value);
    if (node && usesWindow(node, values.annotations))
      throw new FieldError(`${relation.name}: related rows cannot be compared with a window function`);
    const [first] = rest;
    const named =
      first !== undefined &&
      (first === "pk" || relation.target.relations.has(first) || relation.target.column(first) !== undefined);
    const key = named
      ? rest
      : [relation.target.primaryKey.length > 1 ? "pk" : singleKey(relation.target).name, ...rest];
    return { type: "lookup", key: key.join("__"), value };
  });
  const inner = compileCondition({ type: "and", children: conditions }, source.scope, context, values);
  return `EXISTS (SELECT 1 FROM ${source.table}${source.scope.joins} WHERE ${source.on} AND ${inner})`;
}

export interface ManySource {
  readonly scope: Scope;
  /** The tables, without the joins that the conditions may add. */
  readonly table: string;
  readonly on: string;
  /** Tables and condition together, if nothing more is joined. */
  readonly from: string;
}

/** The row that related rows belong to. */
export type ManyOwner = Pick<Scope, "column" | "outer" | "timeZone">;

/** The rows of a to-many relation that belong to a row. */
export function manySource(scope: ManyOwner, relation: RelationMeta, context: Context): ManySource {
  const inner = new Scope(relation.target, () => context.alias(), scope.outer);
  inner.timeZone = scope.timeZone;
  const { through } = relation;
  if (through === undefined) {
    const table = `${relation.target.sqlName} ${inner.alias}`;
    const on = liveOnly(inner, matching(relation, scope, inner));
    return { scope: inner, table, on, from: `${table} WHERE ${on}` };
  }
  const between = context.alias();
  const source = scope.column(relation.sourceColumn);
  const table = `${through.meta.sqlName} ${between} INNER JOIN ${relation.target.sqlName} ${inner.alias} ON ${inner.column(relation.targetColumn)} = ${between}.${quote(through.targetColumn.column)}`;
  const on = liveOnly(inner, `${between}.${quote(through.sourceColumn.column)} = ${source}`);
  return { scope: inner, table, on, from: `${table} WHERE ${on}` };
}

/** Relations exclude softly deleted rows too. */
function liveOnly(scope: Scope, on: string): string {
  const mark = scope.meta.columns.find((column) => column.softDelete);
  return mark ? `${on} AND ${scope.column(mark)} IS NULL` : on;
}
