import { causeOf, cut, describeError, isInstance } from "../errors/describe.js";
import type { LogFields } from "../kit/logger.js";
import { setOwn } from "../kit/own-property.js";
import { hideUrlPasswords, isSecretName, redacted } from "./secrets.js";

/** The fields of a log line as plain JSON values, without secrets and without anything that could throw. */
export type PlainValue = string | number | boolean | null | PlainValue[] | { [key: string]: PlainValue };
export type PlainFields = Record<string, PlainValue>;

const maxDepth = 6;
const maxItems = 100;
const maxValues = 2000;
const maxText = 32 * 1024;

/** Copies fields into plain ones. Never throws: a value that cannot be read is replaced by a note. */
export function plainFields(fields: LogFields): PlainFields {
  try {
    return plainObject(fields, { path: [fields], left: maxValues });
  } catch {
    return { fields: unreadable };
  }
}

export function plainText(text: string): string {
  return hideUrlPasswords(cut(text, maxText));
}

const unreadable = "[unreadable]";

interface Copying {
  /** The objects on the path to the current value, to find circular references. */
  readonly path: object[];
  /** The number of values that may still be copied. */
  left: number;
}

function plainValue(value: unknown, copying: Copying): PlainValue | undefined {
  switch (typeof value) {
    case "string":
      return plainText(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "bigint":
    case "symbol":
      return String(value);
    case "function":
      return "[function]";
    case "undefined":
      return undefined;
    case "object":
      return value === null ? null : plainNested(value, copying);
  }
}

function plainNested(value: object, copying: Copying): PlainValue | undefined {
  const { path } = copying;
  if (path.includes(value)) return "[circular]";
  if (path.length > maxDepth || copying.left <= 0) return "[…]";
  path.push(value);
  try {
    return plainReference(value, copying);
  } catch {
    return unreadable;
  } finally {
    path.pop();
  }
}

function plainReference(value: object, copying: Copying): PlainValue | undefined {
  if (isInstance(value, Error)) return plainError(value, copying);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) return plainObject(Object.fromEntries(value), copying);
  if (value instanceof Set) return plainArray([...value], copying);
  if (Array.isArray(value)) return plainArray(value, copying);
  const toJSON: unknown = Reflect.get(value, "toJSON");
  return typeof toJSON === "function" ? plainValue(toJSON.call(value, ""), copying) : plainObject(value, copying);
}

function plainArray(items: readonly unknown[], copying: Copying): PlainValue[] {
  const count = Math.min(items.length, maxItems);
  const plain: PlainValue[] = [];
  for (let i = 0; i < count && copying.left-- > 0; i++) plain.push(plainValue(items[i], copying) ?? null);
  if (items.length > plain.length) plain.push(`… ${items.length - plain.length} more`);
  return plain;
}

function plainObject(object: object, copying: Copying): PlainFields {
  const plain: PlainFields = {};
  const keys = Object.keys(object);
  let taken = 0;
  while (taken < keys.length && taken < maxItems && copying.left-- > 0) {
    const key = keys[taken++]!;
    set(plain, key, plainMember(object, key, copying));
  }
  if (keys.length > taken) plain["…"] = `${keys.length - taken} more`;
  return plain;
}

function plainMember(object: object, key: string, copying: Copying): PlainValue | undefined {
  if (isSecretName(key)) return redacted;
  try {
    return plainValue(Reflect.get(object, key), copying);
  } catch {
    return unreadable;
  }
}

/** Name, message and stack first; then the other properties of the error (`code`, `sqlstate`), then its cause. */
function plainError(error: Error, copying: Copying): PlainFields {
  const { name, message, stack } = describeError(error);
  const plain: PlainFields = { name, message: plainText(message) };
  if (stack !== undefined) plain["stack"] = plainText(stack);
  for (const [key, value] of Object.entries(plainObject(error, copying))) {
    if (!Object.hasOwn(plain, key) && key !== "cause") set(plain, key, value);
  }
  if (isInstance(error, AggregateError)) set(plain, "errors", plainMember(error, "errors", copying));
  set(plain, "cause", plainValue(causeOf(error), copying));
  return plain;
}

function set(plain: PlainFields, key: string, value: PlainValue | undefined): void {
  if (value !== undefined) setOwn(plain, key, value);
}
