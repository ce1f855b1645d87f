import type { JsonSchema } from "./json-schema.js";

/** The limit on nested `$ref` and alternatives: deeper ones are not written by hand. */
const maxDepth = 16;

type SchemaNode = JsonSchema | boolean;

/** The properties of an object, as far as its schema names them. */
export interface ObjectShape {
  /** By name; several where alternatives differ. */
  readonly properties: ReadonlyMap<string, readonly JsonSchema[]>;
  readonly required: ReadonlySet<string>;
  /** The schema of all other properties; false if there are none, undefined if the schema does not say. */
  readonly others: JsonSchema | boolean | undefined;
}

/** The schema that a `$ref` within `root` leads to, or the schema itself. */
export function resolve(root: JsonSchema, schema: JsonSchema): JsonSchema {
  let current = schema;
  for (let hops = 0; typeof current["$ref"] === "string" && hops < maxDepth; hops++) {
    const found = lookUp(root, current["$ref"]);
    if (found === undefined) return {};
    current = found;
  }
  return current;
}

/** The JSON types that a schema accepts; null if it accepts any. */
export function acceptedTypes(root: JsonSchema, node: unknown, depth = 0): ReadonlySet<string> | null {
  if (node === false) return new Set();
  if (!isSchema(node) || depth > maxDepth) return null;
  const schema = resolve(root, node);
  let types = ownTypes(schema);
  for (const keyword of ["anyOf", "oneOf"]) {
    const alternatives = schemasOf(schema[keyword]);
    if (alternatives) types = both(types, union(alternatives.map((item) => acceptedTypes(root, item, depth + 1))));
  }
  for (const part of schemasOf(schema["allOf"]) ?? []) types = both(types, acceptedTypes(root, part, depth + 1));
  return types;
}

export function objectShape(root: JsonSchema, node: JsonSchema, depth = 0): ObjectShape {
  const properties = new Map<string, readonly JsonSchema[]>();
  const required = new Set<string>();
  const schema = resolve(root, node);
  let others = schema["additionalProperties"] as ObjectShape["others"];
  if (depth > maxDepth) return { properties, required, others };
  const add = (name: string, found: readonly JsonSchema[]): void => {
    properties.set(name, [...(properties.get(name) ?? []), ...found]);
  };
  for (const [name, property] of Object.entries(isSchema(schema["properties"]) ? schema["properties"] : {})) {
    add(name, [isSchema(property) ? property : {}]);
  }
  for (const name of Array.isArray(schema["required"]) ? schema["required"] : []) required.add(String(name));
  for (const keyword of ["allOf", "anyOf", "oneOf"]) {
    const shapes = (schemasOf(schema[keyword]) ?? [])
      .filter(isSchema)
      .map((item) => objectShape(root, item, depth + 1));
    for (const shape of shapes) {
      for (const [name, found] of shape.properties) add(name, found);
      others ??= shape.others;
    }
    const names = new Set(shapes.flatMap((shape) => [...shape.required]));
    for (const name of names) {
      // Of alternatives, what is not required by each may be left out.
      if (keyword === "allOf" || shapes.every((shape) => shape.required.has(name))) required.add(name);
    }
  }
  return { properties, required, others };
}

/** The schema of the items of a list, if there is one. */
export function itemsOf(root: JsonSchema, node: JsonSchema, depth = 0): JsonSchema | undefined {
  const schema = resolve(root, node);
  if (isSchema(schema["items"])) return schema["items"];
  if (depth > maxDepth) return undefined;
  for (const keyword of ["allOf", "anyOf", "oneOf"]) {
    for (const part of schemasOf(schema[keyword]) ?? []) {
      const items = isSchema(part) ? itemsOf(root, part, depth + 1) : undefined;
      if (items) return items;
    }
  }
  return undefined;
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lookUp(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (!reference.startsWith("#")) return undefined;
  let current: unknown = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isSchema(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return isSchema(current) ? current : undefined;
}

function ownTypes(schema: JsonSchema): ReadonlySet<string> | null {
  const { type } = schema;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.map(String));
  if ("const" in schema) return new Set([jsonType(schema["const"])]);
  if (Array.isArray(schema["enum"])) return new Set(schema["enum"].map(jsonType));
  return null;
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function union(sets: readonly (ReadonlySet<string> | null)[]): ReadonlySet<string> | null {
  return sets.includes(null) ? null : new Set(sets.flatMap((set) => [...set!]));
}

function both(a: ReadonlySet<string> | null, b: ReadonlySet<string> | null): ReadonlySet<string> | null {
  if (a === null || b === null) return a ?? b;
  const kept = [...a].filter((type) => b.has(type) || (type === "integer" && b.has("number")));
  return new Set(a.has("number") && b.has("integer") ? [...kept, "integer"] : kept);
}

function schemasOf(value: unknown): readonly SchemaNode[] | undefined {
  return Array.isArray(value) ? (value as SchemaNode[]) : undefined;
}
