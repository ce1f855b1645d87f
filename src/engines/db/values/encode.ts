import { show } from "../../../kit/options.js";
import { ParameterRangeError, ParameterTypeError, ParameterValueError, parameterCountError } from "../errors.js";
import { formatArray } from "./arrays.js";
import { asBuffer, formatBytes } from "./bytes.js";
import { Json } from "./json.js";
import { elementOf, oid } from "./oids.js";
import { formatTimestamp } from "./timestamps.js";

/** A value as it is sent: text, bytes, or SQL null. */
export type Encoded = string | Buffer | null;

/** The limit of the protocol: a 16-bit number. */
const mostParameters = 65_535;
/** PostgreSQL's limit for one value. */
const longestValue = 0x3fffffff;

/**
 * Checks and encodes parameters before anything is sent. `types` are the types that the statement expects, where they
 * are known; a value that cannot be one of them is refused here, with its place but without the value itself.
 */
export function encodeParameters(params: readonly unknown[], types: readonly number[] | null): Encoded[] {
  if (params.length > mostParameters) {
    throw new ParameterRangeError(
      `a statement takes at most ${mostParameters} parameters, not ${params.length}; pass a list as one array instead`,
    );
  }
  if (types !== null && types.length !== params.length) throw parameterCountError(params.length, types.length);
  const encoded = new Array<Encoded>(params.length);
  for (let i = 0; i < params.length; i++) encoded[i] = encodeParameter(params[i], types?.[i] ?? 0, i + 1);
  return encoded;
}

function encodeParameter(value: unknown, type: number, place: number): Encoded {
  if (value === null) return null;
  const as = new Encoding(type, place);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    if (type === 0 || type === oid.bytea) return asBuffer(value);
    if (!isJson(type)) throw as.typeError(value, nameOf(type));
  }
  return as.text(value);
}

/** One value on its way to one type. */
class Encoding {
  constructor(
    readonly type: number,
    readonly place: number,
  ) {}

  text(value: unknown): string {
    const type = this.type;
    if (typeof value === "object" && value !== null) {
      if (value instanceof Json) return this.json(value.value);
      const converted = convert(value);
      if (converted !== value) return this.text(converted);
    }
    if (isJson(type)) return typeof value === "string" ? this.checked(value) : this.json(value);
    const element = elementOf.get(type);
    if (element !== undefined) return this.array(value, element);
    const check = checks.get(type);
    if (check !== undefined) {
      const refused = check(value, this);
      if (refused !== undefined) throw this.typeError(value, refused);
    }
    return this.plain(value);
  }

  /** The text of a value whose type needs nothing special. */
  plain(value: unknown): string {
    switch (typeof value) {
      case "string":
        return this.checked(value);
      case "number":
      case "bigint":
      case "boolean":
        return String(value);
      case "object":
        return this.object(value as object);
      default:
        throw this.typeError(value, "a value that PostgreSQL knows");
    }
  }

  object(value: object): string {
    if (value instanceof Date) return this.date(value);
    if (Array.isArray(value)) return formatArray(value, (item) => this.item(item, 0));
    if (ArrayBuffer.isView(value)) return formatBytes(asBuffer(value));
    if (isPlain(value)) return this.json(value);
    throw this.typeError(value, "a value that PostgreSQL knows");
  }

  array(value: unknown, element: number): string {
    if (typeof value === "string") return this.checked(value);
    if (!Array.isArray(value)) throw this.typeError(value, `a list (${nameOf(element)}[])`);
    return formatArray(value, (item) => this.item(item, element));
  }

  item(item: unknown, element: number): string | null {
    if (item === null) return null;
    return new Encoding(element, this.place).text(item);
  }

  date(value: Date): string {
    const time = value.getTime();
    if (Number.isNaN(time)) throw new ParameterValueError(`${this.name} is an invalid date`);
    if (time < earliest) throw new ParameterRangeError(`${this.name} is a date before 4713 BC, PostgreSQL's earliest`);
    return formatTimestamp(value);
  }

  json(value: unknown): string {
    let text: string | undefined;
    try {
      text = JSON.stringify(value) as string | undefined;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
      throw new ParameterTypeError(`${this.name} cannot be written as JSON: ${reason}`, { cause });
    }
    if (text === undefined) throw this.typeError(value, "a value that JSON knows");
    // PostgreSQL's jsonb holds neither U+0000 nor half of a surrogate pair. An even number of backslashes before is text.
    const escaped = text.includes("\\u") ? /(?<!\\)(?:\\\\)*\\u(0000|d[89a-f])/.exec(text) : null;
    if (escaped !== null) throw escaped[1] === "0000" ? this.nullCharacter() : this.halfPair();
    return this.checked(text);
  }

  checked(text: string): string {
    if (text.includes("\0")) throw this.nullCharacter();
    if (text.length > longestValue)
      throw new ParameterRangeError(`${this.name} is longer than PostgreSQL's limit of 1 GB`);
    // Encoded as UTF-8, a lone surrogate would silently become U+FFFD.
    if (!text.isWellFormed()) throw this.halfPair();
    return text;
  }

  get name(): string {
    return `parameter $${this.place}`;
  }

  typeError(value: unknown, expected: string): ParameterTypeError {
    if (value === undefined) return new ParameterTypeError(`${this.name} is undefined; pass null for SQL null`);
    return new ParameterTypeError(`${this.name} must be ${expected}, not ${kindOf(value)}`);
  }

  rangeError(): ParameterRangeError {
    return new ParameterRangeError(`${this.name} is out of range for type ${nameOf(this.type)}`);
  }

  /** A number beyond 2^53 has most likely been rounded on its way here. */
  inexact(): ParameterValueError {
    return new ParameterValueError(`${this.name} is an integer that a number does not hold exactly; pass a bigint`);
  }

  halfPair(): ParameterValueError {
    return new ParameterValueError(`${this.name} contains half of a surrogate pair`);
  }

  nullCharacter(): ParameterValueError {
    return new ParameterValueError(`${this.name} contains U+0000, which PostgreSQL cannot store`);
  }
}

/** Returns the expected type if a value has another one; throws if it has the type but is out of range. */
type Check = (value: unknown, as: Encoding) => string | undefined;

const earliest = Date.UTC(-4712, 0, 1);

const checks = new Map<number, Check>([
  [oid.int2, integer(-(2n ** 15n), 2n ** 15n - 1n)],
  [oid.int4, integer(-(2n ** 31n), 2n ** 31n - 1n)],
  [oid.int8, integer(-(2n ** 63n), 2n ** 63n - 1n)],
  [oid.oid, integer(0n, 2n ** 32n - 1n)],
  [oid.float4, oneOf("a number", "number", "bigint", "string")],
  [oid.float8, oneOf("a number", "number", "bigint", "string")],
  [oid.numeric, oneOf("a number or a numeric string", "number", "bigint", "string")],
  [oid.money, oneOf("a number or a numeric string", "number", "bigint", "string")],
  [oid.bool, oneOf("a boolean", "boolean", "string")],
  [oid.text, scalar],
  [oid.varchar, scalar],
  [oid.bpchar, scalar],
  [oid.name, scalar],
  [oid.bytea, bytesOrText],
  [oid.uuid, uuid],
  [oid.date, dateOrText],
  [oid.timestamp, dateOrText],
  [oid.timestamptz, dateOrText],
  [oid.time, oneOf("a string such as '12:30:00'", "string")],
  [oid.timetz, oneOf("a string such as '12:30:00+02'", "string")],
  [oid.interval, oneOf("a string such as '1 day 02:00'", "string")],
]);

function integer(min: bigint, max: bigint): Check {
  return (value, as) => {
    if (typeof value === "number") {
      if (!Number.isInteger(value)) return "an integer";
      if (value < min || value > max) throw as.rangeError();
      if (!Number.isSafeInteger(value)) throw as.inexact();
      return undefined;
    }
    if (typeof value === "bigint") {
      if (value < min || value > max) throw as.rangeError();
      return undefined;
    }
    if (typeof value !== "string") return "an integer";
    if (/^\s*[+-]?\d+\s*$/.test(value)) {
      const number = shortInteger(value.trim());
      if (number === null || number < min || number > max) throw as.rangeError();
    }
    return undefined;
  };
}

/** The most digits that an integer of PostgreSQL has: int8 ends at 9223372036854775807. */
const mostDigits = 19;

/**
 * The integer that a sign and digits stand for; null if it has more digits than any integer type, leading zeros not
 * counted. BigInt takes time that grows with the square of the length.
 */
function shortInteger(text: string): bigint | null {
  const sign = text.charCodeAt(0);
  let start = sign === minus || sign === plus ? 1 : 0;
  while (text.charCodeAt(start) === zero) start++;
  if (text.length - start > mostDigits) return null;
  const number = BigInt(text.slice(start));
  return sign === minus ? -number : number;
}

const plus = 43;
const minus = 45;
const zero = 48;

function oneOf(expected: string, ...types: readonly string[]): Check {
  return (value) => (types.includes(typeof value) ? undefined : expected);
}

function scalar(value: unknown): string | undefined {
  return typeof value === "object" && !(value instanceof Date) ? "a string" : undefined;
}

function bytesOrText(value: unknown): string | undefined {
  return typeof value === "string" || ArrayBuffer.isView(value) ? undefined : "bytes";
}

function dateOrText(value: unknown): string | undefined {
  return typeof value === "string" || value instanceof Date ? undefined : "a Date or a string";
}

function uuid(value: unknown, as: Encoding): string | undefined {
  if (typeof value !== "string") return "a string";
  // PostgreSQL takes hyphens after any group of four digits, and braces around the whole.
  if (!/^\{?(?:[0-9a-f]{4}-?){8}\}?$/i.test(value)) throw new ParameterValueError(`${as.name} is not a valid UUID`);
  return undefined;
}

/** The result of `toPostgres()`, as in node-postgres; without that method, the object itself. */
function convert(value: object): unknown {
  const { toPostgres } = value as { toPostgres?: unknown };
  return typeof toPostgres === "function" ? toPostgres.call(value) : value;
}

function isJson(type: number): boolean {
  return type === oid.json || type === oid.jsonb;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || prototype === null || (prototype as object).constructor?.name === "Object";
}

function nameOf(type: number): string {
  return Object.entries(oid).find(([, id]) => id === type)?.[0] ?? `with oid ${type}`;
}

/** The kind of a value, never the value. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "object") return Array.isArray(value) ? "a list" : show(value);
  return `a ${typeof value}`;
}
