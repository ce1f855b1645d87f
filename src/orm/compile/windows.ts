import { FieldError } from "../errors.js";
import type { ConditionNode, ExpressionNode, Query } from "../nodes.js";
import { contains } from "./aggregation.js";

/** True if an expression or a condition contains a window function, which is computed after the rows were chosen. */
export function usesWindow(
  node: ExpressionNode | ConditionNode,
  annotations: Readonly<Record<string, ExpressionNode>>,
): boolean {
  return contains(node, annotations, ({ type }) => type === "window");
}

/**
 * Separates the conditions that are computed after window functions from the others: those on window functions, and those on the
 * rows that have them.
 */
export function splitByWindows({ where, windowsAfter, annotations }: Query): {
  windows: ConditionNode[];
  others: readonly ConditionNode[];
} {
  const before = windowsAfter ?? where.length;
  if (before === where.length && !where.some((condition) => usesWindow(condition, annotations)))
    return { windows: [], others: where };
  const windows: ConditionNode[] = where.slice(before);
  const others: ConditionNode[] = [];
  for (const condition of where.slice(0, before)) {
    const parts = condition.type === "and" ? condition.children : [condition];
    if (!usesWindow(condition, annotations)) others.push(condition);
    else for (const part of parts) (usesWindow(part, annotations) ? windows : others).push(part);
  }
  return { windows, others };
}

/** Refuses a call that would change the rows that a window function is computed over. */
export function refuseWindows({ windowsAfter }: Query, call: string): void {
  if (windowsAfter !== null) throw new FieldError(`${call} cannot follow a window function, which would change`);
}
