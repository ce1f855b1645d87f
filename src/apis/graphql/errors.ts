import type { GraphQLFormattedError } from "graphql";
import { isInstance } from "../../errors/describe.js";
import { HttpError } from "../../errors/http-error.js";
import type { Request } from "../../http/request.js";
import { GraphQLError } from "./graphql-js.js";
import { isInternal } from "./internal-errors.js";

/**
 * The errors of a response as clients see them. Errors that the application threw for clients keep their messages:
 * `GraphQLError`, and `HttpError` with a status below 500, such as those of guards. Any other error is logged, and its
 * message is hidden if `mask` is true.
 */
export function formatErrors(
  errors: readonly GraphQLError[],
  request: Request,
  mask: boolean,
): readonly GraphQLFormattedError[] {
  return errors.map((error) => {
    const cause = rootOf(error);
    if (isInstance(cause, HttpError) && cause.status < 500) {
      return { ...placeOf(error), message: cause.message, extensions: { code: cause.code, status: cause.status } };
    }
    if (cause === undefined || (cause instanceof GraphQLError && !isInternal(cause))) return error.toJSON();
    request.log.error("a resolver failed", { error: cause, field: error.path?.join(".") });
    const extensions = { code: "INTERNAL_SERVER_ERROR", status: 500 };
    return { ...placeOf(error), message: mask ? "Internal Server Error" : error.message, extensions };
  });
}

/** The error that was thrown; undefined for an error of the document, which has none below it. */
function rootOf(error: GraphQLError): unknown {
  if (isInternal(error)) return error;
  let cause: unknown = error.originalError;
  while (cause instanceof GraphQLError && cause.originalError && !isInternal(cause)) cause = cause.originalError;
  return cause;
}

function placeOf({ path, locations }: GraphQLError): Pick<GraphQLFormattedError, "path" | "locations"> {
  return { ...(locations && { locations }), ...(path && { path }) };
}
