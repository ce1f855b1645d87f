/** SQL functions. A string is a field, as in `lower("title")`; a value is written `value("text")`. */

import { FieldError } from "../errors.js";
import type { CallNode, ConditionNode, ExpressionNode } from "../nodes.js";
import {
  checkPath,
  Expression,
  FunctionCall,
  type Operand,
  operandNode,
  type PathRef,
  type PathsOf,
  pathOrNode,
  type ResultOf,
  type Subqueryable,
} from "./expression.js";
import { type Condition, conditionOf } from "./q.js";

type Of<P extends string> = P | Expression<unknown, P>;

export function lower<const P extends string>(of: Of<P>): Expression<string, P> {
  return call("lower", [pathOrNode(of)], "text");
}

export function upper<const P extends string>(of: Of<P>): Expression<string, P> {
  return call("upper", [pathOrNode(of)], "text");
}

export function trim<const P extends string>(of: Of<P>): Expression<string, P> {
  return call("btrim", [pathOrNode(of)], "text");
}

export function length<const P extends string>(of: Of<P>): Expression<number, P> {
  return call("length", [pathOrNode(of)], "integer");
}

/** Concatenates texts; null counts as empty. */
export function concat<const P extends string>(...of: readonly Of<P>[]): Expression<string, P> {
  return call("concat", of.map(pathOrNode), "text");
}

/** `from` counts from 1. */
export function substring<const P extends string>(of: Of<P>, from: number, count?: number): Expression<string, P> {
  const range = count === undefined ? [from] : [from, count];
  return call(
    "substr",
    [pathOrNode(of), ...range.map((each): ExpressionNode => cast(operandNode(each), "integer"))],
    "text",
  );
}

export function replace<const P extends string>(of: Of<P>, search: string, by: string): Expression<string, P> {
  return call("replace", [pathOrNode(of), operandNode(search), operandNode(by)], "text");
}

export function abs<const P extends string>(of: Of<P>): Expression<PathRef<P>, P> {
  return call("abs", [pathOrNode(of)]);
}

export function ceil<const P extends string>(of: Of<P>): Expression<PathRef<P>, P> {
  return call("ceil", [pathOrNode(of)]);
}

export function floor<const P extends string>(of: Of<P>): Expression<PathRef<P>, P> {
  return call("floor", [pathOrNode(of)]);
}

export function round<const P extends string>(of: Of<P>): Expression<PathRef<P>, P> {
  return call("round", [pathOrNode(of)]);
}

/** Returns the first argument that is not null. The first is a field or an expression, the others can be values. */
export function coalesce<const P extends string, O extends Operand>(
  of: Of<P>,
  ...others: readonly O[]
): Expression<PathRef<P> | (O extends Expression<unknown, string> ? ResultOf<O> : O), P | PathsOf<O>> {
  return call("coalesce", [pathOrNode(of), ...others.map(operandNode)]);
}

/** Returns null if both are equal, otherwise the first. */
export function nullIf<const P extends string>(of: Of<P>, other: Operand): Expression<PathRef<P> | null, P> {
  return call("nullif", [pathOrNode(of), operandNode(other)]);
}

export function greatest<const P extends string>(first: Of<P>, ...others: readonly Of<P>[]): Expression<PathRef<P>, P> {
  return call("greatest", [first, ...others].map(pathOrNode));
}

export function least<const P extends string>(first: Of<P>, ...others: readonly Of<P>[]): Expression<PathRef<P>, P> {
  return call("least", [first, ...others].map(pathOrNode));
}

/** The time at which the transaction began. */
export function now(): Expression<Date> {
  return call("now", [], "datetime");
}

const units = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"] as const;
export type TimeUnit = (typeof units)[number];

/** A part of a date: `extract("year", "createdAt")`. */
export function extract<const P extends string>(unit: TimeUnit, of: Of<P>): Expression<number, P> {
  return new Expression({ type: "extract", part: checkUnit(unit), expression: pathOrNode(of) });
}

/** Truncates a time to the start of its year, month, day and so on, in UTC. */
export function truncate<const P extends string>(unit: TimeUnit, of: Of<P>): Expression<Date, P> {
  const args: ExpressionNode[] = [operandNode(checkUnit(unit)), pathOrNode(of), operandNode("UTC")];
  return call("date_trunc", args, "datetime");
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

export function castTo<K extends keyof typeof castTypes, const P extends string>(
  of: Of<P>,
  type: K,
): Expression<CastResults[K], P> {
  const sqlType = Object.hasOwn(castTypes, type) ? castTypes[type] : undefined;
  if (sqlType === undefined) throw new FieldError(`castTo takes one of ${Object.keys(castTypes).join(", ")}`);
  return new Expression(cast(pathOrNode(of), sqlType));
}

function cast(expression: ExpressionNode, sqlType: string): ExpressionNode {
  return { type: "cast", expression, sqlType };
}

/** `when({ stock: 0 }, "sold out").when({ stock__lt: 5 }, "few left").otherwise("in stock")` */
export function when<T extends Operand>(condition: Condition, then: T): Cases<Plain<T>> {
  return new Cases<Plain<T>>([]).when(condition, then);
}

/** Widens literal types: a case of texts has the type string, not the union of its texts. */
type Plain<T> = T extends string
  ? string
  : T extends number
    ? number
    : T extends boolean
      ? boolean
      : T extends Expression<infer R, string>
        ? R
        : T;

interface Branch {
  readonly when: ConditionNode;
  readonly value: ExpressionNode;
}

export class Cases<T> extends Expression<T | null> {
  readonly #branches: readonly Branch[];

  constructor(branches: readonly Branch[]) {
    super({ type: "case", branches, otherwise: undefined });
    this.#branches = branches;
  }

  when<U extends Operand>(condition: Condition, then: U): Cases<T | Plain<U>> {
    return new Cases([...this.#branches, { when: conditionOf(condition), value: operandNode(then) }]);
  }

  otherwise<U extends Operand>(value: U): Expression<T | Plain<U>> {
    return new Expression({ type: "case", branches: this.#branches, otherwise: operandNode(value) });
  }
}

/** A field of the query around a subquery. */
export function outer(path: string): Expression<unknown> {
  return new Expression({ type: "outer", path: checkPath(path) });
}

/** The value of a queryset with one column and at most one row: `subquery(Book.objects.filter({ author: outer("id") }).values("title").limit(1))`. */
export function subquery<T = unknown>(of: Subqueryable): Expression<T | null> {
  return new Expression({ type: "subquery", query: of.query });
}

/** True if a queryset has rows. */
export function exists(of: Subqueryable): Expression<boolean> {
  return new Expression({ type: "exists", query: of.query });
}

/** The rank of a text for a search, to order by. */
export function searchRank<const P extends string>(of: Of<P>, query: string): Expression<number, P> {
  const vector: ExpressionNode = call("to_tsvector", [pathOrNode(of)]).node;
  return call("ts_rank", [vector, call("websearch_to_tsquery", [operandNode(query)]).node], "float");
}

/** A function by its name, with fields or expressions as arguments: `fn<number>("similarity", "title", value("dun"))`. */
export function fn<T>(name: string, ...args: readonly (string | Expression<unknown, string>)[]): Expression<T> {
  if (!/^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?$/.test(name)) {
    throw new FieldError("the name of a function takes letters, digits and underscores, with a schema before a dot");
  }
  return call(name, args.map(pathOrNode));
}

export function rowNumber(): FunctionCall<number> {
  return windowCall("row_number", [], "integer");
}

export function rank(): FunctionCall<number> {
  return windowCall("rank", [], "integer");
}

export function denseRank(): FunctionCall<number> {
  return windowCall("dense_rank", [], "integer");
}

export function lag<const P extends string>(of: Of<P>, by = 1): FunctionCall<PathRef<P> | null, P> {
  return windowCall("lag", [pathOrNode(of), cast(operandNode(by), "integer")]);
}

export function lead<const P extends string>(of: Of<P>, by = 1): FunctionCall<PathRef<P> | null, P> {
  return windowCall("lead", [pathOrNode(of), cast(operandNode(by), "integer")]);
}

export function firstValue<const P extends string>(of: Of<P>): FunctionCall<PathRef<P>, P> {
  return windowCall("first_value", [pathOrNode(of)]);
}

export function lastValue<const P extends string>(of: Of<P>): FunctionCall<PathRef<P>, P> {
  return windowCall("last_value", [pathOrNode(of)]);
}

function windowCall<T, P extends string = never>(
  name: string,
  args: readonly ExpressionNode[],
  result?: CallNode["result"],
): FunctionCall<T, P> {
  return new FunctionCall<T, P>({ type: "call", name, args, aggregate: false, ...(result ? { result } : {}) });
}

function call<T, P extends string>(
  name: string,
  args: readonly ExpressionNode[],
  result?: CallNode["result"],
): Expression<T, P> {
  return new Expression<T, P>({ type: "call", name, args, aggregate: false, ...(result ? { result } : {}) });
}
