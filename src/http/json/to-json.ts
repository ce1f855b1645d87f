import { ValueError } from "../../kit/value-error.js";
import { findUnsettled, ignorePromises } from "./json-values.js";

/**
 * The JSON of a value, as it is sent. A bigint, which PostgreSQL gives for numbers beyond 2^53, becomes a string of its
 * digits, because clients would round a number. A Map becomes an object and a Set becomes a list.
 *
 * Promises, querysets and objects without JSON are errors here: the result of a handler may hold the first two.
 *
 * Plain values cost one JSON.stringify. Everything that it silently makes `{}` of leaves these two characters in the
 * text, so that the value is walked only where they occur; querysets have a `toJSON` that throws.
 */
export function toJson(value: unknown): string | undefined {
  const text = plainJson(value);
  if (text !== null) return text;
  const { copy, pending } = findUnsettled(value);
  const [first] = pending;
  if (first === undefined) return stringify(copy.value);
  ignorePromises(value);
  throw new ValueError(`${first.path} is a promise or a queryset, which has no JSON before it is awaited`);
}

/** The JSON of a value, or null if it has to be walked to find what JSON.stringify cannot write. */
export function plainJson(value: unknown): string | undefined | null {
  let text: string | undefined;
  try {
    text = stringify(value);
  } catch (error) {
    if (error instanceof UnsettledError) return null;
    ignorePromises(value);
    throw error;
  }
  return text?.includes("{}") ? null : text;
}

/** Thrown by the `toJSON` of a value that has no JSON before it is awaited. */
export class UnsettledError extends ValueError {}

export function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes("BigInt")) throw error;
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? item.toString() : item));
  }
}
