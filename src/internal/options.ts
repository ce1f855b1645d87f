import { camelCase, snakeCase } from "./names.js";
import { didYouMean } from "./suggest.js";
import { ValueError } from "./value-error.js";

/** Returns a description of the allowed values if the value is not allowed, else undefined. */
export type Check = (value: unknown) => string | undefined;

/** One check per field of the options `T`. */
export type Checks<T> = { readonly [K in keyof T]-?: Check };

export const is = {
  string: expectation("a string", (value) => typeof value === "string"),
  text: expectation("a non-empty string", (value) => typeof value === "string" && value !== ""),
  boolean: expectation("true or false", (value) => typeof value === "boolean"),
  function: expectation("a function", (value) => typeof value === "function"),
  object: expectation("an object", (value) => typeof value === "object" && value !== null),
  anything: (() => undefined) as Check,
  strings: expectation("a list of strings", (value) => isList(value, (item) => typeof item === "string")),
  path: expectation("a path that begins with '/'", (value) => typeof value === "string" && value.startsWith("/")),
  integer: (min: number = Number.MIN_SAFE_INTEGER, max: number = Number.MAX_SAFE_INTEGER): Check =>
    expectation(`an integer${rangeOf(min, max)}`, (value) => Number.isInteger(value) && inRange(value, min, max)),
  number: (min: number = -Infinity, max: number = Infinity): Check =>
    expectation(`a number${rangeOf(min, max)}`, (value) => Number.isFinite(value) && inRange(value, min, max)),
  oneOf: (...allowed: readonly unknown[]): Check =>
    expectation(`one of ${allowed.map((item) => show(item)).join(", ")}`, (value) => allowed.includes(value)),
  list:
    (item: Check): Check =>
    (value) => {
      if (!Array.isArray(value)) return item(value) === undefined ? "a list: write [ ] around the value" : "a list";
      const wrong = value.map(item).find((allowed) => allowed !== undefined);
      return wrong === undefined ? undefined : `a list of which each item is ${wrong}`;
    },
  either:
    (...checks: readonly Check[]): Check =>
    (value) => {
      const refusals = checks.map((check) => check(value));
      return refusals.includes(undefined) ? undefined : refusals.join(", or ");
    },
};

/**
 * Reads options given as an object in either spelling: every key must be known and every value allowed. A value that is
 * undefined counts as not given, and so does null where it is not a value of the option.
 */
export function readOptions<T extends object>(owner: string, given: unknown, checks: Checks<T>): Partial<T> {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new ValueError(`${owner} takes an object of options, not ${show(given)}`);
  }
  const options: Partial<T> = {};
  for (const [key, value] of Object.entries(given)) {
    const name = camelCase(key);
    if (!Object.hasOwn(checks, name)) {
      const known = spelledLike(key, checks);
      throw new ValueError(`unknown option '${key}' in ${owner}${didYouMean(key, known) || listed(known)}`);
    }
    const check = checks[name as keyof T];
    if (value === undefined || (value === null && check(null) !== undefined)) continue;
    checkOption(owner, key, value, check);
    options[name as keyof T] = value as T[keyof T];
  }
  return options;
}

/**
 * Reads a call that takes either one options object or the contract's positional arguments: `names` gives the order.
 * A first argument that is a plain object is taken as the options.
 */
export function readCall<T extends object>(
  owner: string,
  args: readonly unknown[],
  names: readonly (keyof T & string)[],
  checks: Checks<T>,
): Partial<T> {
  if (isPlainObject(args[0]) && args.length === 1) return readOptions(owner, args[0], checks);
  const given: Record<string, unknown> = {};
  args.forEach((value, index) => {
    const name = names[index];
    if (name === undefined) throw new ValueError(`${owner} takes at most ${names.length} arguments`);
    if (value !== undefined && value !== null) given[name] = value;
  });
  return readOptions(owner, given, checks);
}

export function checkOption(owner: string, name: string, value: unknown, check: Check): void {
  const allowed = check(value);
  if (allowed !== undefined)
    throw new ValueError(`option '${name}' in ${owner} must be ${allowed}, not ${show(value)}`);
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

function expectation(allowed: string, test: (value: unknown) => boolean): Check {
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
function listed(names: readonly string[]): string {
  return names.length === 0 || names.length > 12 ? "" : `; its options are ${names.join(", ")}`;
}

/** The known names, in the spelling the caller used. */
function spelledLike(key: string, checks: object): string[] {
  const names = Object.keys(checks);
  return key.includes("_") ? names.map(snakeCase) : names;
}
