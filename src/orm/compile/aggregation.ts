import type { ConditionNode, ExpressionNode } from "../nodes.js";
import { nodeOf } from "./operands.js";
import { resolvePath, type Scope } from "./scope.js";

type Annotations = Readonly<Record<string, ExpressionNode>>;
type Node = ExpressionNode | ConditionNode;

/** True if an expression or a condition, or one that it is made of, passes a test. */
export function contains(node: Node, annotations: Annotations, test: (node: Node) => boolean): boolean {
  return test(node) || partsOf(node, annotations).some((part) => contains(part, annotations, test));
}

/** What a node is made of. Windows, subqueries and values of rows are wholes. */
function partsOf(node: Node, annotations: Annotations): readonly Node[] {
  const named = (...names: readonly string[]): readonly Node[] => {
    const name = names.find((each) => Object.hasOwn(annotations, each));
    return name === undefined ? [] : [annotations[name]!];
  };
  switch (node.type) {
    case "call":
      return node.args;
    case "binary":
      return [node.left, node.right];
    case "cast":
    case "extract":
    case "truncate":
    case "isNull":
    case "expression":
      return [node.expression];
    case "case":
      return [
        ...node.branches.flatMap(({ when, value }) => [when, value]),
        ...(node.otherwise ? [node.otherwise] : []),
      ];
    case "condition":
      return [node.condition];
    case "path":
      return named(node.path, node.path.split("__", 1)[0]!);
    case "lookup": {
      const annotation = named(node.key.split("__", 1)[0]!);
      const value = nodeOf(node.value);
      return value === undefined ? annotation : [...annotation, value];
    }
    case "and":
    case "or":
      return node.children;
    case "not":
      return [node.child];
    default:
      return [];
  }
}

/**
 * True if an expression contains an aggregate, which needs several rows; a condition with one belongs in HAVING in a
 * grouped query. A window or a subquery around an aggregate does not count.
 */
export function isAggregate(node: Node, annotations: Annotations = {}): boolean {
  return contains(node, annotations, (each) => each.type === "call" && each.aggregate);
}

/** Separates the conditions on rows from those on groups. */
export function splitConditions(
  conditions: readonly ConditionNode[],
  scope: Scope,
): { rows: ConditionNode[]; groups: ConditionNode[] } {
  const rows: ConditionNode[] = [];
  const groups: ConditionNode[] = [];
  for (const condition of conditions) {
    if (!isAggregate(condition, scope.annotations)) rows.push(condition);
    else if (condition.type !== "and") groups.push(condition);
    else {
      // Those on the same relation stay together: they must hold for the same related row.
      const of = (isGroup: boolean) =>
        condition.children.filter((each) => isAggregate(each, scope.annotations) === isGroup);
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
export function aggregatesMany(node: Node, scope: Scope): boolean {
  if (node.type === "call" && node.aggregate)
    return node.args[0]?.type === "path" && resolvePath(scope, node.args[0].path).kind === "many";
  if (node.type === "case" || node.type === "condition") return true;
  return partsOf(node, {}).every((part) => aggregatesMany(part, scope));
}
