import { isPlainObject } from "../../kit/options.js";
import { setOwn } from "../../kit/own-property.js";
import { ValueError } from "../../kit/value-error.js";
import { toResponseSymbol } from "../to-response-symbol.js";

/** A promise or a queryset inside a value. */
export interface Pending {
  /** Its place, for messages: `result.books[0]`. */
  readonly path: string;
  readonly value: PromiseLike<unknown>;
  /** Puts the result in its place. The result can contain further pending values. */
  settle(value: unknown): Pending[];
}

/**
 * A copy of a value that JSON.stringify can write after all pending values have been settled: a Map as an object, a Set
 * as a list. Throws for objects without a JSON form, which JSON.stringify would write as `{}` or by their inner state.
 */
export function findUnsettled(value: unknown): { readonly copy: { value?: unknown }; readonly pending: Pending[] } {
  const pending: Pending[] = [];
  const copy: { value?: unknown } = {};
  walk(pending, copy, "value", "result", value);
  return { copy, pending };
}

/**
 * Takes the promises of a value that is not sent, because something beside them has no JSON: a rejection that nobody looks
 * at ends the process.
 */
export function ignorePromises(value: unknown): void {
  const found = new Set<unknown>([value]);
  // The set grows while it is walked.
  for (const each of found) {
    if (typeof each !== "object" || each === null) continue;
    if (each instanceof Promise) each.then(ignorePromises, () => {});
    else if (each instanceof Map || each instanceof Set || Array.isArray(each)) {
      for (const item of each.values()) found.add(item);
    } else if (isPlainObject(each)) {
      for (const { value: item } of Object.values(Object.getOwnPropertyDescriptors(each))) found.add(item);
    }
  }
}

type Holder = Record<string, unknown>;

class Walk {
  readonly #pending: Pending[];
  readonly #ancestors = new Set<object>();

  constructor(pending: Pending[]) {
    this.#pending = pending;
  }

  put(holder: Holder, key: string, path: string, value: unknown): void {
    if (typeof value !== "object" || value === null) {
      setOwn(holder, key, value);
      return;
    }
    if (this.#ancestors.has(value)) throw new ValueError(`${path} is circular, which has no JSON`);
    if (isThenable(value) && (toResponseSymbol in value || !hasJson(value))) {
      // Keeps the place among the other keys.
      setOwn<unknown>(holder, key, null);
      this.#pending.push({ path, value, settle: (settled) => putLater(holder, key, path, settled) });
      return;
    }
    this.#ancestors.add(value);
    const json = hasJson(value) ? value.toJSON(key) : value;
    if (json === value) setOwn(holder, key, this.#copyOf(value, path));
    else this.put(holder, key, path, json);
    this.#ancestors.delete(value);
  }

  #copyOf(value: object, path: string): unknown {
    if (Array.isArray(value)) return this.#listOf(value, path);
    if (value instanceof Set) return this.#listOf([...value], path);
    if (value instanceof Map) return this.#objectOf(mapEntries(value, path), path);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return value;
    const entries = Object.entries(value);
    const prototype: object | null = Object.getPrototypeOf(value);
    const isPlain = prototype === Object.prototype || prototype === null;
    if (!isPlain && (entries.length === 0 || isWithoutJson(value))) {
      throw new ValueError(
        `${path} is ${nameOf(value)}, which has no JSON: send its parts, or give it a toJSON method`,
      );
    }
    return this.#objectOf(entries, path);
  }

  #listOf(items: readonly unknown[], path: string): unknown[] {
    const list: unknown[] = [];
    for (let i = 0; i < items.length; i++) this.put(list as unknown as Holder, String(i), `${path}[${i}]`, items[i]);
    return list;
  }

  #objectOf(entries: Iterable<[string, unknown]>, path: string): Holder {
    const object: Holder = {};
    for (const [name, item] of entries) this.put(object, name, `${path}.${name}`, item);
    return object;
  }
}

function putLater(holder: Holder, key: string, path: string, value: unknown): Pending[] {
  const pending: Pending[] = [];
  walk(pending, holder, key, path, value);
  return pending;
}

function walk(pending: Pending[], holder: Holder, key: string, path: string, value: unknown): void {
  try {
    new Walk(pending).put(holder, key, path, value);
  } catch (error) {
    ignorePromises(value);
    throw error;
  }
}

function* mapEntries(map: ReadonlyMap<unknown, unknown>, path: string): Iterable<[string, unknown]> {
  for (const [key, item] of map) {
    if (typeof key !== "string" && typeof key !== "number" && typeof key !== "bigint") {
      throw new ValueError(`${path} is a Map with a key that is ${nameOf(key)}; keys of an object in JSON are strings`);
    }
    yield [String(key), item];
  }
}

/** Objects with properties of their own that are not meant for a client. */
function isWithoutJson(value: object): boolean {
  return (
    value instanceof Error || ArrayBuffer.isView(value) || Symbol.asyncIterator in value || toResponseSymbol in value
  );
}

function hasJson(value: object): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}

function isThenable(value: object): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown }).then === "function";
}

function nameOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return `a ${typeof value}`;
  const name = value.constructor === Object ? "" : value.constructor?.name;
  return `an object of class ${name || Object.prototype.toString.call(value).slice("[object ".length, -1)}`;
}
