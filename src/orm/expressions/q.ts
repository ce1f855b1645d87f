import { FieldError } from "../errors.js";
import type { ConditionNode, ExpressionNode } from "../nodes.js";

declare const paths: unique symbol;
declare const conditions: unique symbol;
declare const typed: unique symbol;
/** A mark on the type of every expression. The property `node` is not enough: a column may have that name. */
export declare const expressionMark: unique symbol;

/** Lookups as an object: `{ year__gte: 2000 }`. All of them must hold. */
export type Lookups = Readonly<Record<string, unknown>>;

/**
 * The names that an expression or a `Q` uses. They are checked when the model is known. `Paths` are fields, `Conditions`
 * are lookups.
 */
export interface Uses<Paths extends string, Conditions> {
  readonly [paths]: Paths;
  readonly [conditions]: Conditions;
}

/** A condition whose lookups editors complete: the compiler infers them from the type that a query expects. */
export interface Suggestible<X> {
  readonly [typed]?: X;
}

/**
 * Lookups as an object, for type parameters. A `Q` or an expression is none. Unlike `Lookups` it has no index signature:
 * the compiler would compare the type of every lookup of the model with it.
 */
export type LookupObject = object & { readonly [paths]?: never; readonly [conditions]?: never };

/** Lookups that start at the model of the query. */
export interface Given<W> {
  readonly keys: keyof W;
  readonly lookups: W;
}

/** Lookups that start where a path leads: those in the filter of an aggregate. */
export interface GivenAt<Path extends string, W> {
  readonly keys: never;
  readonly lookups: W;
  readonly path: Path;
}

/** The condition that a path leads to numbers. */
export interface Numbers<Path extends string> {
  readonly keys: never;
  readonly numbers: Path;
}

/** The fields that an expression reads. */
export type PathsOf<E> = E extends { readonly [paths]: infer P } ? P & string : never;
/** The lookups in an expression or a condition. */
export type ConditionsOf<C> = C extends { readonly [conditions]: infer X } ? X : C extends Operable ? never : Given<C>;
/** The lookups in the filter of an aggregate over a path. */
export type ConditionsAt<Path extends string, C> =
  ConditionsOf<C> extends infer X ? (X extends { readonly lookups: infer W } ? GivenAt<Path, W> : never) : never;
type Operable = string | number | bigint | boolean | Date | null;

/** A condition that can be combined: `Q({ year: 2000 }).or({ year: null })`. */
export interface Q<X = unknown, P extends string = string> extends Uses<P, X>, Suggestible<X> {
  readonly condition: ConditionNode;
  and<const C extends readonly Condition[]>(...others: C): Q<X | ConditionsOf<C[number]>, P | PathsOf<C[number]>>;
  or<const C extends readonly Condition[]>(...others: C): Q<X | ConditionsOf<C[number]>, P | PathsOf<C[number]>>;
  not(): Q<X, P>;
}

/** The argument of `filter` and similar methods: lookups, a `Q`, or a boolean expression. */
export type Condition = Lookups | Q | BooleanExpression;

interface BooleanExpression {
  readonly [expressionMark]: true;
  readonly node: ExpressionNode;
}

interface QMaker {
  <const W extends LookupObject>(where: W): Q<Given<W>, never>;
  /** All of the conditions. */
  and<const V extends LookupObject, const W extends LookupObject>(first: V, second: W): Q<Given<V> | Given<W>, never>;
  and<const C extends readonly Condition[]>(...conditions: C): Q<ConditionsOf<C[number]>, PathsOf<C[number]>>;
  /** At least one of the conditions. */
  or<const V extends LookupObject, const W extends LookupObject>(first: V, second: W): Q<Given<V> | Given<W>, never>;
  or<const C extends readonly Condition[]>(...conditions: C): Q<ConditionsOf<C[number]>, PathsOf<C[number]>>;
  /** The opposite of the condition; true if the condition is null. */
  not<const W extends LookupObject>(lookups: W): Q<Given<W>, never>;
  not<const C extends Condition>(condition: C): Q<ConditionsOf<C>, PathsOf<C>>;
}

class QImplementation {
  constructor(readonly condition: ConditionNode) {}

  and(...others: readonly Condition[]): QImplementation {
    return new QImplementation({ type: "and", children: [this.condition, ...others.map(conditionOf)] });
  }

  or(...others: readonly Condition[]): QImplementation {
    return new QImplementation({ type: "or", children: [this.condition, ...others.map(conditionOf)] });
  }

  not(): QImplementation {
    return new QImplementation({ type: "not", child: this.condition });
  }
}

export const Q: QMaker = Object.assign((where: Lookups) => make(conditionOf(where)), {
  and: (...conditions: readonly Condition[]) => make({ type: "and", children: conditions.map(conditionOf) }),
  or: (...conditions: readonly Condition[]) => make({ type: "or", children: conditions.map(conditionOf) }),
  not: (condition: Condition) => make({ type: "not", child: conditionOf(condition) }),
}) as QMaker;

function make(condition: ConditionNode): never {
  return new QImplementation(condition) as never;
}

/** Reads lookups from own keys only. They are checked against the model when the query is compiled. */
export function conditionOf(given: unknown): ConditionNode {
  if (given instanceof QImplementation) return given.condition;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new FieldError("a condition must be an object of lookups, a Q or an expression");
  }
  if ("node" in given && !isPlain(given)) {
    return { type: "expression", expression: (given as BooleanExpression).node };
  }
  if (!isPlain(given)) throw new FieldError("a condition must be a plain object of lookups, a Q or an expression");
  const keys = Object.keys(given);
  if (keys.length === 1) return lookup(given, keys[0]!);
  return { type: "and", children: keys.map((key) => lookup(given, key)) };
}

function lookup(given: object, key: string): ConditionNode {
  const value = (given as Record<string, unknown>)[key];
  if (value === undefined)
    throw new FieldError(`the value of ${JSON.stringify(key)} is undefined; use null, or leave it out`);
  return { type: "lookup", key, value };
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || prototype === null;
}
