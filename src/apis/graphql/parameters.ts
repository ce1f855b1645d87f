import { isPlainObject } from "../../kit/options.js";
import { GraphQLError } from "./graphql-js.js";

/** The parameters of an operation, as a client sends them. */
export interface OperationParameters {
  readonly query: string | null;
  /** The id of a persisted operation. */
  readonly documentId: string | null;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>> | null;
  readonly extensions: Readonly<Record<string, unknown>> | null;
}

/** The reasons why an operation is not executed. */
export class Refusal {
  constructor(
    readonly errors: readonly GraphQLError[],
    /** True for a request that is no GraphQL request: its status is an error whatever type the client accepts. */
    readonly malformed = false,
  ) {}
}

export function malformed(message: string): Refusal {
  return new Refusal([new GraphQLError(message)], true);
}

/** Reads the parameters of a JSON body or of a `subscribe` message. */
export function readParameters(given: unknown): OperationParameters | Refusal {
  if (!isPlainObject(given)) return malformed("A GraphQL request is an object with a 'query'.");
  const { query = null, documentId = null, operationName = null, variables = null, extensions = null } = given;
  if (query !== null && typeof query !== "string") return malformed("'query' must be a string.");
  if (documentId !== null && typeof documentId !== "string") return malformed("'documentId' must be a string.");
  if (operationName !== null && typeof operationName !== "string") {
    return malformed("'operationName' must be a string.");
  }
  if (variables !== null && !isPlainObject(variables)) return malformed("'variables' must be an object.");
  if (extensions !== null && !isPlainObject(extensions)) return malformed("'extensions' must be an object.");
  return { query, documentId, operationName, variables, extensions };
}
