import { isRecord } from "../../kit/own-property.js";
import { ValueError } from "../../kit/value-error.js";
import { isDescribed, jsonSchemaSymbol } from "../../validation/body-validator.js";
import { type Direction, type JsonSchema, jsonSchemaOf } from "../../validation/json-schema.js";
import { acceptedTypes } from "../../validation/schema-walk.js";
import { isStandardSchema } from "../../validation/standard-schema.js";

/** A schema of arguments where there are none. */
export const noArguments: JsonSchema = { type: "object", additionalProperties: false };

/** The JSON Schema of a schema in an option; an empty one, which allows all, if its library gives none. */
export function schemaOf(schema: unknown, direction: Direction): JsonSchema {
  if (isDescribed(schema)) return schema[jsonSchemaSymbol](direction).schema;
  return (isStandardSchema(schema) ? jsonSchemaOf(schema, direction) : undefined) ?? {};
}

/** The schema of an object, as the protocol wants it for arguments. */
export function objectSchema(schema: unknown, direction: Direction, owner: string): JsonSchema {
  const root = schemaOf(schema, direction);
  if (!isObject(root)) throw new ValueError(`${owner} must be a schema of an object`);
  return { type: "object", ...root };
}

export function isObject(root: JsonSchema): boolean {
  return acceptedTypes(root, root)?.has("object") ?? true;
}

/** Joins the definitions of schemas; null if two of one name differ. */
export function joinedDefs(roots: readonly JsonSchema[]): Record<string, unknown> | null {
  const defs = new Map<string, unknown>();
  for (const root of roots) {
    for (const [name, definition] of Object.entries(isRecord(root["$defs"]) ? root["$defs"] : {})) {
      const known = defs.get(name);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition)) return null;
      defs.set(name, definition);
    }
  }
  return Object.fromEntries(defs);
}
