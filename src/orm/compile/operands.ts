import {
  DatabaseError,
  ParameterRangeError,
  ParameterTypeError,
  ParameterValueError,
} from "../../engines/db/errors.js";
import { FieldError } from "../errors.js";
import { Expression } from "../expressions/expression.js";
import type { ColumnMeta, ColumnType, ModelConstructor } from "../meta.js";
import type { ExpressionNode, Query } from "../nodes.js";

/** The left side of a lookup: SQL, and the type of its value if it is known. */
export interface Left {
  readonly sql: string;
  /** The same value as text, if a cast to text would give another result. */
  readonly text?: string;
  readonly type: ColumnType | undefined;
  /** The column, if the value is exactly that of one. Model instances and nulls in JSON depend on it. */
  readonly column: ColumnMeta | undefined;
  readonly name: string;
  /** The time zone of dates and parts of times; UTC by default. */
  readonly timeZone?: string;
}

/** The node of a value that is an expression; undefined for a plain value. */
export function nodeOf(value: unknown): ExpressionNode | undefined {
  return value instanceof Expression ? value.node : undefined;
}

/** The query of a value that is a queryset. */
export function queryOf(value: unknown): Query | undefined {
  if (typeof value !== "object" || value === null || !(querysetMark in value)) return undefined;
  return (value as unknown as { query: Query }).query;
}

/** A mark on every queryset, which identifies it without importing the class. */
export const querysetMark: unique symbol = Symbol.for("stoa.orm.queryset");

/** Encodes a plain value as a parameter of the left side's type. */
export function encodeFor(left: Left, value: unknown): unknown {
  const plain = keyOfInstance(left, value);
  if (plain === undefined) throw new ParameterTypeError(`${left.name}: the value is undefined; use null`);
  const encode = left.type?.encode;
  if (encode === undefined || plain === null) return plain;
  return encodeNamed(left.name, encode, plain);
}

/** Encodes a value; a refusal names the field. */
export function encodeNamed(name: string, encode: (value: unknown) => unknown, value: unknown): unknown {
  try {
    return encode(value);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const message = `${name}: ${error.message}`;
    if (error instanceof ParameterTypeError) throw new ParameterTypeError(message, { cause: error.cause });
    if (error instanceof ParameterRangeError) throw new ParameterRangeError(message, { cause: error.cause });
    if (error instanceof ParameterValueError) throw new ParameterValueError(message, { cause: error.cause });
    throw error;
  }
}

/** Replaces a model instance with the key that refers to it. */
export function keyOfInstance(left: Pick<Left, "column" | "name">, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { meta } = value.constructor as Partial<ModelConstructor>;
  if (meta === undefined) return value;
  // A primary key that is a foreign key too stands for the rows of its own model.
  const isOwn = left.column?.primaryKey === true && meta.primaryKey[0] === left.column;
  const reference = isOwn ? undefined : left.column?.reference;
  const key = reference?.column ?? (left.column?.primaryKey ? left.column : undefined);
  if (key === undefined || (reference && reference.target.sqlName !== meta.sqlName)) {
    throw new FieldError(`${left.name} cannot be compared with an instance of ${meta.name}`);
  }
  const found = (value as Record<string, unknown>)[key.attribute];
  if (found === undefined || found === null) {
    throw new FieldError(`the instance of ${meta.name} given for ${left.name} is not saved: it has no ${key.name}`);
  }
  return found;
}

/** A subquery of models gives the keys that refer to its rows. */
export function keysOfQuery({ column, name }: Pick<Left, "column" | "name">, query: Query): Query {
  const reference = column?.reference;
  if (query.selection !== null || reference === undefined || query.meta.primaryKey[0] === column) return query;
  if (reference.target.sqlName !== query.meta.sqlName)
    throw new FieldError(`${name} leads to ${reference.target.name}, but the query is for ${query.meta.name}`);
  const { attribute } = reference.column;
  const fields = [{ name: attribute, expression: { type: "path", path: attribute } as const }];
  return { ...query, selection: { fields, shape: "list", grouped: false, many: [] } };
}
