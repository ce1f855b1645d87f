import { type HttpError, httpError } from "./http-error.js";
import { withoutStack } from "./without-stack.js";

const overloads = new WeakSet<object>();

/**
 * The error of a request that is refused because there are too many: 503. Clients decide how many there are, so it has no
 * stack, and the log does not get a line for each.
 */
export function overloaded(detail?: string): HttpError {
  const error = withoutStack(() => httpError("SERVICE_UNAVAILABLE", detail, { headers: { "Retry-After": "1" } }));
  overloads.add(error);
  return error;
}

export function isOverload(error: object): boolean {
  return overloads.has(error);
}
