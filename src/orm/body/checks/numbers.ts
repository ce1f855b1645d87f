import type { ColumnType } from "../../meta.js";
import { decimalPlaces, decimalString, readDecimal, toBigInt, wholeDigits } from "../decimal-text.js";
import { NumberText } from "../exact-numbers.js";
import { type Check, finiteNumber, Refusal } from "../refusal.js";

const intType = new Refusal("int_type", "Input should be a valid integer");
const intParsing = new Refusal("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
const intFromFloat = new Refusal(
  "int_from_float",
  "Input should be a valid integer, got a number with a fractional part",
);

/** The white space that Rust trims: pydantic is written in Rust. `trim` also removes U+FEFF, but not U+0085. */
const space = "[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]*";
const integerText = new RegExp(`^${space}([+-]?)(\\d[\\d_]*)(?:\\.0+)?${space}$`);

/** The sign and the digits. Underscores stand alone between digits; a repeated group for them would overflow the stack. */
function integerDigits(text: string): string | null {
  const [, sign, digits] = integerText.exec(text) ?? [];
  if (digits === undefined || digits.includes("__") || digits.endsWith("_")) return null;
  return sign + digits.replaceAll("_", "");
}

interface Bounds {
  readonly low: Refusal;
  readonly high: Refusal;
}

function boundsOf(min: number | bigint, max: number | bigint): Bounds {
  return {
    low: new Refusal("greater_than_equal", `Input should be greater than or equal to ${min}`),
    high: new Refusal("less_than_equal", `Input should be less than or equal to ${max}`),
  };
}

/** An integer of 16 or 32 bits, as a number. */
export function integerCheck(range: NonNullable<ColumnType["range"]>): Check {
  const [min, max] = [Number(range.min), Number(range.max)];
  const { low, high } = boundsOf(min, max);
  const bounded = (number: number): unknown => (number > max ? high : number < min ? low : number + 0);
  return (value) => {
    if (typeof value === "number") {
      return Number.isInteger(value) || !Number.isFinite(value) ? bounded(value) : intFromFloat;
    }
    if (typeof value === "boolean") return Number(value);
    if (typeof value !== "string") return intType;
    const digits = integerDigits(value);
    // A text too long for an exact double is far outside every range.
    return digits === null ? intParsing : bounded(Number(digits));
  };
}

const shortInteger = /^-?\d{1,18}$/;

/** An integer of 64 bits, as a bigint. It is exact, whether it is sent as a number or as a string. */
export function bigIntegerCheck(range: NonNullable<ColumnType["range"]>): Check {
  const [min, max] = [BigInt(range.min), BigInt(range.max)];
  const { low, high } = boundsOf(min, max);
  const most = max.toString().length;
  const bounded = (integer: bigint): unknown => (integer > max ? high : integer < min ? low : integer);
  const read = (text: string): unknown => {
    // Most end here: `BigInt` is faster than the digits one by one.
    if (shortInteger.test(text)) return bounded(BigInt(text));
    const decimal = readDecimal(text)!;
    if (decimalPlaces(decimal) > 0) return intFromFloat;
    if (wholeDigits(decimal) > most) return decimal.negative ? low : high;
    return bounded(toBigInt(decimal));
  };
  return (value) => {
    if (typeof value === "number") {
      if (Number.isSafeInteger(value)) return BigInt(value);
      if (!Number.isFinite(value)) return value > 0 ? high : low;
      return read(String(value));
    }
    if (typeof value === "boolean") return BigInt(value);
    if (value instanceof NumberText) return read(value.text);
    if (typeof value !== "string") return intType;
    const digits = integerDigits(value);
    return digits === null ? intParsing : read(digits);
  };
}

const floatType = new Refusal("float_type", "Input should be a valid number");
const floatParsing = new Refusal("float_parsing", "Input should be a valid number, unable to parse string as a number");
const floatText = new RegExp(`^${space}([+-]?(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?)${space}$`);
const notFinite = new RegExp(`^${space}[+-]?(?:inf|infinity|nan)${space}$`, "i");
const maxReal = 3.4028234663852886e38;
const realBounds = boundsOf(-maxReal, maxReal);

/** A double, or a `real` of 32 bits. NaN and infinity are refused: JSON cannot represent them in a response. */
export function floatCheck(real: boolean): Check {
  const bounded = (number: number): unknown => {
    if (!Number.isFinite(number)) return finiteNumber;
    if (!real) return number;
    const rounded = Math.fround(number);
    if (!Number.isFinite(rounded)) return number > 0 ? realBounds.high : realBounds.low;
    return rounded === 0 ? 0 : number;
  };
  return (value) => {
    if (typeof value === "number") return bounded(value);
    if (typeof value === "boolean") return Number(value);
    if (typeof value !== "string") return floatType;
    const match = floatText.exec(value) ?? floatText.exec(withoutUnderscores(value));
    if (match !== null) return bounded(Number(match[1]));
    return notFinite.test(value) ? finiteNumber : floatParsing;
  };
}

/** Removes single underscores between other characters. A text with spaces is left unchanged. */
function withoutUnderscores(text: string): string {
  return /^_|__|_$|[^\d_.eE+-]/.test(text) ? text : text.replaceAll("_", "");
}

const trimming = new RegExp(`^${space}|(?<!${space.slice(0, -1)})${space}$`, "g");

const boolType = new Refusal("bool_type", "Input should be a valid boolean");
const boolParsing = new Refusal("bool_parsing", "Input should be a valid boolean, unable to interpret input");
const booleans = new Map<unknown, boolean>([
  ...["1", "t", "y", "on", "yes", "true", 1].map((text): [unknown, boolean] => [text, true]),
  ...["0", "f", "n", "no", "off", "false", 0].map((text): [unknown, boolean] => [text, false]),
]);

export const booleanCheck: Check = (value) => {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") {
    // pydantic reads only integers of 64 bits as a boolean.
    if (!Number.isInteger(value) || Math.abs(value) >= 2 ** 63) return boolType;
    return booleans.get(value) ?? boolParsing;
  }
  if (typeof value !== "string") return boolType;
  return booleans.get(value.length > 5 ? value : asciiLower(value)) ?? boolParsing;
};

/** `toLowerCase` would also convert U+212A, the Kelvin sign, to `k`. */
function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const decimalType = new Refusal("decimal_type", "Decimal input should be an integer, float, string or Decimal object");
const decimalParsing = new Refusal("decimal_parsing", "Input should be a valid decimal");
const plainDecimal = /^-?(?:0|[1-9]\d{0,99})(?:\.\d{1,99})?$/;
const decimalNotFinite = /^[+-]?(?:inf|infinity|s?nan\d*)$/i;
/** PostgreSQL's limits for a `numeric` without precision: digits before and after the decimal point. */
const [maxWhole, maxPlaces] = [131_072, 16_383];

/**
 * An exact decimal, as a string. A value with more decimal places than the column is refused: PostgreSQL would round
 * it.
 */
export function decimalCheck(precision: number | undefined, scale: number | undefined): Check {
  // In PostgreSQL numeric(5) is numeric(5, 0).
  const places = precision === undefined ? maxPlaces : (scale ?? 0);
  const whole = precision === undefined ? maxWhole : Math.max(0, precision - places);
  const tooManyDigits = new Refusal(
    "decimal_max_digits",
    `Decimal input should have no more than ${count(precision ?? 0, "digit")} in total`,
  );
  const tooManyPlaces = new Refusal(
    "decimal_max_places",
    `Decimal input should have no more than ${count(places, "decimal place")}`,
  );
  const tooManyWhole = new Refusal(
    "decimal_whole_digits",
    `Decimal input should have no more than ${count(whole, "digit")} before the decimal point`,
  );
  return (value) => {
    const text = decimalSource(value);
    if (text === undefined) return decimalType;
    const isPlain = plainDecimal.test(text);
    // Here a sign and zeros count as digits: what has few enough of them needs no closer look.
    const point = isPlain ? text.indexOf(".") : 0;
    if (isPlain && (point < 0 ? text.length <= whole : point <= whole && text.length - point - 1 <= places))
      return text;
    const decimal = readDecimal(text);
    if (decimal === undefined) return decimalNotFinite.test(text) ? finiteNumber : decimalParsing;
    const [before, after] = [wholeDigits(decimal), decimalPlaces(decimal)];
    if (precision !== undefined && before + after > precision) return tooManyDigits;
    if (after > places) return tooManyPlaces;
    if (before > whole) return tooManyWhole;
    // Trailing zeros are kept: for the client, a price of 12.50 is not the same as 12.5.
    return isPlain ? text : decimalString(decimal);
  };
}

function decimalSource(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  if (value instanceof NumberText) return value.text;
  if (typeof value !== "string") return undefined;
  return value.replace(trimming, "").replaceAll("_", "");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
