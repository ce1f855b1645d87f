import type { GraphQLSchema, VariableDefinitionNode } from "graphql";
import { GraphQLError, getVariableValues } from "./graphql-js.js";

/** Characters of variables up to which each wrong value has its own error: graphql-js puts whole values into each. */
const shortVariables = 20_000;
/** Characters of the message of an error. */
const longestMessage = 2_000;

/** The variables of an operation as its definitions say, or the errors of those that are wrong. */
export function readVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  given: Readonly<Record<string, unknown>>,
  hideSuggestions: boolean,
): { readonly variables: Record<string, unknown> } | { readonly errors: readonly GraphQLError[] } {
  const maxErrors = roomLeft(given, shortVariables) < 0 ? 1 : 20;
  const { coerced, errors } = getVariableValues(schema, definitions, given, { maxErrors, hideSuggestions });
  return errors ? { errors: errors.map(shortened) } : { variables: coerced };
}

/** What is left of a number of characters after the texts, keys and values in a value; negative as soon as it is used up. */
function roomLeft(value: unknown, room: number): number {
  if (typeof value === "string") return room - value.length;
  if (typeof value !== "object" || value === null) return room - 1;
  let left = room;
  if (Array.isArray(value)) for (let i = 0; i < value.length && left >= 0; i++) left = roomLeft(value[i], left - 1);
  else {
    for (const key in value) {
      left = roomLeft((value as Record<string, unknown>)[key], left - key.length - 1);
      if (left < 0) break;
    }
  }
  return left;
}

function shortened(error: GraphQLError): GraphQLError {
  const { message, nodes, extensions } = error;
  if (message.length <= longestMessage) return error;
  return new GraphQLError(`${message.slice(0, longestMessage)}…`, { nodes, extensions });
}
