import type { ColumnType } from "../meta.js";
import type { ConditionNode, ExpressionNode, OrderNode, Query } from "../nodes.js";
import type { Scope } from "./scope.js";

/** The functions that the parts of the compiler share. One context compiles one statement. */
export interface Context {
  /** Adds a parameter; returns `$n`. */
  param(value: unknown): string;
  /**
   * Adds a parameter made from the value of the current lookup. `make` is called again for other values of the same
   * lookup.
   */
  bind(value: unknown, make: (value: unknown) => unknown): string;
  /** Adds a parameter that does not depend on the values of lookups. */
  constant(value: unknown): string;
  /** Sets the current lookup. */
  lookup(node: ConditionNode): void;
  /** A name for one more table in the statement. */
  alias(): string;
  expression(node: ExpressionNode, scope: Scope): string;
  condition(node: ConditionNode, scope: Scope): string;
  order(nodes: readonly OrderNode[], scope: Scope): string;
  /** The type of an expression's value; undefined when it is not known. */
  typeOf(node: ExpressionNode, scope: Scope): ColumnType | undefined;
  /** The scope of a subquery, to find the types in it. */
  innerScope(query: Query, outer: Scope): Scope;
  /** A subquery, without parentheses. `shape`: its values, only its primary key, of one or more columns, or only its existence. */
  subselect(query: Query, outer: Scope | null, shape: "values" | "key" | "row" | "exists"): string;
}
