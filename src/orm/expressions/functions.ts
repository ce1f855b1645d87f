/** SQL functions. A string is a field, as in `lower("title")`; a value is written `value("text")`. */

import { type OptionsOf, option, options } from "../../kit/config.js";
import { FieldError } from "../errors.js";
import type { CallNode, ExpressionNode } from "../nodes.js";
import {
  type AnyExpression,
  type Argument,
  checkPath,
  Expression,
  FunctionCall,
  type Operand,
  type OuterField,
  operandNode,
  type PathRef,
  pathOrNode,
  type ResultOf,
  type Subquery,
} from "./expression.js";
import type { ConditionsOf, PathsOf } from "./q.js";
import { isTimeZone } from "./time-zone.js";

/** A function of one field or expression, with a result of this type. */
type Unary<T> = <const P extends string, X = never>(of: Argument<P, X>) => Expression<T, P, X>;
/** A function of fields or expressions, with a result of their type. */
type SameType = <const P extends string, X = never>(of: Argument<P, X>) => Expression<PathRef<P>, P, X>;
type SameTypeOfSeveral = <const P extends string, X = never>(
  first: Argument<P, X>,
  ...others: readonly Argument<P, X>[]
) => Expression<PathRef<P>, P, X>;

export const lower: Unary<string> = (of) => call("lower", [pathOrNode(of)], "text");
export const upper: Unary<string> = (of) => call("upper", [pathOrNode(of)], "text");
export const trim: Unary<string> = (of) => call("btrim", [pathOrNode(of)], "text");
export const length: Unary<number> = (of) => call("length", [pathOrNode(of)], "integer");
export const abs: SameType = (of) => call("abs", [pathOrNode(of)]);
export const ceil: SameType = (of) => call("ceil", [pathOrNode(of)]);
export const floor: SameType = (of) => call("floor", [pathOrNode(of)]);
export const round: SameType = (of) => call("round", [pathOrNode(of)]);
export const greatest: SameTypeOfSeveral = (...of) => call("greatest", of.map(pathOrNode));
export const least: SameTypeOfSeveral = (...of) => call("least", of.map(pathOrNode));

/** Concatenates texts; null counts as empty. */
export function concat<const P extends string, X = never>(...of: readonly Argument<P, X>[]): Expression<string, P, X> {
  return call("concat", of.map(pathOrNode), "text");
}

/** `from` counts from 1. */
export function substring<const P extends string, X = never>(
  of: Argument<P, X>,
  from: number,
  count?: number,
): Expression<string, P, X> {
  const range = count === undefined ? [from] : [from, count];
  return call(
    "substr",
    [pathOrNode(of), ...range.map((each): ExpressionNode => cast(operandNode(each), "integer"))],
    "text",
  );
}

export function replace<const P extends string, X = never>(
  of: Argument<P, X>,
  search: string,
  by: string,
): Expression<string, P, X> {
  return call("replace", [pathOrNode(of), operandNode(search), operandNode(by)], "text");
}

/** Returns the first argument that is not null. The first is a field or an expression, the others can be values. */
export function coalesce<const P extends string, O extends Operand, X = never>(
  of: Argument<P, X>,
  ...others: readonly O[]
): Expression<PathRef<P> | (O extends AnyExpression ? ResultOf<O> : O), P | PathsOf<O>, X | ConditionsOf<O>> {
  return call("coalesce", [pathOrNode(of), ...others.map(operandNode)]);
}

/** Returns null if both are equal, otherwise the first. */
export function nullIf<const P extends string, O extends Operand, X = never>(
  of: Argument<P, X>,
  other: O,
): Expression<PathRef<P> | null, P | PathsOf<O>, X | ConditionsOf<O>> {
  return call("nullif", [pathOrNode(of), operandNode(other)]);
}

/** The time at which the transaction began. */
export function now(): Expression<Date> {
  return call("now", [], "datetime");
}

const units = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"] as const;
export type TimeUnit = (typeof units)[number];

const zoneOptions = options("truncate()", {
  /** The name of a time zone such as `Europe/Berlin`. Default: that of the query, which is UTC unless it names one. */
  timeZone: option(isTimeZone),
});

interface InTimeZone extends OptionsOf<typeof zoneOptions.fields> {}

/** A part of a date: `extract("year", "createdAt")`. */
export function extract<const P extends string, X = never>(
  unit: TimeUnit,
  of: Argument<P, X>,
  options?: InTimeZone,
): Expression<number, P, X> {
  const part = checkUnit(unit);
  const timeZone = zoneIn("extract()", options);
  return new Expression({ type: "extract", part, expression: pathOrNode(of), timeZone });
}

/** Truncates a time to the start of its year, month, day and so on: `truncate("day", "at", { timeZone: "Europe/Berlin" })`. */
export function truncate<const P extends string, X = never>(
  unit: TimeUnit,
  of: Argument<P, X>,
  options?: InTimeZone,
): Expression<Date, P, X> {
  const expression = pathOrNode(of);
  const timeZone = zoneIn("truncate()", options);
  return new Expression({ type: "truncate", unit: checkUnit(unit), expression, timeZone });
}

function zoneIn(call: string, given: InTimeZone | undefined): string | undefined {
  return given === undefined ? undefined : zoneOptions.read([given], call).timeZone;
}

function checkUnit(unit: TimeUnit): TimeUnit {
  if (!units.includes(unit)) throw new FieldError(`a unit of time must be one of ${units.join(", ")}`);
  return unit;
}

const castTypes = {
  int: "integer",
  bigInt: "bigint",
  float: "double precision",
  decimal: "numeric",
  text: "text",
  bool: "boolean",
  date: "date",
  datetime: "timestamp with time zone",
  json: "jsonb",
} as const;

interface CastResults {
  int: number;
  bigInt: number | bigint;
  float: number;
  decimal: string;
  text: string;
  bool: boolean;
  date: string;
  datetime: Date;
  json: unknown;
}

export function castTo<K extends keyof typeof castTypes, const P extends string, X = never>(
  of: Argument<P, X>,
  type: K,
): Expression<CastResults[K], P, X> {
  const sqlType = Object.hasOwn(castTypes, type) ? castTypes[type] : undefined;
  if (sqlType === undefined) throw new FieldError(`castTo takes one of ${Object.keys(castTypes).join(", ")}`);
  return new Expression(cast(pathOrNode(of), sqlType));
}

function cast(expression: ExpressionNode, sqlType: string): ExpressionNode {
  return { type: "cast", expression, sqlType };
}

/** A field of the query around a subquery. */
export function outer<const Path extends string>(path: Path): OuterField<Path> {
  return new Expression({ type: "outer", path: checkPath(path) }) as OuterField<Path>;
}

/**
 * The value of a queryset with one column and at most one row:
 * `subquery(Book.objects.filter({ author: outer("id") }).values("title").limit(1))`.
 */
export function subquery<Row, const P extends string>(of: Subquery<Row, P>): Expression<Single<Row> | null, P>;
export function subquery<T>(of: Subquery): Expression<T | null>;
export function subquery(of: Subquery): Expression<unknown> {
  return new Expression({ type: "subquery", query: of.query });
}

/** The value in a row of one column. */
type Single<Row> = Row extends { readonly pk: infer Key }
  ? Key
  : Row extends readonly (infer Item)[]
    ? Item
    : Row extends Scalar
      ? Row
      : Row[keyof Row];
type Scalar = string | number | bigint | boolean | Date | Uint8Array | null;

/** True if a queryset has rows. */
export function exists<const P extends string = never>(of: Subquery<unknown, P>): Expression<boolean, P> {
  return new Expression({ type: "exists", query: of.query });
}

/** The rank of a text for a search, to order by. */
export function searchRank<const P extends string, X = never>(
  of: Argument<P, X>,
  query: string,
): Expression<number, P, X> {
  const vector: ExpressionNode = call("to_tsvector", [pathOrNode(of)]).node;
  return call("ts_rank", [vector, call("websearch_to_tsquery", [operandNode(query)]).node], "float");
}

/** A function by its name, with fields or expressions as arguments: `fn<number>("similarity", "title", value("dun"))`. */
export function fn<T>(name: string, ...args: readonly Argument<string, unknown>[]): Expression<T> {
  if (!/^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?$/.test(name)) {
    throw new FieldError("the name of a function takes letters, digits and underscores, with a schema before a dot");
  }
  return call(name, args.map(pathOrNode));
}

/** A window function of the rows before or after, so many away. */
type Neighbour = <const P extends string, X = never>(
  of: Argument<P, X>,
  by?: number,
) => FunctionCall<PathRef<P> | null, P, X>;
type OfWindow = <const P extends string, X = never>(of: Argument<P, X>) => FunctionCall<PathRef<P>, P, X>;

export const rowNumber = (): FunctionCall<number> => windowCall("row_number", [], "integer");
export const rank = (): FunctionCall<number> => windowCall("rank", [], "integer");
export const denseRank = (): FunctionCall<number> => windowCall("dense_rank", [], "integer");
export const lag: Neighbour = (of, by = 1) => windowCall("lag", [pathOrNode(of), cast(operandNode(by), "integer")]);
export const lead: Neighbour = (of, by = 1) => windowCall("lead", [pathOrNode(of), cast(operandNode(by), "integer")]);
export const firstValue: OfWindow = (of) => windowCall("first_value", [pathOrNode(of)]);
export const lastValue: OfWindow = (of) => windowCall("last_value", [pathOrNode(of)]);

function windowCall<T, P extends string = never, X = never>(
  name: string,
  args: readonly ExpressionNode[],
  result?: CallNode["result"],
): FunctionCall<T, P, X> {
  return new FunctionCall<T, P, X>({ type: "call", name, args, aggregate: false, ...(result ? { result } : {}) });
}

function call<T, P extends string, X = never>(
  name: string,
  args: readonly ExpressionNode[],
  result?: CallNode["result"],
): Expression<T, P, X> {
  return new Expression<T, P, X>({ type: "call", name, args, aggregate: false, ...(result ? { result } : {}) });
}
