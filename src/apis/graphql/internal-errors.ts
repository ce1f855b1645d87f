const internal = new WeakSet<object>();

/** Marks an error of the program whose message may show its data, although its class is that of errors for clients. */
export function markInternal(error: unknown): unknown {
  if (typeof error === "object" && error !== null) internal.add(error);
  return error;
}

export function isInternal(error: unknown): boolean {
  return typeof error === "object" && error !== null && internal.has(error);
}
