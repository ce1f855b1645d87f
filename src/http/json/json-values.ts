import { isPlainObject } from "../../kit/options.js";
import { setOwn } from "../../kit/own-property.js";
import { ValueError } from "../../kit/value-error.js";
import { discardLoose } from "../discard.js";
import { toResponseSymbol } from "../to-response-symbol.js";

type Key = string | number;
type Holder = Record<string, unknown>;

/** The copy of a value, and what has to be settled in it. */
export interface Unsettled {
  /** Its `value` is the value itself if nothing in it had to be replaced. */
  readonly root: { value: unknown };
  readonly pending: readonly Pending[];
}

/** A promise or a queryset inside a value. It stands in the copy until its result takes its place. */
export class Pending {
  readonly value: PromiseLike<unknown>;
  readonly #keys: readonly Key[];
  readonly #asJson: boolean;
  #put: (value: unknown) => void = () => {};

  constructor(value: PromiseLike<unknown>, keys: readonly Key[], asJson: boolean) {
    this.value = value;
    this.#keys = keys;
    this.#asJson = asJson;
  }

  /** Its place, for messages: `result.books[0]`. */
  get path(): string {
    return pathOf(this.#keys);
  }

  /** Puts the result in its place. The result can contain further pending values. */
  settle(result: unknown): readonly Pending[] {
    return walk(result, this.#keys, this.#asJson, this.#put);
  }

  /** Puts a converted value in its place, which may be pending. */
  static place(value: unknown, put: (value: unknown) => void): void {
    if (value instanceof Pending) value.#put = put;
    put(value);
  }
}

/**
 * Finds the pending values in a value, and replaces what JSON.stringify cannot write: a Map by an object, a Set by a list,
 * an object with a `toJSON` by its result, so that this runs once. Throws for objects without a JSON form, which
 * JSON.stringify would write as `{}` or by their inner state. Only what holds such values is copied.
 */
export function findUnsettled(value: unknown): Unsettled {
  return unsettledIn(value, true);
}

/** The same for a value that is not sent yet: everything but promises and querysets stays as it is. */
export function findPromises(value: unknown): Unsettled {
  return unsettledIn(value, false);
}

/** Each as soon as it resolves: a promise inside of its value can be rejected while the others are awaited. */
export async function settleAll(
  pending: readonly Pending[],
  settled: (value: PromiseLike<unknown>) => unknown = (value) => value,
): Promise<void> {
  await Promise.all(pending.map(async (each) => settleAll(each.settle(await settled(each.value)), settled)));
}

/** Takes the promises of a value that is not sent: an unhandled rejection ends the process. */
export function ignorePromises(pending: readonly Pending[]): void {
  for (const { value } of pending) if (value instanceof Promise) value.then(ignorePromisesIn, () => {});
}

function ignorePromisesIn(value: unknown): void {
  const found = new Walk([], true);
  found.convert(value);
  ignorePromises(found.pending);
}

const nothing: readonly Pending[] = [];

function unsettledIn(value: unknown, asJson: boolean): Unsettled {
  try {
    if (isPlain(value, maxPlainDepth)) return { root: { value }, pending: nothing };
  } catch {
    // A getter throws: the walk tells where, and finds the promises beside it.
  }
  return walkThrough(value, asJson);
}

function walkThrough(value: unknown, asJson: boolean): Unsettled {
  const root = { value };
  const pending = walk(value, [], asJson, (converted) => {
    root.value = converted;
  });
  return { root, pending };
}

/** Objects inside each other, up to which a value is looked at in the short way; a circle is found in the long one. */
const maxPlainDepth = 100;

/**
 * True if everything in a value is text, number, Date, list or plain object, as in most results: JSON.stringify writes it as it
 * is. This costs a fraction of a whole walk.
 */
function isPlain(value: unknown, depth: number): boolean {
  return typeof value === "object" ? value === null || holdsPlain(value, depth) : typeof value !== "function";
}

function holdsPlain(value: object, depth: number): boolean {
  if (Array.isArray(value)) {
    if (depth === 0 || hasJson(value)) return false;
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], depth - 1)) return false;
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    // A getter may give another promise to the walk that follows.
    if (value instanceof Promise) value.then(undefined, () => {});
    return (value as { toJSON?: unknown }).toJSON === Date.prototype.toJSON;
  }
  if (depth === 0) return false;
  // Its own `toJSON` or `then` is a function among its values.
  for (const key in value) if (!isPlain((value as Holder)[key], depth - 1)) return false;
  return true;
}

function walk(
  value: unknown,
  keys: readonly Key[],
  asJson: boolean,
  put: (value: unknown) => void,
): readonly Pending[] {
  const found = new Walk(keys, asJson);
  Pending.place(found.convert(value), put);
  if (found.failure === null) return found.pending;
  ignorePromises(found.pending);
  throw found.failure.error;
}

class Walk {
  readonly pending: Pending[] = [];
  /** The first error. The walk continues, to find all promises. */
  failure: { readonly error: unknown } | null = null;
  readonly #asJson: boolean;
  /** The way to the present value: its keys, and the objects above it. */
  readonly #keys: Key[];
  readonly #ancestors: object[] = [];

  constructor(keys: readonly Key[], asJson: boolean) {
    this.#keys = keys.slice();
    this.#asJson = asJson;
  }

  /** The value itself if nothing in it has to be replaced. */
  convert(value: unknown): unknown {
    if (!isReference(value)) return value;
    const { length } = this.#keys;
    const above = this.#ancestors.length;
    try {
      return this.#ofReference(value);
    } catch (error) {
      this.failure ??= { error };
      this.#keys.length = length;
      this.#ancestors.length = above;
      return null;
    }
  }

  #ofReference(value: object): unknown {
    if (this.#ancestors.includes(value)) {
      if (this.#asJson) throw new ValueError(`${pathOf(this.#keys)} is circular, which has no JSON`);
      return value;
    }
    if (isThenable(value) && (toResponseSymbol in value || !hasJson(value))) {
      const pending = new Pending(value, [...this.#keys], this.#asJson);
      this.pending.push(pending);
      return pending;
    }
    this.#ancestors.push(value);
    const converted = hasJson(value) ? this.#jsonOf(value) : this.#contentOf(value, false);
    this.#ancestors.pop();
    return converted;
  }

  #jsonOf(value: { toJSON(key: string): unknown }): unknown {
    if (!this.#asJson || value.toJSON === Date.prototype.toJSON) return value;
    const json = value.toJSON(String(this.#keys.at(-1) ?? ""));
    return json === value ? this.#contentOf(value, true) : this.convert(json);
  }

  /** With `copies`, a value without changes is copied too. */
  #contentOf(value: object, copies: boolean): unknown {
    if (Array.isArray(value)) return this.#listOf(value, copies);
    if (isPlainObject(value)) return this.#objectOf(value, copies);
    if (value instanceof Set) return this.#asJson ? this.#listOf([...value], false) : this.#setOf(value);
    if (value instanceof Map) {
      return this.#asJson ? this.#objectOf(mapObject(value, this.#keys), false) : this.#mapOf(value);
    }
    if (typeof value === "function") return this.#asJson ? undefined : value;
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return value;
    const isHidden = isWithoutJson(value);
    if (!this.#asJson) return isHidden ? value : this.#objectOf(value as Holder, false);
    if (isHidden || Object.keys(value).length === 0) {
      discardLoose(value);
      const cure =
        Symbol.asyncIterator in value ? "return a stream by itself" : "send its parts, or give it a toJSON method";
      throw new ValueError(`${pathOf(this.#keys)} is ${nameOf(value)}, which has no JSON: ${cure}`);
    }
    return this.#objectOf(value as Holder, copies);
  }

  #listOf(items: readonly unknown[], copies: boolean): readonly unknown[] {
    let copy: unknown[] | null = copies ? [...items] : null;
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      const converted = this.#member(i, item);
      if (Object.is(converted, item)) continue;
      copy ??= [...items];
      copy[i] = converted;
      if (!(converted instanceof Pending)) continue;
      const list = copy;
      Pending.place(converted, (settled) => {
        list[i] = settled;
      });
    }
    return copy ?? items;
  }

  #objectOf(object: Holder, copies: boolean): Holder {
    const keys = Object.keys(object);
    let copy: Holder | null = copies ? {} : null;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const item = object[key];
      const converted = this.#member(key, item);
      if (copy === null) {
        if (Object.is(converted, item)) continue;
        copy = this.#asJson ? {} : (Object.create(Object.getPrototypeOf(object)) as Holder);
        for (const before of keys.slice(0, i)) setOwn(copy, before, object[before]);
      }
      setOwn(copy, key, converted);
      if (!(converted instanceof Pending)) continue;
      const holder = copy;
      Pending.place(converted, (settled) => setOwn(holder, key, settled));
    }
    return copy ?? object;
  }

  #mapOf(map: ReadonlyMap<unknown, unknown>): ReadonlyMap<unknown, unknown> {
    const copy = new Map(map);
    const { length } = this.pending;
    for (const [key, item] of map) {
      Pending.place(this.#member(String(key), item), (settled) => copy.set(key, settled));
    }
    return this.pending.length === length ? map : copy;
  }

  #setOf(set: ReadonlySet<unknown>): ReadonlySet<unknown> {
    const items = [...set];
    const copy = new Set<unknown>();
    const { length } = this.pending;
    for (let i = 0; i < items.length; i++) {
      Pending.place(this.#member(i, items[i]), (settled) => {
        items[i] = settled;
        // Keeps the order.
        copy.clear();
        for (const item of items) copy.add(item);
      });
    }
    return this.pending.length === length ? set : copy;
  }

  #member(key: Key, value: unknown): unknown {
    if (!isReference(value)) return value;
    this.#keys.push(key);
    const converted = this.convert(value);
    this.#keys.pop();
    return converted;
  }
}

function pathOf(keys: readonly Key[]): string {
  return `result${keys.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("")}`;
}

function mapObject(map: ReadonlyMap<unknown, unknown>, keys: readonly Key[]): Holder {
  const object: Holder = {};
  for (const [key, item] of map) {
    if (typeof key !== "string" && typeof key !== "number" && typeof key !== "bigint") {
      throw new ValueError(
        `${pathOf(keys)} is a Map with a key that is ${nameOf(key)}; keys of an object in JSON are strings`,
      );
    }
    setOwn(object, String(key), item);
  }
  return object;
}

function isReference(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Objects with own properties that are not meant for a client. */
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
