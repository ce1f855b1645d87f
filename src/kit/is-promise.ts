/** True for promises, and for other objects that can be awaited. */
export function isPromise<T = unknown>(value: unknown): value is Promise<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/**
 * An object that can be awaited, as a promise of this realm. The `then` of other objects may throw, return nothing, or
 * return an object that is no instance of Promise: their callers would continue without the result.
 */
export function asPromise<T>(value: PromiseLike<T>): Promise<T> {
  return value instanceof Promise ? value : Promise.resolve(value);
}
