import { ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../engines/db/errors.js";
import { orderOf } from "../compile/query-parts.js";
import { namesOf, resolvePath } from "../compile/scope.js";
import { FieldError } from "../errors.js";
import { orderNode } from "../expressions/expression.js";
import type { ColumnMeta } from "../meta.js";
import type { ConditionNode, OrderNode, Query } from "../nodes.js";
import type { Values } from "./state.js";

/** Checks a number of rows to return or to skip: an integer of at least 0. */
export function checkCount(name: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value)) throw new ParameterTypeError(`${name} must be an integer`);
  if (value < 0 || !Number.isSafeInteger(value)) throw new ParameterRangeError(`${name} must be at least 0`);
  return value;
}

/** A page by number. */
export interface Page<T> {
  readonly items: T[];
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  readonly pages: number;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}

/** A page that starts after a key. The last page is as fast as the first, and pages do not shift while rows are added. */
export interface KeysetPage<T> {
  readonly items: T[];
  /** The value of `after` for the next page; null on the last page. */
  readonly next: string | null;
  /** The value of `before` for the previous page; null on the first page. */
  readonly previous: string | null;
}

interface KeyPart {
  readonly column: ColumnMeta;
  readonly path: string;
  readonly descending: boolean;
}

/** The columns of an order, made unique by the primary key. */
export function keyParts(query: Query): KeyPart[] {
  const scope = namesOf(query);
  const parts = orderOf(query).map((node): KeyPart => {
    const { expression, descending, nulls } = node as OrderNode;
    const found = expression.type === "path" ? resolvePath(scope, expression.path) : undefined;
    if (expression.type !== "path" || found?.kind !== "column" || found.scope !== scope || nulls) {
      throw new FieldError("pages by key need an order by the model's own fields");
    }
    if (found.column.nullable)
      throw new FieldError(`pages by key cannot be ordered by ${found.column.name}, which may be null`);
    return { column: found.column, path: found.column.attribute, descending };
  });
  for (const column of query.meta.primaryKey) {
    if (!parts.some((part) => part.column === column)) {
      parts.push({ column, path: column.attribute, descending: parts.at(-1)?.descending ?? false });
    }
  }
  return parts;
}

/** The condition for rows after a cursor, or before it, in the order of the parts. */
export function keysetCondition(parts: readonly KeyPart[], cursor: string, backward: boolean): ConditionNode {
  const values = readCursor(parts, cursor);
  const children = parts.map((part, i): ConditionNode => {
    const equal = parts
      .slice(0, i)
      .map((each, j): ConditionNode => ({ type: "lookup", key: each.path, value: values[j] }));
    const beyond = part.descending !== backward ? "lt" : "gt";
    return { type: "and", children: [...equal, { type: "lookup", key: `${part.path}__${beyond}`, value: values[i] }] };
  });
  return { type: "or", children };
}

export function keysetOrder(parts: readonly KeyPart[], backward: boolean): OrderNode[] {
  return parts.map(({ path, descending }) => orderNode(descending !== backward ? `-${path}` : path));
}

/** The cursor is neither secret nor signed: a cursor from a client is checked like any other input. */
export function writeCursor(parts: readonly KeyPart[], row: object): string {
  const values = parts.map(({ column }) => {
    const value = (row as Values)[column.attribute];
    if (value === undefined) throw new FieldError(`pages by key need ${column.name}, which was not loaded`);
    return value instanceof Date ? value.toISOString() : typeof value === "bigint" ? value.toString() : value;
  });
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

function readCursor(parts: readonly KeyPart[], cursor: string): unknown[] {
  if (typeof cursor !== "string") throw new ParameterTypeError("a cursor must be a string");
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch (cause) {
    throw new ParameterValueError("the cursor is not one of this list", { cause });
  }
  const plain =
    Array.isArray(values) && values.every((value) => ["string", "number", "boolean"].includes(typeof value));
  if (!plain || (values as unknown[]).length !== parts.length) {
    throw new ParameterValueError("the cursor is not one of this list");
  }
  return values as unknown[];
}
