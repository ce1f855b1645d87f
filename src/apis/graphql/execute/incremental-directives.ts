import type { ASTVisitor, DirectiveNode, OperationDefinitionNode, ValidationContext } from "graphql";
import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLError,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLString,
  getNullableType,
  isListType,
} from "../graphql-js.js";

const condition = { type: new GraphQLNonNull(GraphQLBoolean), defaultValue: true };

export const deferDirective = new GraphQLDirective({
  name: "defer",
  description: "Sends the fields of the fragment after the result around them.",
  locations: [DirectiveLocation.FRAGMENT_SPREAD, DirectiveLocation.INLINE_FRAGMENT],
  args: { if: condition, label: { type: GraphQLString } },
});

export const streamDirective = new GraphQLDirective({
  name: "stream",
  description: "Sends the items of a list after the first ones.",
  locations: [DirectiveLocation.FIELD],
  args: {
    if: condition,
    label: { type: GraphQLString },
    initialCount: { type: new GraphQLNonNull(GraphQLInt), defaultValue: 0 },
  },
});

/** The rules of the draft: labels are unique texts, lists are streamed, and only what has no order is sent later. */
export function IncrementalRule(context: ValidationContext): ASTVisitor {
  const labels = new Set<string>();
  let operation: OperationDefinitionNode | null = null;
  const report = (message: string, node: DirectiveNode): void =>
    context.reportError(new GraphQLError(message, { nodes: node }));
  return {
    OperationDefinition(node) {
      operation = node;
    },
    FragmentDefinition() {
      operation = null;
    },
    Directive(node, _key, _parent, _path, ancestors) {
      const name = node.name.value;
      if (name !== "defer" && name !== "stream") return;
      const label = node.arguments?.find((each) => each.name.value === "label")?.value;
      if (label?.kind === "Variable") report(`The label of @${name} must be a text.`, node);
      else if (label?.kind === "StringValue") {
        if (labels.has(label.value)) report(`The label "${label.value}" is used twice.`, node);
        labels.add(label.value);
      }
      const parent = context.getParentType();
      const schema = context.getSchema();
      const isMutation = parent !== undefined && parent !== null && parent === schema.getMutationType();
      if (isMutation || parent === schema.getSubscriptionType() || operation?.operation === "subscription") {
        report(`@${name} cannot be used on fields of a mutation or in a subscription.`, node);
      }
      const field = context.getFieldDef();
      const isField = (ancestors.at(-1) as { kind?: string } | undefined)?.kind === "Field";
      if (name === "stream" && isField && field && !isListType(getNullableType(field.type))) {
        report("@stream can be used on lists only.", node);
      }
    },
  };
}
