/** A decimal number without loss: its value is `digits` times ten to the power of `exponent`. */
export interface DecimalText {
  readonly negative: boolean;
  /** Without zeros at either end; empty for zero. */
  readonly digits: string;
  readonly exponent: number;
}

const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** Reads a number in the form of JSON, JavaScript or Python; undefined if the text is not a number. */
export function readDecimal(text: string): DecimalText | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", power = "0"] = match;
  if (whole === "" && fraction === "") return undefined;
  const all = whole + fraction;
  let start = 0;
  let end = all.length;
  while (start < end && all.charCodeAt(start) === zero) start++;
  while (end > start && all.charCodeAt(end - 1) === zero) end--;
  const negative = sign === "-";
  if (start === end) return { negative, digits: "", exponent: 0 };
  return { negative, digits: all.slice(start, end), exponent: Number(power) - fraction.length + all.length - end };
}

const zero = 0x30;

/** Digits before the decimal point. */
export function wholeDigits({ digits, exponent }: DecimalText): number {
  return Math.max(0, digits.length + exponent);
}

/** Digits after the decimal point. */
export function decimalPlaces({ exponent }: DecimalText): number {
  return Math.max(0, -exponent);
}

/** Negative, zero or positive, as for `sort`. */
export function compareDecimals(a: DecimalText, b: DecimalText): number {
  const [sign, other] = [signOf(a), signOf(b)];
  if (sign !== other || sign === 0) return sign - other;
  const size = a.digits.length + a.exponent - b.digits.length - b.exponent;
  // Of numbers of one size, the digits are in the order of their texts: neither begins or ends with zeros.
  return sign * (size || (a.digits < b.digits ? -1 : a.digits > b.digits ? 1 : 0));
}

function signOf({ negative, digits }: DecimalText): number {
  return digits === "" ? 0 : negative ? -1 : 1;
}

/** Converts a decimal without decimal places to an integer. The caller has limited its digits. */
export function toBigInt({ negative, digits, exponent }: DecimalText): bigint {
  const value = BigInt(digits === "" ? "0" : digits + "0".repeat(exponent));
  return negative ? -value : value;
}

/** The largest number of zeros that are written out. */
const maxZeros = 100;

/** The text of a decimal for PostgreSQL: without an exponent, unless a short text would become a long one. */
export function decimalString({ negative, digits, exponent }: DecimalText): string {
  if (digits === "") return "0";
  const sign = negative ? "-" : "";
  if (exponent > maxZeros || -exponent > digits.length + maxZeros) return `${sign}${digits}e${exponent}`;
  if (exponent >= 0) return sign + digits + "0".repeat(exponent);
  const padded = digits.padStart(1 - exponent, "0");
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}
