import { describeError } from "../../errors/describe.js";
import { GraphQLError } from "./graphql-js.js";

const internal = new WeakSet<object>();

/** Marks an error of the program whose message may show its data, although its class is that of errors for clients. */
export function markInternal(error: unknown): unknown {
  if (typeof error === "object" && error !== null) internal.add(error);
  return error;
}

export function isInternal(error: unknown): boolean {
  return typeof error === "object" && error !== null && internal.has(error);
}

/** Whatever was thrown as an error of an operation. Members of a thrown value may throw, too. */
export function operationError(error: unknown): GraphQLError {
  try {
    if (error instanceof GraphQLError) return error;
    const originalError = error instanceof Error ? error : new Error(String(error));
    return new GraphQLError(originalError.message, { originalError });
  } catch {
    return operationError(new Error(describeError(error).message));
  }
}
