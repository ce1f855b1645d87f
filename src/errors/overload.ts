import { type HttpError, httpError } from "./http-error.js";
import { paced } from "./paced.js";
import { withoutStack } from "./without-stack.js";

/** The error of a request that is refused because there are too many: 503. It has no stack, and the log is paced. */
export function overloaded(detail?: string): HttpError {
  const error = withoutStack(() => httpError("SERVICE_UNAVAILABLE", detail, { headers: { "Retry-After": "1" } }));
  return paced(error, "overload");
}
