/** An error that may have others inside. Those of a cluster of ioredis have the error of a server. */
interface Outer {
  readonly lastNodeError?: unknown;
  readonly cause?: unknown;
}

/** The innermost cause of an error. A failed connection to several addresses of one name has one for each: the first. */
export function innermost(error: unknown): unknown {
  let inner = error;
  for (let depth = 0; depth < 12; depth++) {
    const first: unknown = inner instanceof AggregateError ? inner.errors[0] : undefined;
    const { lastNodeError, cause } = Object(inner) as Outer;
    const next = first ?? lastNodeError ?? cause;
    if (typeof next !== "object" || next === null) break;
    inner = next;
  }
  return inner;
}
