import type { FieldNode, GraphQLField, GraphQLObjectType, ValueNode } from "graphql";
import { getArgumentValues, isLeafType, isNonNullType } from "../graphql-js.js";
import { completionOf, needsInfo } from "./complete.js";
import { isFlat } from "./execute-fields.js";
import type { FieldPlan, HookedResolvers, Selection } from "./plan.js";
import { scalarOf } from "./scalar-text.js";

/** The plan of a field. It takes `slot` if its arguments depend on variables. */
export function fieldPlan(
  key: string,
  nodes: readonly FieldNode[],
  parentType: GraphQLObjectType,
  definition: GraphQLField<unknown, unknown>,
  selection: Selection,
  slot: number,
  hooked: HookedResolvers | null,
): FieldPlan {
  const { type } = definition;
  const nonNull = isNonNullType(type);
  const hasArguments = definition.args.length > 0;
  const constantArguments = hasArguments ? constantArgumentsOf(definition, nodes[0]!) : null;
  return {
    key,
    prefix: `${JSON.stringify(key)}:`,
    nextPrefix: `,${JSON.stringify(key)}:`,
    name: definition.name,
    definition,
    nodes,
    parentType,
    resolve: hooked?.get(definition) ?? definition.resolve ?? null,
    constantArguments,
    hasArguments,
    slot: hasArguments && constantArguments === null ? slot : -1,
    nonNull,
    scalar: scalarOf(nonNull ? type.ofType : type),
    leaf: isLeafType(nonNull ? type.ofType : type),
    needsInfo: needsInfo(type),
    selection,
    complete: completionOf(type, selection),
    streamed: nodes.length === 1 && nodes[0]!.directives?.some(({ name }) => name.value === "stream") === true,
  };
}

/** The arguments of a field without variables, if a shallow copy can stand for them; null for others. */
function constantArgumentsOf(
  definition: GraphQLField<unknown, unknown>,
  node: FieldNode,
): Readonly<Record<string, unknown>> | null {
  if (node.arguments?.some(({ value }) => hasVariable(value))) return null;
  try {
    const values = getArgumentValues(definition, node, {});
    return isFlat(values) ? values : null;
  } catch {
    // The error belongs to each execution.
    return null;
  }
}

function hasVariable(value: ValueNode): boolean {
  if (value.kind === "Variable") return true;
  if (value.kind === "ListValue") return value.values.some(hasVariable);
  return value.kind === "ObjectValue" && value.fields.some((field) => hasVariable(field.value));
}
