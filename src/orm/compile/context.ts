import type { ColumnType } from "../meta.js";
import type { ConditionNode, ExpressionNode, OrderNode, Query } from "../nodes.js";
import type { Scope } from "./scope.js";

/** What the parts of the compiler ask of one another. One context makes one statement. */
export interface Context {
  /** Adds a parameter; gives `$n`. */
  param(value: unknown): string;
  /** Adds a parameter that is made of the value of the lookup being compiled, and would be made so of any other. */
  bind(value: unknown, make: (value: unknown) => unknown): string;
  /** Adds a parameter that is the same whatever the values of lookups are. */
  constant(value: unknown): string;
  /** Says which lookup is being compiled. */
  lookup(node: ConditionNode): void;
  /** A name for one more table in the statement. */
  alias(): string;
  expression(node: ExpressionNode, scope: Scope): string;
  condition(node: ConditionNode, scope: Scope): string;
  order(nodes: readonly OrderNode[], scope: Scope): string;
  /** The type of an expression's value; undefined when it is not known. */
  typeOf(node: ExpressionNode, scope: Scope): ColumnType | undefined;
  /** The scope of a query inside of another, to find out types in it. */
  innerScope(query: Query, outer: Scope): Scope;
  /** A query inside of another, without parentheses. `shape`: its values, only its primary key, or just whether it has rows. */
  subselect(query: Query, outer: Scope, shape: "values" | "key" | "exists"): string;
}
