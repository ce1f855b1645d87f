import type { ColumnType } from "../../meta.js";
import { ListNumbers } from "../exact-numbers.js";
import { type BodyTraits, type Check, type ColumnCheck, finiteNumber, nullByte, Refusal } from "../refusal.js";

/** The refusal of null for types without their own message. */
export const notNull = new Refusal("value_error", "Input should not be null");

/** Any JSON value that PostgreSQL can store. */
export const jsonCheck: Check = (value, body) => unstorable(value, body) ?? value;

function unstorable(value: unknown, body: BodyTraits): Refusal | undefined {
  if (body.nulls && some(value, holdsNull)) return nullByte;
  return body.overflow && some(value, isInfinite) ? finiteNumber : undefined;
}

/**
 * True if `test` holds for a scalar, or for any key or scalar inside a list or object. The depth is already limited.
 */
function some(value: unknown, test: (value: unknown) => boolean): boolean {
  if (typeof value !== "object" || value === null) return test(value);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (some(value[i], test)) return true;
    return false;
  }
  return Object.entries(value).some(([key, item]) => test(key) || some(item, test));
}

function holdsNull(value: unknown): boolean {
  return typeof value === "string" && value.includes("\0");
}

function isInfinite(value: unknown): boolean {
  return typeof value === "number" && !Number.isFinite(value);
}

const invalid = new Refusal("value_error", "Input should be a valid value");

/**
 * Accepts the values that the type's own encoder accepts. The encoder's message may quote the input, so it is not used.
 */
export function customCheck(encode: ColumnType["encode"]): Check {
  return (value, body) => {
    const refusal = unstorable(value, body);
    if (refusal) return refusal;
    try {
      encode?.(value);
      return value;
    } catch {
      return invalid;
    }
  };
}

const listType = new Refusal("list_type", "Input should be a valid array");
const ragged = new Refusal("value_error", "Input should have lists of the same length");

/** A list in which every item passes its check. Items behind the last problem that a response lists are not checked. */
export function arrayCheck({ check, onNull, exact }: ColumnCheck, nested: boolean): Check {
  return (value, body) => {
    if (!Array.isArray(value)) return listType;
    let refused: Map<number, Refusal> | undefined;
    let problems = 0;
    const numbers = exact && body.source !== null ? new ListNumbers(body.source) : null;
    const list: unknown[] = [];
    for (let index = 0; index < value.length; index++) {
      const item: unknown = numbers === null ? value[index] : numbers.next(value[index]);
      const result = item === null ? onNull : check(item, body);
      if (!(result instanceof Refusal)) {
        if (refused === undefined) list.push(result);
        continue;
      }
      (refused ??= new Map()).set(index, result);
      problems += result.count;
      if (problems >= body.limit) break;
    }
    if (refused) return new Refusal(ragged.type, ragged.msg, refused, problems);
    return nested && !isRectangular(list as unknown[][]) ? ragged : list;
  };
}

/** PostgreSQL's arrays are rectangular: all inner lists have the same length. */
function isRectangular(lists: readonly (readonly unknown[])[]): boolean {
  return lists.every((list) => shape(list) === shape(lists[0]!));
}

function shape(list: readonly unknown[]): string {
  const [first] = list;
  return Array.isArray(first) ? `${list.length},${shape(first)}` : String(list.length);
}
