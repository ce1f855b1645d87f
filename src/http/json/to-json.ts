import { ValueError } from "../../kit/value-error.js";
import { findPromises, findUnsettled, ignorePromises, type Pending } from "./json-values.js";

/**
 * The JSON of a value, as it is sent. A bigint, which PostgreSQL gives for numbers beyond 2^53, becomes a string of its
 * digits, because clients would round a number. A Map becomes an object and a Set becomes a list.
 *
 * Promises, querysets and objects without JSON are errors here: the result of a handler may hold the first two.
 */
export function toJson(value: unknown): string | undefined {
  const { root, pending } = findUnsettled(value);
  refuse(pending);
  return stringify(root.value);
}

/** Throws for promises and querysets in a value that is about to be stored, where JSON.stringify would write `{}`. */
export function refusePromises(value: unknown): void {
  refuse(findPromises(value).pending);
}

function refuse(pending: readonly Pending[]): void {
  const [first] = pending;
  if (first === undefined) return;
  ignorePromises(pending);
  throw new ValueError(`${first.path} is a promise or a queryset, which has no JSON before it is awaited`);
}

export function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes("BigInt")) throw error;
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? item.toString() : item));
  }
}
