/** The types of expressions, by which their values are read and written. */

import * as columnTypes from "../fields/column-types.js";
import type { ColumnType } from "../meta.js";
import type { CallNode, ExpressionNode } from "../nodes.js";
import { manySource } from "./conditions.js";
import type { Context } from "./context.js";
import { ownColumn, resolvePath, restPath, type Scope, singleKey } from "./scope.js";
import { typeOfJoined } from "./sources.js";
import { transformed } from "./transforms.js";

const booleanType = columnTypes.bool;
/** Counts and ranks: 64 bits, but always numbers. */
export const countType: ColumnType = { ...columnTypes.int, sqlType: "bigint", json: { type: "integer" } };

/** The type of an expression's value; undefined if it is not known. */
export function typeOfExpression(node: ExpressionNode, scope: Scope, context: Context): ColumnType | undefined {
  switch (node.type) {
    case "path":
    case "outer":
      return typeOfPath(node.path, node.type === "outer" ? scope.outer : scope, context);
    case "value":
      return typeOfValue(node.value);
    case "call":
      return typeOfCall(node, scope, context);
    case "binary":
      if (node.operator === "||") return columnTypes.text;
      return context.typeOf(node.left, scope) ?? context.typeOf(node.right, scope);
    case "cast":
      return castTypes[node.sqlType];
    case "extract":
      return columnTypes.int;
    case "truncate":
      return columnTypes.datetime;
    case "case": {
      const values = node.branches.map(({ value }) => value);
      return [...values, ...(node.otherwise ? [node.otherwise] : [])]
        .map((each) => context.typeOf(each, scope))
        .find(Boolean);
    }
    case "window":
    case "ofRow":
      return context.typeOf(node.expression, scope);
    case "exists":
    case "isNull":
    case "condition":
      return booleanType;
    case "subquery": {
      const [first] = node.query.selection?.fields ?? [];
      if (node.query.selection && first === undefined) return undefined;
      const inner = context.innerScope(node.query, scope);
      return first ? context.typeOf(first.expression, inner) : singleKey(node.query.meta).type;
    }
    case "excluded":
      return ownColumn(node.path, scope).type;
    case "joined":
      return typeOfJoined(node, scope, context);
    case "derived":
      return node.of;
    case "fragment":
      return undefined;
  }
}

const castTypes: Readonly<Record<string, ColumnType>> = {
  integer: columnTypes.int,
  "double precision": columnTypes.float,
  numeric: columnTypes.decimal(undefined, undefined),
  text: columnTypes.text,
  boolean: booleanType,
  date: columnTypes.date,
  "timestamp with time zone": columnTypes.datetime,
  jsonb: columnTypes.json,
};

function typeOfValue(value: unknown): ColumnType | undefined {
  if (typeof value === "string") return columnTypes.text;
  if (typeof value === "number") return Number.isInteger(value) ? columnTypes.int : columnTypes.float;
  if (typeof value === "boolean") return booleanType;
  return value instanceof Date ? columnTypes.datetime : undefined;
}

function typeOfPath(path: string, scope: Scope | null, context: Context): ColumnType | undefined {
  if (scope === null) return undefined;
  const found = resolvePath(scope, path);
  if (found.kind === "annotation") return context.typeOf(found.node, scope);
  if (found.kind === "column") {
    if (found.rest.length === 0) return found.column.type;
    return found.column.type.kind === "json"
      ? columnTypes.json
      : transformed("", found.column, path, found.rest, "UTC").type;
  }
  const inner = manySource(found.scope, found.relation, context);
  return typeOfPath(restPath(found.rest, inner.scope.meta), inner.scope, context);
}

function typeOfCall(node: CallNode, scope: Scope, context: Context): ColumnType | undefined {
  const [first] = node.args;
  const argument = (): ColumnType | undefined => (first ? context.typeOf(first, scope) : undefined);
  switch (node.result) {
    case "integer":
      return countType;
    case "float":
      return columnTypes.float;
    case "text":
      return columnTypes.text;
    case "boolean":
      return booleanType;
    case "json":
      return columnTypes.json;
    case "date":
      return columnTypes.date;
    case "datetime":
      return columnTypes.datetime;
    case "array": {
      const item = argument();
      return item && columnTypes.array(item);
    }
    case "sum": {
      const type = argument();
      return type?.kind === "int" || type?.kind === "smallInt" ? countType : type;
    }
    default:
      return argument();
  }
}
