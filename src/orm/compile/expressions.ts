import { ValueError } from "../../kit/value-error.js";
import { FieldError } from "../errors.js";
import * as columnTypes from "../fields/column-types.js";
import { quote } from "../identifiers.js";
import type { ColumnType } from "../meta.js";
import type { CallNode, ExpressionNode } from "../nodes.js";
import { isAggregate } from "./aggregation.js";
import { type ManyOwner, manySource } from "./conditions.js";
import type { Context } from "./context.js";
import { countType } from "./expression-types.js";
import { encodeFor } from "./operands.js";
import { ownColumn, type Resolution, resolveJoined, resolvePath, restPath, type Scope, shown } from "./scope.js";
import { datePart, localTime, transformed } from "./transforms.js";
import { usesWindow } from "./windows.js";

/** Compiles an expression to SQL. */
export function compileExpression(node: ExpressionNode, scope: Scope, context: Context): string {
  switch (node.type) {
    case "path":
      return compilePath(node.path, scope, context);
    case "outer":
      if (scope.outer === null) throw new FieldError(`outer(${shown(node.path)}) is used outside of a subquery`);
      return compilePath(node.path, scope.outer, context);
    case "value":
      return compileValue(node.value, context);
    case "ofRow":
      return scope.ungrouped(() => context.expression(node.expression, scope));
    case "excluded":
      return `EXCLUDED.${quote(ownColumn(node.path, scope).column)}`;
    case "joined":
      return `${scope.sourceAlias(node.source)}.c${node.column}`;
    case "derived":
      return `${scope.alias}.${node.column}`;
    case "fragment":
      return compileFragment(node.fragment.parts, node.fragment.params, context);
    case "call":
      return compileCall(node, scope, context);
    case "binary":
      return `(${side(node.left, node.right, scope, context)} ${node.operator} ${side(node.right, node.left, scope, context)})`;
    case "cast":
      return `CAST(${context.expression(node.expression, scope)} AS ${node.sqlType})`;
    case "isNull":
      return `(${context.expression(node.expression, scope)} IS ${node.holds ? "" : "NOT "}NULL)`;
    case "extract": {
      const type = context.typeOf(node.expression, scope);
      const sql = context.expression(node.expression, scope);
      return datePart(node.part, localTime(sql, type, zoneOf(node, type, scope)));
    }
    case "truncate": {
      const zone = zoneOf(node, context.typeOf(node.expression, scope), scope);
      return `date_trunc('${node.unit}', ${context.expression(node.expression, scope)}, '${zone}')`;
    }
    case "case": {
      const branches = node.branches.map(
        ({ when, value }) => `WHEN ${context.condition(when, scope)} THEN ${context.expression(value, scope)}`,
      );
      const otherwise = node.otherwise ? ` ELSE ${context.expression(node.otherwise, scope)}` : "";
      return `CASE ${branches.join(" ")}${otherwise} END`;
    }
    case "window": {
      const inside = [node.expression, ...node.partitionBy, ...node.orderBy.map(({ expression }) => expression)];
      if (inside.some((each) => usesWindow(each, scope.annotations)))
        throw new FieldError("a window function cannot be computed over another one");
      const partition = node.partitionBy.map((each) => context.expression(each, scope)).join(", ");
      const order = node.orderBy.length > 0 ? `ORDER BY ${context.order(node.orderBy, scope)}` : "";
      const parts = [partition && `PARTITION BY ${partition}`, order, node.frame].filter(Boolean);
      return `${context.expression(node.expression, scope)} OVER (${parts.join(" ")})`;
    }
    case "subquery":
      return `(${context.subselect(node.query, scope, node.query.selection ? "values" : "key")})`;
    case "exists":
      return `EXISTS (${context.subselect(node.query, scope, "exists")})`;
    case "condition":
      return `(${context.condition(node.condition, scope)})`;
  }
}

/** The time zone of a part of a time. Dates and times without time zone are not converted. */
function zoneOf({ timeZone }: { timeZone: string | undefined }, type: ColumnType | undefined, scope: Scope): string {
  const isMoment = type === undefined || (type.kind === "datetime" && type.timezone === true);
  if (!isMoment && timeZone !== undefined)
    throw new FieldError(`a ${type.kind} without time zone cannot be converted to ${timeZone}`);
  return isMoment ? (timeZone ?? scope.timeZone) : "UTC";
}

/** Compiles the field that an expression reads. A field of a to-many relation needs an aggregate. */
function compilePath(path: string, scope: Scope, context: Context): string {
  const found = scope.manyPaths.includes(path) ? resolveJoined(scope, path) : resolvePath(scope, path);
  if (found.kind === "many") {
    throw new FieldError(
      `${shown(path)} goes through ${found.relation.name}, of which there are many: use an aggregate`,
    );
  }
  if (found.kind === "annotation") {
    if (found.rest.length > 0) throw new FieldError(`${shown(path)} is not the name of a field`);
    return `(${context.expression(found.node, scope)})`;
  }
  const sql = found.scope.column(found.column);
  if (found.rest.length === 0) return sql;
  if (found.column.type.kind !== "json") return transformed(sql, found.column, path, found.rest, scope.timeZone).sql;
  return found.rest.reduce((left, key) => `(${left} -> ${context.param(key)}::text)`, sql);
}

function compileValue(value: unknown, context: Context): string {
  switch (typeof value) {
    // Without a cast, PostgreSQL does not know the type of a parameter on its own.
    case "string":
      return `${context.param(columnTypes.text.encode!(value))}::text`;
    case "number":
      return `${context.param(value)}::${Number.isInteger(value) ? (Math.abs(value) < 2 ** 31 ? "int" : "bigint") : "float8"}`;
    case "bigint":
      return `${context.param(columnTypes.bigInt.encode!(value))}::bigint`;
    case "boolean":
      return value ? "TRUE" : "FALSE";
    case "object":
      if (value === null) return "NULL";
      if (value instanceof Date) return `${context.param(columnTypes.datetime.encode!(value))}::timestamptz`;
      return `${context.param(columnTypes.json.encode!(value))}::jsonb`;
    default:
      throw new ValueError(`a ${typeof value} cannot be a value in SQL`);
  }
}

/** A side of an operator: a plain value takes the type of the other side. */
function side(node: ExpressionNode, other: ExpressionNode, scope: Scope, context: Context): string {
  if (node.type === "value" && node.value !== null && typeof node.value !== "boolean") {
    const type = context.typeOf(other, scope);
    const fits =
      type !== undefined && ["decimal", "float", "bigInt"].includes(type.kind) && typeof node.value !== "object";
    if (fits) {
      const left = { sql: "", type, column: undefined, name: "a value" };
      return `${context.param(encodeFor(left, node.value))}::${type.kind === "decimal" ? "numeric" : type.sqlType}`;
    }
  }
  return context.expression(node, scope);
}

export function compileFragment(parts: readonly string[], params: readonly unknown[], context: Context): string {
  let sql = parts[0]!;
  for (let i = 0; i < params.length; i++) sql += context.param(params[i]) + parts[i + 1]!;
  return `(${sql})`;
}

function compileCall(node: CallNode, scope: Scope, context: Context): string {
  if (node.aggregate) {
    checkNesting(node, scope);
    checkNumbers(node, scope, context);
  }
  const many = node.aggregate ? manyOf(node, scope) : undefined;
  if (many) return aggregateOfMany(node, many, scope, context);
  const args = node.args.map((arg) => context.expression(arg, scope));
  const sql = callSql(node, args, scope, context);
  // The sum of counts is numeric, which would arrive as text.
  return node.result === "sum" && context.typeOf(node.args[0]!, scope) === countType ? `(${sql})::bigint` : sql;
}

function checkNesting({ name, args, filter }: CallNode, { annotations }: Scope): void {
  if (args.some((arg) => isAggregate(arg, annotations)) || (filter && isAggregate(filter, annotations)))
    throw new FieldError(`${name} of another aggregate needs the groups first: use aggregate()`);
}

/** Fields that an aggregate adds up must hold numbers. PostgreSQL's own error would name a function and a type only. */
function checkNumbers(node: CallNode, scope: Scope, context: Context): void {
  if (node.result !== "sum" && node.result !== "float") return;
  for (const argument of node.args) {
    if (argument.type !== "path" || Object.hasOwn(scope.annotations, argument.path)) continue;
    const type = context.typeOf(argument, scope);
    if (type && !numbers.has(type.kind) && !(type.kind === "interval" && node.result === "sum"))
      throw new FieldError(`${node.name} needs numbers, and ${shown(argument.path)} is of type ${type.sqlType}`);
  }
}

const numbers: ReadonlySet<string> = new Set(["smallInt", "int", "bigInt", "float", "decimal", "custom"]);

function callSql(node: CallNode, args: readonly string[], scope: Scope, context: Context): string {
  const list = node.name === "count" && args.length === 0 ? "*" : args.join(", ");
  const distinct = node.distinct ? "DISTINCT " : "";
  const order = node.orderBy && node.orderBy.length > 0 ? ` ORDER BY ${context.order(node.orderBy, scope)}` : "";
  const filter = node.filter ? ` FILTER (WHERE ${context.condition(node.filter, scope)})` : "";
  const sql = node.withinGroup
    ? `${node.name}(${args.slice(1).join(", ")}) WITHIN GROUP (ORDER BY ${args[0]})${filter}`
    : `${node.name}(${distinct}${list}${order})${filter}`;
  // The average of integers is numeric, which would arrive as text.
  return node.result === "float" && node.aggregate ? `(${sql})::float8` : sql;
}

/** The path of an aggregate's argument if it goes through a to-many relation. */
function manyOf(node: CallNode, scope: Scope): { path: string; rest: readonly string[] } | undefined {
  const [first] = node.args;
  if (first?.type !== "path" || first.path.length === 0) return undefined;
  const found = resolvePath(scope, first.path);
  if (found.kind !== "many") return undefined;
  return { path: first.path, rest: found.rest };
}

/**
 * A subquery over the related rows, so that aggregates of several relations do not multiply one another. In a grouped query
 * they are the related rows of all rows of the group, unless the query has a row for each related row already.
 */
function aggregateOfMany(
  node: CallNode,
  many: { path: string; rest: readonly string[] },
  scope: Scope,
  context: Context,
): string {
  const found = resolvePath(scope, many.path);
  if (found.kind !== "many") throw new FieldError(`${shown(many.path)} is not a relation to many`);
  // Inside the subquery, every field belongs to the related rows: also in the filter and the order.
  const call = (inner: Scope): string => {
    const path = argumentPath(node, many.rest, inner);
    if (resolvePath(inner, path).kind === "many")
      throw new FieldError(`${shown(many.path)} goes through two relations to many: use a subquery`);
    const more = node.args.slice(1).map((each) => besides(each, found, scope, inner, context));
    return callSql(node, [context.expression({ type: "path", path }, inner), ...more], inner, context);
  };
  if (scope.grouped && isJoined(node, found, scope)) return call(found.scope.joinMany(found.relation));
  const owners = scope.grouped ? ownersOf(found, context) : { source: found.scope, from: "" };
  const source = manySource(owners.source, found.relation, context);
  return `(SELECT ${call(source.scope)} FROM ${owners.from}${source.table}${source.scope.joins} WHERE ${source.on})`;
}

type Many = Extract<Resolution, { kind: "many" }>;

/** True if related rows are joined with the rows of a group: they are its keys, or are computed together with its columns. */
function isJoined(node: CallNode, many: Many, scope: Scope): boolean {
  const isSame = (path: string): boolean => {
    const found = resolvePath(scope, path);
    return found.kind === "many" && found.relation === many.relation && found.scope === many.scope;
  };
  return scope.manyPaths.some(isSame) || node.args.slice(1).some((each) => each.type === "path" && !isSame(each.path));
}

/** The keys of the rows of a group. The arrays are aggregates of the query around the subquery. */
function ownersOf({ scope, relation }: Many, context: Context): { source: ManyOwner; from: string } {
  const alias = context.alias();
  const columns = relation.through ? [relation.sourceColumn] : relation.sourceColumns;
  const arrays = columns.map((column) => `array_agg(${scope.column(column)})`).join(", ");
  return {
    source: {
      outer: scope.outer,
      timeZone: scope.timeZone,
      column: (column) => `${alias}.k${columns.indexOf(column)}`,
    },
    from: `unnest(${arrays}) ${alias}(${columns.map((_, at) => `k${at}`).join(", ")}), `,
  };
}

/** The field of related rows that an aggregate reads. Rows are counted by any column of their key. */
function argumentPath({ name, distinct }: CallNode, rest: readonly string[], { meta }: Scope): string {
  const countsRows = rest.length === 0 && name === "count" && !distinct;
  return countsRows ? meta.primaryKey[0]!.name : restPath(rest, meta);
}

/** A further argument of an aggregate over related rows: a field of the same rows, or a value of the outer row. */
function besides(node: ExpressionNode, many: Many, scope: Scope, inner: Scope, context: Context): string {
  const found = node.type === "path" ? resolvePath(scope, node.path) : undefined;
  if (found?.kind === "many" && found.relation === many.relation && found.scope === many.scope)
    return context.expression({ type: "path", path: restPath(found.rest, inner.meta) }, inner);
  return context.expression(node, scope);
}
