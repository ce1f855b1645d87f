/** The key of a row in the order of its query, for pages by key. */

import { ParameterTypeError, ParameterValueError } from "../../engines/db/errors.js";
import { Compiler } from "../compile/compiler.js";
import { orderOf } from "../compile/query-parts.js";
import { resolvePath, type Scope } from "../compile/scope.js";
import { FieldError } from "../errors.js";
import type { ColumnMeta, ColumnType } from "../meta.js";
import type { ConditionNode, ExpressionNode, OrderNode, Query } from "../nodes.js";

/** A part of the key. */
export interface KeyPart {
  readonly order: OrderNode;
  /** The column of the model itself; undefined for other values. */
  readonly column: ColumnMeta | undefined;
  readonly nullable: boolean;
  readonly nullsFirst: boolean;
  /** The type that a text is cast to, to compare it with the value. */
  readonly sqlType: string;
}

/** The parts of the key: the order, made unique by the primary key, or by the fields of a group. */
export function keyParts(query: Query): KeyPart[] {
  if (query.combined || query.distinct !== false || query.selection?.many.length)
    throw new FieldError("unions, distinct() and values of to-many relations have no pages by key");
  const compiler = new Compiler();
  const scope = compiler.scope(query);
  const typeOf = (node: ExpressionNode): ColumnType | undefined => compiler.typeOf(node, scope);
  const parts = orderOf(query).map((node) => keyPart(node, scope, typeOf));
  const descending = parts.at(-1)?.order.descending ?? false;
  for (const expression of identity(query)) {
    const part = keyPart({ expression, descending }, scope, typeOf);
    if (!parts.some((each) => isSame(each, part))) parts.push(part);
  }
  return parts;
}

function identity({ meta, selection }: Query): readonly ExpressionNode[] {
  if (selection?.grouped) return selection.keys ?? [];
  return meta.primaryKey.map((column) => ({ type: "path", path: column.attribute }));
}

function isSame(a: KeyPart, b: KeyPart): boolean {
  if (a.column !== undefined) return a.column === b.column;
  const [x, y] = [a.order.expression, b.order.expression];
  return x === y || (x.type === "path" && y.type === "path" && x.path === y.path);
}

function keyPart(
  { expression, descending, nulls }: OrderNode,
  scope: Scope,
  typeOf: (node: ExpressionNode) => ColumnType | undefined,
): KeyPart {
  const found = expression.type === "path" ? resolvePath(scope, expression.path) : undefined;
  const own = found?.kind === "column" && found.rest.length === 0 ? found : undefined;
  const nullable = found?.kind !== "column" || found.column.nullable || found.scope.optional;
  const type = typeOf(expression);
  if (type === undefined)
    throw new FieldError("pages by key need an order of a known type: use castTo() around the expression");
  // The defaults of PostgreSQL: null is larger than any value.
  const nullsFirst = nulls === undefined ? descending : nulls === "first";
  return {
    order: ordered(expression, descending, nullable, nullsFirst),
    column: own?.scope === scope ? own.column : undefined,
    nullable,
    nullsFirst,
    sqlType: castType(type, own !== undefined),
  };
}

function ordered(expression: ExpressionNode, descending: boolean, nullable: boolean, nullsFirst: boolean): OrderNode {
  const isDefault = !nullable || nullsFirst === descending;
  return { expression, descending, nulls: isDefault ? undefined : nullsFirst ? "first" : "last" };
}

/** The type without limits, which a cast would apply silently. Computed integers may be larger than their column. */
function castType(type: ColumnType, ofColumn: boolean): string {
  switch (type.kind) {
    case "char":
      return "text";
    case "enum":
      return type.enumName === undefined ? "text" : type.sqlType;
    case "decimal":
      return "numeric";
    case "smallInt":
    case "int":
    case "bigInt":
      return ofColumn ? type.sqlType : "numeric";
    default:
      return type.sqlType;
  }
}

/** The part in the other direction. */
export function turned(part: KeyPart): KeyPart {
  const { order, nullable } = part;
  const nullsFirst = !part.nullsFirst;
  return { ...part, nullsFirst, order: ordered(order.expression, !order.descending, nullable, nullsFirst) };
}

/** The condition for rows beyond a key, in the order of the parts. */
export function rowsBeyond(parts: readonly KeyPart[], key: readonly (string | null)[]): ConditionNode {
  const children = parts.map((part, i): ConditionNode => {
    const equal = parts.slice(0, i).map((each, j) => isEqual(each, key[j]!));
    return { type: "and", children: [...equal, isBeyond(part, key[i]!)] };
  });
  return { type: "or", children };
}

function isEqual({ order, sqlType }: KeyPart, text: string | null): ConditionNode {
  return text === null ? isNull(order.expression, true) : compare(order.expression, "=", text, sqlType);
}

function isBeyond({ order, nullable, nullsFirst, sqlType }: KeyPart, text: string | null): ConditionNode {
  const { expression, descending } = order;
  if (text === null) return nullsFirst ? isNull(expression, false) : { type: "or", children: [] };
  const beyond = compare(expression, descending ? "<" : ">", text, sqlType);
  return nullable && !nullsFirst ? { type: "or", children: [beyond, isNull(expression, true)] } : beyond;
}

function isNull(expression: ExpressionNode, holds: boolean): ConditionNode {
  return { type: "expression", expression: { type: "isNull", expression, holds } };
}

function compare(left: ExpressionNode, operator: string, text: string, sqlType: string): ConditionNode {
  const right: ExpressionNode = { type: "cast", expression: { type: "value", value: text }, sqlType };
  return { type: "expression", expression: { type: "binary", operator, left, right } };
}

/** The cursor is neither secret nor signed: a cursor from a client is checked like any other input. */
export function writeCursor(key: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(key)).toString("base64url");
}

/** Reads a cursor: values of plain columns, otherwise texts and nulls. */
export function readCursor(parts: readonly KeyPart[], cursor: string, plain: boolean): unknown[] {
  if (typeof cursor !== "string") throw new ParameterTypeError("a cursor must be a string");
  let key: unknown;
  try {
    key = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch (cause) {
    throw new ParameterValueError("the cursor is not one of this list", { cause });
  }
  const fits =
    Array.isArray(key) &&
    key.length === parts.length &&
    key.every((value, index) =>
      plain
        ? ["string", "number", "boolean"].includes(typeof value)
        : typeof value === "string" || (value === null && parts[index]!.nullable),
    );
  if (!fits) throw new ParameterValueError("the cursor is not one of this list");
  return key as unknown[];
}
