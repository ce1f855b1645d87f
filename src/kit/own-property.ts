/** Sets a property of a plain object under any name: an assignment to `__proto__` would set the prototype. */
export function setOwn<T>(target: Record<string, T>, name: string, value: T): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
