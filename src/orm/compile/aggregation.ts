import type { ConditionNode, ExpressionNode } from "../nodes.js";
import type { Scope } from "./scope.js";

type Annotations = Readonly<Record<string, ExpressionNode>>;

/**
 * True if an expression contains an aggregate, which needs several rows. A window or a subquery around an aggregate
 * does not count.
 */
export function isAggregate(node: ExpressionNode, annotations: Annotations = {}): boolean {
  switch (node.type) {
    case "call":
      return node.aggregate || node.args.some((arg) => isAggregate(arg, annotations));
    case "binary":
      return isAggregate(node.left, annotations) || isAggregate(node.right, annotations);
    case "cast":
    case "extract":
    case "truncate":
    case "isNull":
      return isAggregate(node.expression, annotations);
    case "case":
      return (
        node.branches.some(({ when, value }) => usesAggregate(when, annotations) || isAggregate(value, annotations)) ||
        (node.otherwise !== undefined && isAggregate(node.otherwise, annotations))
      );
    case "condition":
      return usesAggregate(node.condition, annotations);
    case "path":
      return Object.hasOwn(annotations, node.path) && isAggregate(annotations[node.path]!, annotations);
    default:
      return false;
  }
}

/** True if a condition uses aggregates: in a grouped query it belongs in HAVING. */
export function usesAggregate(node: ConditionNode, annotations: Annotations): boolean {
  switch (node.type) {
    case "lookup": {
      const name = node.key.split("__", 1)[0]!;
      return Object.hasOwn(annotations, name) && isAggregate(annotations[name]!, annotations);
    }
    case "and":
    case "or":
      return node.children.some((child) => usesAggregate(child, annotations));
    case "not":
      return usesAggregate(node.child, annotations);
    case "expression":
      return isAggregate(node.expression, annotations);
    case "member":
      return false;
  }
}

/** Separates the conditions on rows from those on groups. */
export function splitConditions(
  conditions: readonly ConditionNode[],
  scope: Scope,
): { rows: ConditionNode[]; groups: ConditionNode[] } {
  const rows: ConditionNode[] = [];
  const groups: ConditionNode[] = [];
  for (const condition of conditions.flatMap((each) => (each.type === "and" ? each.children : [each]))) {
    (usesAggregate(condition, scope.annotations) ? groups : rows).push(condition);
  }
  return { rows: rows.length === 0 ? [] : [{ type: "and", children: rows }], groups };
}
