import type { ConditionNode, ExpressionNode } from "../nodes.js";
import { type AnyExpression, Expression, type Operand, operandNode, type ResultOf } from "./expression.js";
import {
  type Condition,
  type ConditionsOf,
  conditionOf,
  type Given,
  type LookupObject,
  type PathsOf,
  type Suggestible,
} from "./q.js";

/** `when({ stock: 0 }, "sold out").when({ stock__lt: 5 }, "few left").otherwise("in stock")` */
export function when<const W extends LookupObject, T extends Operand>(
  lookups: W,
  then: T,
): Cases<Plain<T>, PathsOf<T>, Given<W> | ConditionsOf<T>>;
export function when<const C extends Condition, T extends Operand>(
  condition: C,
  then: T,
): Cases<Plain<T>, PathsOf<C | T>, ConditionsOf<C | T>>;
export function when(condition: Condition, then: Operand): Cases<unknown, string, unknown> {
  return new Cases<unknown>([]).when(condition, then);
}

/** Widens literal types: a case of texts has the type string, not the union of its texts. */
type Plain<T> = T extends string
  ? string
  : T extends number
    ? number
    : T extends boolean
      ? boolean
      : T extends AnyExpression
        ? ResultOf<T>
        : T;

interface Branch {
  readonly when: ConditionNode;
  readonly value: ExpressionNode;
}

// biome-ignore lint/correctness/noUnusedVariables: the class has the same type parameters.
export interface Cases<T, P extends string = never, X = never> extends Suggestible<X> {}

export class Cases<T, P extends string = never, X = never> extends Expression<T | null, P, X> {
  readonly #branches: readonly Branch[];

  constructor(branches: readonly Branch[]) {
    super({ type: "case", branches, otherwise: undefined });
    this.#branches = branches;
  }

  when<const C extends Condition, U extends Operand>(
    condition: C,
    then: U,
  ): Cases<T | Plain<U>, P | PathsOf<C | U>, X | ConditionsOf<C | U>> {
    return new Cases([...this.#branches, { when: conditionOf(condition), value: operandNode(then) }]);
  }

  otherwise<U extends Operand>(value: U): Expression<T | Plain<U>, P | PathsOf<U>, X | ConditionsOf<U>> {
    return new Expression({ type: "case", branches: this.#branches, otherwise: operandNode(value) });
  }
}
