import { FieldError } from "../errors.js";
import type { ConditionNode, ExpressionNode } from "../nodes.js";

declare const lookups: unique symbol;
/** A mark on the type of every expression. The property `node` is not enough: a column may have that name. */
export declare const expressionMark: unique symbol;

/** Lookups as an object: `{ year__gte: 2000 }`. All of them must hold. */
export type Lookups = Readonly<Record<string, unknown>>;

/** A condition that can be combined: `Q({ year: 2000 }).or({ year: null })`. `W` are the lookups in it. */
export interface Q<W = object> {
  readonly [lookups]: W;
  readonly condition: ConditionNode;
  and<const C extends readonly Condition[]>(...others: C): Q<W | LookupsOf<C[number]>>;
  or<const C extends readonly Condition[]>(...others: C): Q<W | LookupsOf<C[number]>>;
  not(): Q<W>;
}

/** The argument of `filter` and similar methods: lookups, a `Q`, or a boolean expression. */
export type Condition = Lookups | Q<object> | BooleanExpression;

interface BooleanExpression {
  readonly [expressionMark]: true;
  readonly node: ExpressionNode;
}

/** Anything made with `Q`. */
export interface AnyQ {
  readonly [lookups]: unknown;
}

export type LookupsOf<C> = C extends { readonly [lookups]: infer W } ? W : C extends BooleanExpression ? never : C;

interface QMaker {
  <const W extends Lookups>(where: W): Q<W>;
  /** All of the conditions. */
  and<const C extends readonly Condition[]>(...conditions: C): Q<LookupsOf<C[number]>>;
  /** At least one of the conditions. */
  or<const C extends readonly Condition[]>(...conditions: C): Q<LookupsOf<C[number]>>;
  /** The opposite of the condition; true if the condition is null. */
  not<const C extends Condition>(condition: C): Q<LookupsOf<C>>;
}

class QImplementation {
  readonly condition: ConditionNode;

  constructor(condition: ConditionNode) {
    this.condition = condition;
  }

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
