/** The rules of a field: one declaration for writes, bodies and JSON schemas. */

import { asPromise, isPromise } from "../../kit/is-promise.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { isLonger } from "../body/checks/text.js";
import { compareDecimals, readDecimal } from "../body/decimal-text.js";
import { Refusal } from "../body/refusal.js";
import type { ColumnType, JsonShape } from "../meta.js";

export interface Rules {
  readonly min?: Bound | undefined;
  readonly max?: Bound | undefined;
  readonly minLength?: number | undefined;
  readonly pattern?: RegExp | undefined;
  validate?(value: unknown): string | undefined;
}

type Bound = number | bigint | string;
type Rule = NonNullable<ColumnType["rule"]>;

/** The type with the rules of a field in its check and in its JSON schema. */
export function withRules(type: ColumnType, rules: Rules): ColumnType {
  const { min, max, minLength, pattern, validate } = rules;
  if (min !== undefined && max !== undefined && orderOf(min, max)! > 0) {
    throw new ValueError(`option 'min' (${min}) is greater than 'max' (${max})`);
  }
  if (pattern !== undefined && /[gy]/.test(pattern.flags)) {
    throw new ValueError(`option 'pattern' cannot have the flags g and y: ${show(String(pattern))}`);
  }
  const list = [
    min !== undefined && bound("greater_than_equal", `greater than or equal to ${min}`, min, (order) => order >= 0),
    max !== undefined && bound("less_than_equal", `less than or equal to ${max}`, max, (order) => order <= 0),
    minLength !== undefined && longEnough(minLength),
    pattern !== undefined && matching(pattern),
    validate !== undefined && valid(validate),
  ].filter((rule) => rule !== false);
  if (list.length === 0) return type;
  const rule: Rule = (value) => {
    for (const each of list) {
      const refusal = each(value);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  return { ...type, rule, json: { ...type.json, ...schemaOf(type, rules) } };
}

/** The refusal of a value that is to be written; `encoded` is its parameter. */
export function refusalOf(type: ColumnType, value: unknown, encoded: unknown): Refusal | undefined {
  const { item, kind, decode } = type;
  if (item !== undefined && Array.isArray(value)) {
    for (const each of value) {
      const refusal = each === null ? undefined : refusalOf(item, each, item.encode ? item.encode(each) : each);
      if (refusal !== undefined) return refusal;
    }
  }
  // Rules see what bodies produce and rows have: a Date for its text, a bigint for a number.
  const isAsGiven = item !== undefined || kind === "json" || kind === "custom";
  return type.rule?.(isAsGiven ? value : decode ? decode(encoded) : encoded);
}

/** True if values of the type have rules, or the items of a list have. */
export function hasRules({ rule, item }: ColumnType): boolean {
  return rule !== undefined || (item !== undefined && hasRules(item));
}

function bound(type: string, words: string, limit: Bound, holds: (order: number) => boolean): Rule {
  const refusal = new Refusal(type, `Input should be ${words}`);
  return (value) => {
    const order = orderOf(value as Bound, limit);
    return order !== undefined && holds(order) ? undefined : refusal;
  };
}

/** Undefined for NaN, which is neither. Exact for numbers of any length. */
function orderOf(a: Bound, b: Bound): number | undefined {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : a === b ? 0 : undefined;
  const [left, right] = [readDecimal(String(a)), readDecimal(String(b))];
  return left === undefined || right === undefined ? undefined : compareDecimals(left, right);
}

function longEnough(minLength: number): Rule {
  const characters = `${minLength} character${minLength === 1 ? "" : "s"}`;
  const refusal = new Refusal("string_too_short", `String should have at least ${characters}`);
  return (value) => (isLonger(value as string, minLength - 1) ? undefined : refusal);
}

function matching(pattern: RegExp): Rule {
  const refusal = new Refusal("string_pattern_mismatch", `String should match pattern '${pattern.source}'`);
  return (value) => (pattern.test(value as string) ? undefined : refusal);
}

function valid(validate: NonNullable<Rules["validate"]>): Rule {
  return (value) => {
    const problem: unknown = validate(value);
    if (problem === undefined) return undefined;
    if (typeof problem === "string") return new Refusal("value_error", problem);
    // No other code handles its rejection.
    if (isPromise(problem)) asPromise(problem).catch(() => {});
    throw new ValueError(`'validate' returns what is wrong as text, or undefined, not ${show(problem)}`);
  };
}

/** Bounds of 64-bit integers and decimals are left out: they are text in JSON. */
function schemaOf({ json }: ColumnType, { min, max, minLength, pattern }: Rules): Partial<JsonShape> {
  const isNumber = json.type === "integer" || json.type === "number";
  return {
    ...(isNumber && min !== undefined ? { minimum: Number(min) } : {}),
    ...(isNumber && max !== undefined ? { maximum: Number(max) } : {}),
    ...(minLength !== undefined ? { minLength } : {}),
    // Schemas have no flags. Those for Unicode are how schemas are read.
    ...(pattern !== undefined && !/[ims]/.test(pattern.flags) ? { pattern: pattern.source } : {}),
  };
}
