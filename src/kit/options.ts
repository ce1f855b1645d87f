import { ValueError } from "./value-error.js";

declare const checked: unique symbol;

/** Returns a description of the allowed values if the value is not allowed, else undefined. `T` is the type of allowed values. */
export interface Check<T = unknown> {
  (value: unknown): string | undefined;
  /** For the compiler alone. */
  readonly [checked]?: T;
}

export const is = {
  string: expectation<string>("a string", (value) => typeof value === "string"),
  text: expectation<string>("a non-empty string", (value) => typeof value === "string" && value !== ""),
  boolean: expectation<boolean>("true or false", (value) => typeof value === "boolean"),
  // The type of a function, an object or anything else is that of the option: option<Handler>(is.function).
  function: expectation<never>("a function", (value) => typeof value === "function"),
  object: expectation<never>("an object", (value) => typeof value === "object" && value !== null),
  // The entries of a Map and of Headers are not its properties.
  record: expectation<never>(
    "an object of names and values",
    (value) => typeof value === "object" && value !== null && !(Symbol.iterator in value),
  ),
  signal: ((value) => {
    if (value instanceof AbortController) return "an AbortSignal: write controller.signal";
    const isSignal = typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;
    return isSignal ? undefined : "an AbortSignal";
  }) as Check<AbortSignal>,
  // Null is an option that is not given, unless it is a value.
  anything: expectation<never>("anything but null", (value) => value !== null),
  anythingOrNull: (() => undefined) as Check<never>,
  strings: expectation<readonly string[]>("a list of strings", (value) =>
    isList(value, (item) => typeof item === "string"),
  ),
  path: expectation<string>(
    "a path that begins with '/'",
    (value) => typeof value === "string" && value.startsWith("/"),
  ),
  integer: (min: number = Number.MIN_SAFE_INTEGER, max: number = Number.MAX_SAFE_INTEGER): Check<number> =>
    expectation(`an integer${rangeOf(min, max)}`, (value) => Number.isInteger(value) && inRange(value, min, max)),
  number: (min: number = -Infinity, max: number = Infinity): Check<number> =>
    expectation(`a number${rangeOf(min, max)}`, (value) => Number.isFinite(value) && inRange(value, min, max)),
  /** A bound, or none. */
  limit: (min: number): Check<number> =>
    expectation(
      `an integer of at least ${min}, or Infinity`,
      (value) => value === Infinity || (Number.isSafeInteger(value) && (value as number) >= min),
    ),
  oneOf: <const T extends readonly unknown[]>(...allowed: T): Check<T[number]> =>
    expectation(`one of ${allowed.map((item) => show(item)).join(", ")}`, (value) => allowed.includes(value)),
  list:
    <T>(item: Check<T>): Check<readonly T[]> =>
    (value) => {
      if (!Array.isArray(value)) return item(value) === undefined ? "a list: write [ ] around the value" : "a list";
      const wrong = value.map(item).find((allowed) => allowed !== undefined);
      return wrong === undefined ? undefined : `a list of which each item is ${wrong}`;
    },
  either:
    <T extends readonly unknown[]>(...checks: { readonly [I in keyof T]: Check<T[I]> }): Check<T[number]> =>
    (value) => {
      const refusals = checks.map((check) => check(value));
      return refusals.includes(undefined) ? undefined : refusals.join(", or ");
    },
};

export function checkOption(owner: string, name: string, value: unknown, check: Check): void {
  const allowed = check(value);
  if (allowed !== undefined)
    throw new ValueError(`option '${name}' in ${owner} must be ${allowed}, not ${show(value)}`);
}

/** Refuses a choice of what is removed that has lost its values: it would mean all. `given` is the filter as it was read. */
export function assertChoice(call: string, filter: unknown, given: object): void {
  if (filter === undefined || Object.keys(given).length > 0) return;
  if (isPlainObject(filter) && Object.keys(filter).length === 0) return;
  throw new ValueError(`${call} has a filter without a value: leave the filter out, or give {}, to remove all`);
}

export function required<T, K extends keyof T & string>(
  owner: string,
  options: Partial<T>,
  name: K,
): NonNullable<T[K]> {
  const value = options[name];
  if (value === undefined || value === null) throw new ValueError(`option '${name}' is required in ${owner}`);
  return value;
}

/** A value as an error message shows it: short, on one line. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (typeof value === "function") return value.name ? `the function ${value.name}` : "a function";
  if (Array.isArray(value))
    return value.length > 4 ? `a list of ${value.length} items` : `[${value.map(show).join(", ")}]`;
  if (typeof value === "object" && value !== null) return `an object (${value.constructor?.name ?? "Object"})`;
  return String(value);
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function expectation<T>(allowed: string, test: (value: unknown) => boolean): Check<T> {
  return (value) => (test(value) ? undefined : allowed);
}

function isList(value: unknown, test: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(test);
}

function inRange(value: unknown, min: number, max: number): boolean {
  return (value as number) >= min && (value as number) <= max;
}

function rangeOf(min: number, max: number): string {
  const low = min > Number.MIN_SAFE_INTEGER;
  const high = max < Number.MAX_SAFE_INTEGER;
  if (low && high) return ` from ${min} to ${max}`;
  if (low) return ` of at least ${min}`;
  return high ? ` of at most ${max}` : "";
}

/** The names, if there are few. */
export function listedNames(names: readonly string[]): string {
  return names.length === 0 || names.length > 12 ? "" : `; its options are ${names.join(", ")}`;
}
