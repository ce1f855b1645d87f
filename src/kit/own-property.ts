/** Sets a property of a plain object under any name: an assignment to `__proto__` would set the prototype. */
export function setOwn<T>(target: Record<string, T>, name: string, value: T): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

/** True for an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
