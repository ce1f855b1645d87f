import { FieldError } from "../errors.js";
import type { ConditionNode, ExpressionNode, Query } from "../nodes.js";
import { nodeOf } from "./operands.js";

type Annotations = Readonly<Record<string, ExpressionNode>>;

/** True if an expression contains a window function, which is computed after the rows were chosen. */
export function usesWindow(node: ExpressionNode, annotations: Annotations): boolean {
  switch (node.type) {
    case "window":
      return true;
    case "call":
      return node.args.some((arg) => usesWindow(arg, annotations));
    case "binary":
      return usesWindow(node.left, annotations) || usesWindow(node.right, annotations);
    case "cast":
    case "extract":
    case "truncate":
    case "isNull":
      return usesWindow(node.expression, annotations);
    case "case":
      return (
        node.branches.some(
          ({ when, value }) => conditionUsesWindow(when, annotations) || usesWindow(value, annotations),
        ) ||
        (node.otherwise !== undefined && usesWindow(node.otherwise, annotations))
      );
    case "condition":
      return conditionUsesWindow(node.condition, annotations);
    case "path":
      return annotationUsesWindow(node.path, annotations);
    default:
      return false;
  }
}

function conditionUsesWindow(node: ConditionNode, annotations: Annotations): boolean {
  switch (node.type) {
    case "lookup":
      return annotationUsesWindow(node.key, annotations) || valueUsesWindow(node.value, annotations);
    case "and":
    case "or":
      return node.children.some((child) => conditionUsesWindow(child, annotations));
    case "not":
      return conditionUsesWindow(node.child, annotations);
    case "expression":
      return usesWindow(node.expression, annotations);
    case "member":
    case "keys":
    case "chosen":
      return false;
  }
}

function annotationUsesWindow(path: string, annotations: Annotations): boolean {
  const name = path.split("__", 1)[0]!;
  return Object.hasOwn(annotations, name) && usesWindow(annotations[name]!, annotations);
}

function valueUsesWindow(value: unknown, annotations: Annotations): boolean {
  const node = nodeOf(value);
  return node !== undefined && usesWindow(node, annotations);
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
  if (before === where.length && !where.some((condition) => conditionUsesWindow(condition, annotations)))
    return { windows: [], others: where };
  const windows: ConditionNode[] = where.slice(before);
  const others: ConditionNode[] = [];
  for (const condition of where.slice(0, before)) {
    const parts = condition.type === "and" ? condition.children : [condition];
    if (!conditionUsesWindow(condition, annotations)) others.push(condition);
    else for (const part of parts) (conditionUsesWindow(part, annotations) ? windows : others).push(part);
  }
  return { windows, others };
}

/** Refuses a call that would change the rows that a window function is computed over. */
export function refuseWindows({ windowsAfter }: Query, call: string): void {
  if (windowsAfter !== null) throw new FieldError(`${call} cannot follow a window function, which would change`);
}
