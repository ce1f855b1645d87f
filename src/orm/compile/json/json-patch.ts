/** Changes of single keys of a JSON column: `update({ settings__theme: "dark" })`. */

import { FieldError } from "../../errors.js";
import { Expression } from "../../expressions/expression.js";
import * as columnTypes from "../../fields/column-types.js";
import type { ColumnMeta, ModelMeta } from "../../meta.js";
import type { Context } from "../context.js";
import { encodeNamed } from "../operands.js";
import { type Scope, shown, splitPath } from "../scope.js";

/** The value that removes a key from JSON: `update({ settings__theme: unset })`. */
export const unset: unique symbol = Symbol("unset");
export type Unset = typeof unset;

/** The new values of keys, as a tree. All changes of one column are one expression. */
export class JsonPatch {
  readonly #keys = new Map<string, Change>();

  constructor(private readonly name: string) {}

  set(path: readonly string[], value: unknown): void {
    const [key, ...rest] = path as [string, ...string[]];
    const known = this.#keys.get(key);
    const name = `${this.name}__${key}`;
    if (rest.length === 0) {
      if (known !== undefined) throw new FieldError(`${name} is given twice`);
      this.#keys.set(key, { value });
      return;
    }
    if (known !== undefined && !(known instanceof JsonPatch))
      throw new FieldError(`${name} and a key inside of it are both given`);
    const inner = known ?? new JsonPatch(name);
    this.#keys.set(key, inner);
    inner.set(rest, value);
  }

  /** The changed value of `sql`. Objects that are missing on the way to a new value are made; a scalar on the way is an error. */
  compile(sql: string, scope: Scope, context: Context): string {
    const removed = this.#removed();
    const removals = removed.map((path) => ` #- ARRAY[${path.map((key) => context.param(key)).join(", ")}]::text[]`);
    // PostgreSQL removes nothing where the way to a key ends early, but refuses a scalar as a whole.
    if (this.#isRemoval)
      return `CASE WHEN jsonb_typeof(${sql}) IN ('object', 'array') THEN ${sql}${removals.join("")} ELSE ${sql} END`;
    let result = `CASE WHEN ${sql} IS NULL OR ${sql} = 'null' THEN '{}'::jsonb ELSE ${sql} END`;
    if (removals.length > 0) result = `(${result})${removals.join("")}`;
    for (const [key, change] of this.#keys) {
      if (isRemoval(change)) continue;
      const path = `ARRAY[${context.param(key)}::text]`;
      const value =
        change instanceof JsonPatch
          ? change.compile(`(${sql} #> ${path})`, scope, context)
          : this.#value(key, change.value, scope, context);
      result = `jsonb_set(${result}, ${path}, ${value})`;
    }
    return result;
  }

  get #isRemoval(): boolean {
    return [...this.#keys.values()].every(isRemoval);
  }

  /** The paths of the keys to remove, except those beside new values below a key. */
  #removed(): string[][] {
    return [...this.#keys].flatMap(([key, change]) => {
      if (!isRemoval(change)) return [];
      return change instanceof JsonPatch ? change.#removed().map((path) => [key, ...path]) : [[key]];
    });
  }

  static isRemoval(change: Change): boolean {
    return change instanceof JsonPatch ? change.#isRemoval : change.value === unset;
  }

  #value(key: string, value: unknown, scope: Scope, context: Context): string {
    if (value instanceof Expression)
      return `coalesce(to_jsonb(${context.expression(value.node, scope)}), 'null'::jsonb)`;
    if (value === null) return "'null'::jsonb";
    return `${context.param(encodeNamed(`${this.name}__${key}`, columnTypes.json.encode!, value))}::jsonb`;
  }
}

type Change = JsonPatch | { readonly value: unknown };

/** True if a change only removes keys. */
function isRemoval(change: Change): boolean {
  return JsonPatch.isRemoval(change);
}

/** The JSON column and the keys that a name such as `settings__theme` leads to; undefined for other names. */
export function jsonKey(meta: ModelMeta, name: string): { column: ColumnMeta; keys: string[] } | undefined {
  if (!name.includes("__")) return undefined;
  const [head, ...keys] = splitPath(name) as [string, ...string[]];
  const column = meta.column(head);
  if (column === undefined) return undefined;
  if (column.type.kind !== "json") throw new FieldError(`${meta.name}.${column.name} is not JSON: it has no keys`);
  if (keys.length > 20) throw new FieldError(`${shown(name)} is more than 20 keys deep`);
  return { column, keys };
}
