import { nodeUtil } from "../kit/node-modules.js";

export interface ErrorDescription {
  /** The class of the error. */
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
}

const maxName = 200;
const maxMessage = 8 * 1024;
const maxStack = 32 * 1024;

/** A description of a thrown value. It never throws, although any value can be thrown, also with getters that throw. */
export function describeError(error: unknown): ErrorDescription {
  if (typeof error !== "object" || error === null) return describePrimitive(error);
  const message = read(error, "message");
  const stack = read(error, "stack");
  return {
    name: cut(className(error), maxName),
    message: cut(message === undefined || message === failed ? showObject(error) : text(message), maxMessage),
    stack: typeof stack === "string" ? cut(stack, maxStack) : undefined,
  };
}

/** The key of a text that tells what to do about an error that no handler has caught. It is shown in debug mode only. */
export const cure: unique symbol = Symbol.for("stoa.cure");

/** The cure that the class of an error knows. */
export function cureOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const text = read(error, cure);
  return typeof text === "string" ? text : undefined;
}

/** The `cause` of an error; undefined when it has none or does not give it. */
export function causeOf(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return undefined;
  const cause = read(error, "cause");
  return cause === failed ? undefined : cause;
}

/** The causes of an error from the nearest on; at most `limit`, each once. */
export function causesOf(error: unknown, limit = 8): unknown[] {
  const causes: unknown[] = [];
  const seen = new Set([error]);
  for (let cause = causeOf(error); cause !== undefined && cause !== null; cause = causeOf(cause)) {
    if (seen.has(cause) || causes.length >= limit) break;
    seen.add(cause);
    causes.push(cause);
  }
  return causes;
}

/** The first errors that an AggregateError stands for. */
export function innerErrors(error: unknown): unknown[] {
  if (!isInstance(error, AggregateError)) return [];
  const errors = read(error, "errors");
  return Array.isArray(errors) ? errors.slice(0, 8) : [];
}

/** True if `value` is an instance of `type`; false for a proxy that throws. */
export function isInstance<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

const failed = Symbol("failed");

function read(object: object, key: string | symbol): unknown {
  try {
    return Reflect.get(object, key);
  } catch {
    return failed;
  }
}

function describePrimitive(value: unknown): ErrorDescription {
  if (typeof value === "function")
    return { name: "Function", message: cut(showObject(value), maxMessage), stack: undefined };
  if (value === null || value === undefined) {
    return { name: String(value), message: `${value} was thrown in place of an error`, stack: undefined };
  }
  const name = Object(value).constructor.name as string;
  return { name, message: cut(String(value), maxMessage), stack: undefined };
}

const builtIn = /^(?:|Error|EvalError|RangeError|ReferenceError|SyntaxError|TypeError|URIError|AggregateError)$/;

/** A name that the program chose, else the class: `class Broken extends Error {}` inherits the name "Error". */
function className(error: object): string {
  const name = read(error, "name");
  const chosen = typeof name === "string" ? name : "";
  if (!builtIn.test(chosen)) return chosen;
  const type = read(error, "constructor");
  const given = typeof type === "function" ? read(type, "name") : undefined;
  if (typeof given === "string" && given !== "" && given !== "Object") return given;
  return chosen || "Object";
}

function text(value: unknown): string {
  try {
    return typeof value === "string" ? value : String(value);
  } catch {
    return showObject(value);
  }
}

function showObject(value: unknown): string {
  try {
    // Without the object's own say, and past proxies: inspect reads their target.
    return nodeUtil().inspect(value, {
      depth: 1,
      customInspect: false,
      maxArrayLength: 10,
      maxStringLength: 500,
      breakLength: Infinity,
    });
  } catch {
    return "a value that cannot be shown";
  }
}

/** A text, cut to a length if it is longer. */
export function cut(value: string, length: number): string {
  return value.length > length ? `${value.slice(0, length)}… (${value.length - length} more characters)` : value;
}
