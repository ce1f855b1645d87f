import type { NamedJsonSchema } from "../../validation/body-validator.js";
import type { Direction, JsonSchema } from "../../validation/json-schema.js";
import type { ColumnMeta, ColumnType, ModelMeta } from "../meta.js";
import { isWritable } from "./model-body.js";

/** The JSON Schema of a model, for a request body or for a response. */
export function modelSchema(meta: ModelMeta, direction: Direction): NamedJsonSchema {
  const columns = meta.columns.filter((column) => (direction === "input" ? isWritable(column) : !column.hidden));
  const required = columns.filter((column) => direction === "output" || !column.optional);
  return { name: meta.name, schema: objectSchema(meta, columns, required, direction) };
}

/** The JSON Schema of a body that may omit any field. */
export function partialSchema(meta: ModelMeta): NamedJsonSchema {
  return { name: `Partial${meta.name}`, schema: objectSchema(meta, meta.columns.filter(isWritable), null, "input") };
}

function objectSchema(
  meta: ModelMeta,
  columns: readonly ColumnMeta[],
  required: readonly ColumnMeta[] | null,
  direction: Direction,
): JsonSchema {
  return {
    type: "object",
    ...(meta.comment === undefined ? {} : { description: meta.comment }),
    properties: Object.fromEntries(
      columns.map((column) => [column.attribute, columnSchema(column, direction, required !== null)]),
    ),
    ...(required?.length ? { required: required.map((column) => column.attribute) } : {}),
  };
}

function columnSchema(column: ColumnMeta, direction: Direction, whole: boolean): JsonSchema {
  const schema = typeSchema(column.type, direction);
  const given = column.default;
  return {
    ...(column.nullable ? orNull(schema) : schema),
    ...(column.comment === undefined ? {} : { description: column.comment }),
    ...(direction === "input" && whole && given?.from === "value" ? { default: jsonOf(given.value, column.type) } : {}),
  };
}

/**
 * Integers of 64 bits and decimals are strings in responses, so that no client rounds them. Request bodies may contain
 * numbers too.
 */
export function typeSchema(type: ColumnType, direction: Direction): JsonSchema {
  if (type.item !== undefined) return { ...type.json, items: typeSchema(type.item, direction) };
  if (direction === "output") return { ...type.json };
  if (type.kind === "bigInt") return { ...type.json, type: ["string", "integer"] };
  return type.kind === "decimal" ? { ...type.json, type: ["string", "number"] } : { ...type.json };
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: choices } = schema as { type?: string | string[]; enum?: string[] };
  // A schema without a type accepts everything, null included.
  if (type === undefined) return schema;
  return { ...schema, type: [type, "null"].flat(), ...(choices ? { enum: [...choices, null] } : {}) };
}

function jsonOf(value: unknown, type: ColumnType): unknown {
  return value === null || type.toJson === undefined ? value : type.toJson(value);
}
