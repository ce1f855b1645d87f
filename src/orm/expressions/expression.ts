import { SqlFragment } from "../../engines/db/sql/sql.js";
import { checkedOptions, type OptionsOf, option, options } from "../../kit/config.js";
import { type Check, is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { FieldError } from "../errors.js";
import type { CallNode, ExpressionNode, OrderNode, Query } from "../nodes.js";
import {
  type Condition,
  type ConditionsAt,
  type ConditionsOf,
  conditionOf,
  type expressionMark,
  type PathsOf,
  type Uses,
} from "./q.js";

declare const result: unique symbol;
declare const field: unique symbol;
declare const outerPath: unique symbol;

/** The type of the field at the end of a path. It is resolved when the model is known. */
export interface PathRef<Path extends string> {
  readonly path: Path;
}

const orderOptions = options("asc()", {
  /** The place of nulls. Default: that of PostgreSQL, which takes null for the largest value. */
  nulls: option(is.oneOf("first", "last")),
});

interface OrderOptions extends OptionsOf<typeof orderOptions.fields> {}

/** An expression of any type. */
export interface AnyExpression extends Uses<string, unknown> {
  readonly [result]: unknown;
  readonly [field]: unknown;
  readonly [expressionMark]: true;
  readonly node: ExpressionNode;
}

/** The argument of a function: the name of a field, or an expression. */
export type Argument<Paths extends string, X> = Paths | ExpressionOf<Paths, X>;

interface ExpressionOf<Paths extends string, X> extends Uses<Paths, X> {
  readonly [expressionMark]: true;
  readonly node: ExpressionNode;
}

/** An operand of an expression: another expression, or a value. */
export type Operand = AnyExpression | string | number | bigint | boolean | Date | null;

/** The members of an expression that only the compiler knows. */
interface Typed<T> {
  readonly [result]: T;
  /** The field whose type the expression has; never for other expressions. */
  readonly [field]: T extends PathRef<infer Path> ? Path : never;
  readonly [expressionMark]: true;
}

export interface Expression<T = unknown, Paths extends string = never, X = never> extends Typed<T>, Uses<Paths, X> {}

/**
 * A value that SQL computes: a field, a function, arithmetic. `Paths` are the fields that it reads, `X` the lookups in
 * it.
 */
export class Expression<T = unknown, Paths extends string = never, X = never> {
  constructor(readonly node: ExpressionNode) {}

  plus<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>, X | ConditionsOf<O>> {
    return this.#binary("+", other);
  }

  minus<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>, X | ConditionsOf<O>> {
    return this.#binary("-", other);
  }

  times<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>, X | ConditionsOf<O>> {
    return this.#binary("*", other);
  }

  dividedBy<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>, X | ConditionsOf<O>> {
    return this.#binary("/", other);
  }

  modulo<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>, X | ConditionsOf<O>> {
    return this.#binary("%", other);
  }

  /** Concatenates texts. The result is null if one of them is null. */
  append<O extends Operand>(other: O): Expression<string, Paths | PathsOf<O>, X | ConditionsOf<O>> {
    return this.#binary("||", other) as never;
  }

  asc(options?: OrderOptions): Ordering<Paths, X> {
    return new Ordering({
      expression: this.node,
      descending: false,
      nulls: options === undefined ? undefined : orderOptions.read([options]).nulls,
    });
  }

  desc(options?: OrderOptions): Ordering<Paths, X> {
    return new Ordering({
      expression: this.node,
      descending: true,
      nulls: options === undefined ? undefined : orderOptions.read([options], "desc()").nulls,
    });
  }

  #binary<O extends Operand>(operator: string, other: O): Expression<T, Paths | PathsOf<O>, X | ConditionsOf<O>> {
    return new Expression({ type: "binary", operator, left: this.node, right: operandNode(other) });
  }
}

/** An aggregate or window function. */
export class FunctionCall<T, Paths extends string = never, X = never> extends Expression<T, Paths, X> {
  declare readonly node: CallNode;

  /** Computes it only over rows for which the condition holds. */
  filter<const C extends Condition>(condition: C): FunctionCall<T, Paths, X | ConditionsAt<Paths, C>> {
    if (!this.node.aggregate) throw new FieldError(`${this.node.name} is no aggregate and takes no filter`);
    return new FunctionCall({ ...this.node, filter: conditionOf(condition) });
  }

  /** Computes it over a window of rows instead of a group. */
  over<const P extends string = never>(given?: Window<P>): Expression<T, Paths | Unsigned<P>, X> {
    const window = readWindow("over()", given);
    if (this.node.withinGroup) throw new FieldError(`${this.node.name} cannot be computed over a window`);
    return new Expression({
      type: "window",
      expression: this.node,
      partitionBy: (window.partitionBy ?? []).map(pathOrNode),
      orderBy: (window.orderBy ?? []).map(orderNode),
      frame: window.frame === undefined ? undefined : checkFrame(window.frame),
    });
  }
}

export const isOrder: Check<string | Ordering<string, unknown>> = (value) =>
  (typeof value === "string" && value !== "") || value instanceof Ordering || value instanceof Expression
    ? undefined
    : 'the name of a field, or an order such as F("year").desc()';

const readWindow = checkedOptions<Window>({
  partitionBy: is.list(is.either(is.text, is.object)),
  orderBy: is.list(isOrder),
  frame: is.text,
});

type Unsigned<P extends string> = P extends `-${infer Name}` ? Name : P;

export interface Window<P extends string = string> {
  readonly partitionBy?: readonly (P | ExpressionOf<P, unknown>)[];
  /** `-` before a field means descending order. */
  readonly orderBy?: readonly (P | Ordering<P, unknown>)[];
  /** `rows between unbounded preceding and current row`. */
  readonly frame?: string;
}

export interface Ordering<Paths extends string = never, X = never> extends Uses<Paths, X> {}

// biome-ignore lint/correctness/noUnusedVariables: the interface above uses them.
export class Ordering<Paths extends string = never, X = never> {
  constructor(readonly node: OrderNode) {}
}

export declare const rowType: unique symbol;
export declare const outerPaths: unique symbol;

/** A queryset that can be a subquery. `Row` is the type of its rows, `Outer` are the fields of the query around it. */
export interface Subquery<out Row = unknown, out Outer extends string = string> {
  readonly [rowType]: Row;
  readonly [outerPaths]: Outer;
  readonly query: Query;
}

/** The type of an expression's result. */
export type ResultOf<E> = E extends { readonly [result]: infer T } ? T : never;

/** An expression that fits a value of type `T`: the model has the fields that it reads, and their types can be compared. */
export interface Fitting<Fields extends string, Names extends string, Keys extends string>
  extends Uses<Names, { readonly keys: Keys }> {
  readonly [field]: Fields;
  readonly [expressionMark]: true;
  readonly node: ExpressionNode;
}

/** A field of the query around a subquery. */
export interface OuterField<Path extends string> extends Expression<unknown> {
  readonly [outerPath]: Path;
}

/** A field, for use in expressions: `F("stock").minus(1)`. */
export function F<const Path extends string>(path: Path): Expression<PathRef<Path>, Path> {
  return new Expression({ type: "path", path: checkPath(path) });
}

/** A field of the row that was to be inserted, in the update of a conflict: `F("count").plus(excluded("count"))`. */
export function excluded<const Path extends string>(path: Path): Expression<PathRef<Path>, Path> {
  return new Expression({ type: "excluded", path: checkPath(path) });
}

/** A value as an expression. */
export function value<T extends Operand>(given: T): Expression<T, PathsOf<T>, ConditionsOf<T>> {
  return new Expression(given instanceof Expression ? given.node : { type: "value", value: given });
}

/** An expression written in SQL: `` raw<number>(sql`ts_rank(...)`) ``. Values in `${}` become parameters. */
export function raw<T = unknown>(fragment: SqlFragment): Expression<T> {
  if (!(fragment instanceof SqlFragment)) throw new ValueError("raw takes a fragment made with the tag sql`...`");
  return new Expression({ type: "fragment", fragment });
}

/** Strings are values here: a field in arithmetic is written `F("name")`. */
export function operandNode(operand: Operand): ExpressionNode {
  return operand instanceof Expression ? operand.node : { type: "value", value: operand };
}

/** Strings are fields here, as in every function: `lower("title")`. */
export function pathOrNode(given: string | ExpressionOf<string, unknown>): ExpressionNode {
  return given instanceof Expression ? given.node : { type: "path", path: checkPath(given) };
}

export function orderNode(given: string | Ordering<string, unknown> | AnyExpression): OrderNode {
  if (given instanceof Ordering) return given.node;
  if (given instanceof Expression) return { expression: given.node, descending: false };
  if (given === "?")
    return { expression: { type: "call", name: "random", args: [], aggregate: false }, descending: false };
  const descending = typeof given === "string" && given.startsWith("-");
  return { expression: { type: "path", path: checkPath(descending ? given.slice(1) : given) }, descending };
}

export function checkPath(path: unknown): string {
  if (typeof path !== "string" || path === "") throw new FieldError("a field must be given by its name");
  return path;
}

/** A frame is part of the SQL text, so only the words of the grammar are accepted. */
function checkFrame(frame: string): string {
  const words =
    /^(?:rows|range|groups)\s+(?:between\s+)?(?:unbounded|current|\d+)\s+(?:preceding|following|row)(?:\s+and\s+(?:unbounded|current|\d+)\s+(?:preceding|following|row))?(?:\s+exclude\s+(?:current row|group|ties|no others))?$/i;
  if (!words.test(frame))
    throw new FieldError("a window's frame must be such as 'rows between 2 preceding and current row'");
  return frame;
}

/** The condition as an expression: true, false or null. */
export function test<const C extends Condition>(condition: C): Expression<boolean, PathsOf<C>, ConditionsOf<C>> {
  return new Expression({ type: "condition", condition: conditionOf(condition) });
}
