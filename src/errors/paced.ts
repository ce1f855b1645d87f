/** Kinds of errors whose number clients decide. */
export type PacedKind = "overload" | "unavailable";

const kinds = new WeakMap<object, PacedKind>();

/** Marks an error of which the log does not get a line for each: one in ten seconds for each kind. */
export function paced<E extends object>(error: E, kind: PacedKind): E {
  kinds.set(error, kind);
  return error;
}

export function pacedKind(error: object): PacedKind | undefined {
  return kinds.get(error);
}
