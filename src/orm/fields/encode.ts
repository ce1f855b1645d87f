/**
 * Functions that convert a value to a parameter, or refuse it before anything is sent. Messages name the type, never
 * the text of the value.
 */

import { ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../engines/db/errors.js";
import { show } from "../../kit/options.js";

export function integer(min: number, max: number): (value: unknown) => number {
  return (value) => {
    const number = typeof value === "string" && /^[+-]?\d{1,15}$/.test(value) ? Number(value) : toNumber(value);
    if (number === undefined || !Number.isInteger(number)) throw wrongType("an integer", value);
    if (number < min || number > max) throw new ParameterRangeError(`expected an integer from ${min} to ${max}`);
    return number;
  };
}

const smallest = -(2n ** 63n);
const largest = 2n ** 63n - 1n;

export function bigInteger(value: unknown): string {
  const exact = toBigInt(value);
  if (exact === undefined) throw wrongType("a bigint or an integer", value);
  if (exact < smallest || exact > largest) {
    throw new ParameterRangeError("expected an integer of 64 bits");
  }
  return exact.toString();
}

function toBigInt(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") {
    // Above 2^53, a number can stand for several integers.
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw new ParameterRangeError("an integer above 2^53 must be given as a bigint");
    }
    return Number.isInteger(value) ? BigInt(value) : undefined;
  }
  return typeof value === "string" && /^[+-]?\d{1,40}$/.test(value) ? BigInt(value) : undefined;
}

export function float(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
  throw wrongType("a number", value);
}

/** Each digit can be matched in one way only. With `\d+\.?\d*`, a long text with a wrong end takes quadratic time. */
const decimalText = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?$|^NaN$/;

export function decimal(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  if (typeof value === "string" && decimalText.test(value)) return checkExponent(value);
  throw wrongType("a decimal number as a string, or a number", value);
}

/** PostgreSQL keeps up to 131072 digits before the point and 16383 after it. */
function checkExponent(text: string): string {
  const at = text.search(/[eE]/);
  if (at === -1) return text;
  const exponent = Number(text.slice(at + 1));
  const point = text.indexOf(".");
  const sign = text[0] === "-" || text[0] === "+" ? 1 : 0;
  const before = (point === -1 ? at : point) - sign + exponent;
  const after = (point === -1 ? 0 : at - point - 1) - exponent;
  if (before > 131_072 || after > 16_383) throw new ParameterRangeError("expected a smaller exponent");
  return text;
}

export function boolean(value: unknown): boolean {
  if (typeof value !== "boolean") throw wrongType("true or false", value);
  return value;
}

export function text(value: unknown): string {
  if (typeof value !== "string") throw wrongType("a string", value);
  return checkText(value);
}

/**
 * PostgreSQL stores neither U+0000 nor half a surrogate pair. They are refused here, so that a connection never sees
 * them.
 */
export function checkText(value: string): string {
  if (value.includes("\0")) throw new ParameterValueError("text must not contain U+0000");
  if (!value.isWellFormed()) throw new ParameterValueError("text must be well-formed Unicode");
  return value;
}

const uuidText = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

export function uuid(value: unknown): string {
  if (typeof value !== "string") throw wrongType("a UUID as a string", value);
  if (!uuidText.test(value)) throw new ParameterValueError("expected a UUID");
  return value;
}

export function json(value: unknown): string {
  let result: string | undefined;
  try {
    result = JSON.stringify(value, (_, item) => (typeof item === "bigint" ? item.toString() : item));
  } catch (cause) {
    throw new ParameterTypeError("expected a value that JSON can hold", { cause });
  }
  if (result === undefined) throw wrongType("a value that JSON can hold", value);
  // The match may be an escaped backslash before `u0000` or `ud800`, so the parsed values are checked.
  if (/\\u(?:0000|d[89a-f])/.test(result)) checkTexts(JSON.parse(result));
  return result;
}

/**
 * Checks all strings and keys of a JSON value without recursion: the value may be nested deeper than the call stack
 * allows.
 */
function checkTexts(json: unknown): void {
  const pending = [json];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string") checkJsonText(value);
    else if (typeof value === "object" && value !== null) {
      if (!Array.isArray(value)) for (const key of Object.keys(value)) checkJsonText(key);
      for (const item of Object.values(value)) pending.push(item);
    }
  }
}

function checkJsonText(text: string): void {
  if (text.includes("\0")) throw new ParameterValueError("JSON must not contain U+0000");
  if (!text.isWellFormed()) throw new ParameterValueError("JSON must be well-formed Unicode");
}

/** Accepts `Infinity`: PostgreSQL's `infinity` is read as this number. */
export function datetime(value: unknown): string {
  if (value instanceof Date) return dateText(value);
  if (value === Number.POSITIVE_INFINITY) return "infinity";
  if (value === Number.NEGATIVE_INFINITY) return "-infinity";
  if (typeof value === "string") {
    const date = new Date(value);
    if (Number.isNaN(date.getTime())) throw new ParameterValueError("expected a date and time in ISO 8601");
    // The text is sent unchanged: it may be more precise than milliseconds. A date alone is midnight UTC, as in
    // JavaScript.
    return /[T ]\d/.test(value) ? checkText(value) : date.toISOString();
  }
  throw wrongType("a Date or a string in ISO 8601", value);
}

function dateText(date: Date): string {
  const time = date.getTime();
  if (Number.isNaN(time)) throw new ParameterValueError("the Date is invalid");
  const iso = date.toISOString();
  if (iso[0] !== "+" && iso[0] !== "-") return iso;
  // toISOString writes years outside of 0 to 9999 with a sign and six digits, which PostgreSQL does not read.
  if (iso[0] === "+") return iso.slice(1).replace(/^0/, "");
  const year = -Number(iso.slice(0, 7)) + 1;
  return `${String(year).padStart(4, "0")}${iso.slice(7, -1)}+00 BC`;
}

export function localDatetime(value: unknown): string {
  if (typeof value !== "string") throw wrongType("a string such as 2024-01-31T12:00:00", value);
  if (!/^\d{4,6}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?$/.test(value)) {
    throw new ParameterValueError("expected a date and time without zone, such as 2024-01-31T12:00:00");
  }
  return value;
}

export function date(value: unknown): string {
  if (value instanceof Date) return dateText(value).slice(0, 10);
  if (typeof value !== "string") throw wrongType("a string such as 2024-01-31", value);
  if (!/^\d{4,6}-\d\d-\d\d$/.test(value)) throw new ParameterValueError("expected a date such as 2024-01-31");
  return value;
}

export function time(value: unknown): string {
  if (typeof value !== "string") throw wrongType("a string such as 12:34:56", value);
  if (!/^\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?$/.test(value)) {
    throw new ParameterValueError("expected a time such as 12:34:56");
  }
  return value;
}

export function interval(value: unknown): string {
  if (typeof value !== "string") throw wrongType("a duration in ISO 8601, such as P1DT2H", value);
  return checkText(value);
}

export function bytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw wrongType("a Uint8Array", value);
}

export function choice(choices: readonly string[]): (value: unknown) => string {
  return (value) => {
    if (typeof value !== "string") throw wrongType(`one of ${choices.join(", ")}`, value);
    if (!choices.includes(value)) throw new ParameterValueError(`expected one of ${choices.join(", ")}`);
    return value;
  };
}

/**
 * Writes an array literal of PostgreSQL. It is written here, because drivers disagree about arrays of strings, dates
 * and null.
 */
export function array(encodeItem: ((value: unknown) => unknown) | undefined): (value: unknown) => string {
  const literal = (items: readonly unknown[]): string => {
    let result = "{";
    for (let i = 0; i < items.length; i++) {
      if (i > 0) result += ",";
      const item = items[i];
      if (item === null || item === undefined) result += "NULL";
      else if (Array.isArray(item)) result += literal(item);
      else result += arrayItem(encodeItem ? encodeItem(item) : item);
    }
    return `${result}}`;
  };
  return (value) => {
    if (!Array.isArray(value)) throw wrongType("a list", value);
    return literal(value);
  };
}

function arrayItem(value: unknown): string {
  if (typeof value === "string") return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value).toString("hex")}"`;
  return String(value);
}

function toNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "bigint" ? Number(value) : undefined;
}

/** The message names the kind of the value. It does not quote numbers and strings of a client. */
export function wrongType(expected: string, value: unknown): ParameterTypeError {
  const given =
    value === null || value === undefined || typeof value === "boolean"
      ? String(value)
      : typeof value === "number"
        ? Number.isInteger(value)
          ? "a number"
          : Number.isFinite(value)
            ? "a number with a fractional part"
            : String(value)
        : typeof value === "object"
          ? Array.isArray(value)
            ? "a list"
            : show(value)
          : `a ${typeof value}`;
  return new ParameterTypeError(`expected ${expected}, not ${given}`);
}
