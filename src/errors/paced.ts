import { type HttpError, httpError } from "./http-error.js";
import { withoutStack } from "./without-stack.js";

/** Kinds of errors whose number clients decide. */
type PacedKind = "overload" | "unavailable";

const kinds = new WeakMap<object, PacedKind>();

/** Marks an error of which the log does not get a line for each: one in ten seconds for each kind. */
function paced<E extends object>(error: E, kind: PacedKind): E {
  kinds.set(error, kind);
  return error;
}

export function pacedKind(error: object): PacedKind | undefined {
  return kinds.get(error);
}

/** The error of a request that is refused because there are too many: 503. It has no stack, and the log is paced. */
export function overloaded(detail?: string): HttpError {
  const error = withoutStack(() => httpError("SERVICE_UNAVAILABLE", detail, { headers: { "Retry-After": "1" } }));
  return paced(error, "overload");
}

/**
 * The error of a request that cannot be handled because a store or a service cannot be reached: 503. During that time, every request
 * gets this error, so the log is paced. The cause has the stack.
 */
export function unavailable(cause?: unknown): HttpError {
  return paced(
    withoutStack(() => httpError("SERVICE_UNAVAILABLE", undefined, { cause })),
    "unavailable",
  );
}
