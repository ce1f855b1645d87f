import { SqlFragment } from "../../engines/db/sql.js";
import { ValueError } from "../../internal/value-error.js";
import { FieldError } from "../errors.js";
import type { CallNode, ExpressionNode, OrderNode, Query } from "../nodes.js";
import { type Condition, conditionOf, type expressionMark } from "./q.js";

declare const result: unique symbol;
declare const paths: unique symbol;

/** The type of the field at the end of a path. It is resolved when the model is known. */
export interface PathRef<Path extends string> {
  readonly path: Path;
}

/** An operand of an expression: another expression, or a value. */
export type Operand = Expression<unknown, string> | string | number | bigint | boolean | Date | null;

/** A value that SQL computes: a field, a function, arithmetic. `Paths` are the fields that it reads. */
export class Expression<T = unknown, Paths extends string = never> {
  declare readonly [result]: T;
  declare readonly [paths]: Paths;
  declare readonly [expressionMark]: true;
  readonly node: ExpressionNode;

  constructor(node: ExpressionNode) {
    this.node = node;
  }

  plus<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>> {
    return this.#binary("+", other);
  }

  minus<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>> {
    return this.#binary("-", other);
  }

  times<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>> {
    return this.#binary("*", other);
  }

  dividedBy<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>> {
    return this.#binary("/", other);
  }

  modulo<O extends Operand>(other: O): Expression<T, Paths | PathsOf<O>> {
    return this.#binary("%", other);
  }

  /** Concatenates texts. The result is null if one of them is null. */
  append<O extends Operand>(other: O): Expression<string, Paths | PathsOf<O>> {
    return this.#binary("||", other) as unknown as Expression<string, Paths | PathsOf<O>>;
  }

  asc(options: { readonly nulls?: "first" | "last" } = {}): Ordering<Paths> {
    return new Ordering({ expression: this.node, descending: false, nulls: options.nulls });
  }

  desc(options: { readonly nulls?: "first" | "last" } = {}): Ordering<Paths> {
    return new Ordering({ expression: this.node, descending: true, nulls: options.nulls });
  }

  #binary<O extends Operand>(operator: string, other: O): Expression<T, Paths | PathsOf<O>> {
    return new Expression({ type: "binary", operator, left: this.node, right: operandNode(other) });
  }
}

/** An aggregate or window function. */
export class FunctionCall<T, Paths extends string = never> extends Expression<T, Paths> {
  declare readonly node: CallNode;

  /** Computes it only over rows for which the condition holds. */
  filter<C extends Condition>(condition: C): FunctionCall<T, Paths | PathsOf<C>> {
    if (!this.node.aggregate) throw new FieldError(`${this.node.name} is no aggregate and takes no filter`);
    return new FunctionCall({ ...this.node, filter: conditionOf(condition) });
  }

  /** Computes it over a window of rows instead of a group. */
  over<const P extends string = never>(window: Window<P> = {}): Expression<T, Paths | Unsigned<P>> {
    return new Expression({
      type: "window",
      expression: this.node,
      partitionBy: (window.partitionBy ?? []).map(pathOrNode),
      orderBy: (window.orderBy ?? []).map(orderNode),
      frame: window.frame === undefined ? undefined : checkFrame(window.frame),
    });
  }
}

type Unsigned<P extends string> = P extends `-${infer Name}` ? Name : P;

export interface Window<P extends string = string> {
  readonly partitionBy?: readonly (P | Expression<unknown, P>)[];
  /** `-` before a field means descending order. */
  readonly orderBy?: readonly (P | Ordering<P>)[];
  /** `rows between unbounded preceding and current row`. */
  readonly frame?: string;
}

export class Ordering<Paths extends string = never> {
  declare readonly [paths]: Paths;
  readonly node: OrderNode;

  constructor(node: OrderNode) {
    this.node = node;
  }
}

/** The part of a queryset that expressions need: a query that can be a subquery. */
export interface Subqueryable {
  readonly query: Query;
}

/** The type of an expression's result. */
export type ResultOf<E> = E extends { readonly [result]: infer T } ? T : never;
/** The fields that an expression reads. */
export type PathsOf<E> = E extends { readonly [paths]: infer P } ? P & string : never;

/** A field, for use in expressions: `F("stock").minus(1)`. */
export function F<const Path extends string>(path: Path): Expression<PathRef<Path>, Path> {
  return new Expression({ type: "path", path: checkPath(path) });
}

/** A value as an expression. */
export function value<T extends Operand>(given: T): Expression<T> {
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
export function pathOrNode(given: string | Expression<unknown, string>): ExpressionNode {
  return given instanceof Expression ? given.node : { type: "path", path: checkPath(given) };
}

export function orderNode(given: string | Ordering<string> | Expression<unknown, string>): OrderNode {
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
export function test<C extends Condition>(condition: C): Expression<boolean, PathsOf<C>> {
  return new Expression({ type: "condition", condition: conditionOf(condition) });
}
