import type { ConditionNode, ExpressionNode } from "../nodes.js";
import { nodeOf } from "./operands.js";
import { resolvePath, type Scope } from "./scope.js";

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
      if (Object.hasOwn(annotations, name) && isAggregate(annotations[name]!, annotations)) return true;
      const value = nodeOf(node.value);
      return value !== undefined && isAggregate(value, annotations);
    }
    case "and":
    case "or":
      return node.children.some((child) => usesAggregate(child, annotations));
    case "not":
      return usesAggregate(node.child, annotations);
    case "expression":
      return isAggregate(node.expression, annotations);
    case "member":
    case "keys":
    case "chosen":
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
  for (const condition of conditions) {
    if (!usesAggregate(condition, scope.annotations)) rows.push(condition);
    else if (condition.type !== "and") groups.push(condition);
    else {
      // Those on the same relation stay together: they must hold for the same related row.
      const of = (isGroup: boolean) =>
        condition.children.filter((each) => usesAggregate(each, scope.annotations) === isGroup);
      rows.push({ type: "and", children: of(false) });
      groups.push(...of(true));
    }
  }
  return { rows, groups };
}

/** True for a value that is the same in all rows. */
export function isConstant(node: ExpressionNode, { annotations }: Scope): boolean {
  if (node.type === "path") return Object.hasOwn(annotations, node.path) && annotations[node.path]!.type === "value";
  return node.type === "value";
}

/** True if all aggregates in an expression are over to-many relations of a row. */
export function aggregatesMany(node: ExpressionNode, scope: Scope): boolean {
  switch (node.type) {
    case "call":
      if (!node.aggregate)
        return node.args.every((arg) => !isAggregate(arg, scope.annotations) || aggregatesMany(arg, scope));
      return node.args[0]?.type === "path" && resolvePath(scope, node.args[0].path).kind === "many";
    case "binary":
      return [node.left, node.right].every(
        (each) => !isAggregate(each, scope.annotations) || aggregatesMany(each, scope),
      );
    case "cast":
    case "extract":
    case "truncate":
    case "isNull":
      return aggregatesMany(node.expression, scope);
    case "path":
      return true;
    default:
      return true;
  }
}
