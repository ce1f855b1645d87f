import { setOwn } from "../kit/own-property.js";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.js";
import { acceptedTypes, isSchema, itemsOf, objectShape, resolve } from "./schema-walk.js";
import type { StandardSchema } from "./standard-schema.js";

/** Converts strings in an object to the numbers, booleans and lists of its schema, in place. */
export type Coerce = (input: Record<string, unknown>) => void;

/** Converts one value. A value that cannot be converted stays a string, and the schema refuses it. */
type Turn = (value: unknown) => unknown;

/** The form of a list: a name that is repeated (query, form), or one text with commas (header, path). */
export type Lists = "repeated" | "commas";

/**
 * Converts text to the types of a schema: paths, queries, headers and forms carry text only. A property that the schema
 * declares as a number, a boolean or a list, and not as a string, is converted before validation. Null if there is
 * nothing to convert: the schema takes strings, or its library gives no JSON Schema.
 */
export function coercion(schema: StandardSchema, lists: Lists): Coerce | null {
  const root = jsonSchemaOf(schema, "input");
  if (root === undefined) return null;
  const { properties, others } = objectShape(root, root);
  const turns: [name: string, turn: Turn][] = [];
  for (const [name, alternatives] of properties) {
    const turn = turnFor(root, alternatives.length === 1 ? alternatives[0]! : { anyOf: alternatives }, lists);
    if (turn) turns.push([name, turn]);
  }
  const turnOthers = isSchema(others) ? turnFor(root, others, lists) : null;
  if (turns.length === 0 && !turnOthers) return null;
  return (input) => {
    for (const [name, turn] of turns) {
      if (Object.hasOwn(input, name)) input[name] = turn(input[name]);
    }
    if (!turnOthers) return;
    for (const name of Object.keys(input)) if (!properties.has(name)) setOwn(input, name, turnOthers(input[name]));
  };
}

const integer = /^-?\d+$/;
const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  1: true,
  on: true,
  false: false,
  0: false,
  off: false,
};

function turnFor(root: JsonSchema, schema: JsonSchema, lists: Lists): Turn | null {
  const types = acceptedTypes(root, schema);
  if (types === null || types.has("string")) return null;
  const scalar = scalarTurn(types);
  if (!types.has("array")) return scalar;
  const items = itemsOf(root, resolve(root, schema));
  const turnItem = (items && turnFor(root, items, lists)) ?? ((value: unknown) => value);
  return (value) => {
    const list = Array.isArray(value) ? value : splitList(value, lists);
    return list === null ? value : list.map(turnItem);
  };
}

function splitList(value: unknown, lists: Lists): unknown[] | null {
  if (typeof value !== "string" || lists === "repeated") return value === undefined ? null : [value];
  return value.split(",").map((item) => item.trim());
}

function scalarTurn(types: ReadonlySet<string>): Turn | null {
  const [takesInteger, takesNumber, takesBoolean, takesNull] = ["integer", "number", "boolean", "null"].map((type) =>
    types.has(type),
  );
  if (!takesInteger && !takesNumber && !takesBoolean && !takesNull) return null;
  return (value) => {
    if (typeof value !== "string") return value;
    if (takesNumber && decimal.test(value)) return finite(value);
    // Beyond 2^53 the number could differ from the integer in the request.
    if (takesInteger && integer.test(value)) return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    const lower = value.toLowerCase();
    if (takesBoolean && Object.hasOwn(booleans, lower)) return booleans[lower];
    return takesNull && value === "" ? null : value;
  };
}

function finite(text: string): unknown {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}
