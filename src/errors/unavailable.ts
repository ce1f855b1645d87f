import { type HttpError, httpError } from "./http-error.js";
import { paced } from "./paced.js";
import { withoutStack } from "./without-stack.js";

/**
 * The error of a request that cannot be handled because a store or a service is away: 503. While it is away, every request
 * gets this error, so the log is paced. The cause has the stack.
 */
export function unavailable(cause?: unknown): HttpError {
  return paced(
    withoutStack(() => httpError("SERVICE_UNAVAILABLE", undefined, { cause })),
    "unavailable",
  );
}
