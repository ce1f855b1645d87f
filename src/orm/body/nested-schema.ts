import type { NamedJsonSchema } from "../../validation/body-validator.js";
import type { JsonSchema } from "../../validation/json-schema.js";
import type { ModelMeta, RelationMeta } from "../meta.js";
import { modelSchema } from "./model-schema.js";

/** The relations that clients may send, by name; each with the relations of its rows. */
export interface Allowed {
  readonly meta: ModelMeta;
  readonly relations: ReadonlyMap<string, { readonly relation: RelationMeta; readonly rows: Allowed }>;
}

/** The JSON Schema of a body with related rows. */
export function nestedSchema(allowed: Allowed): NamedJsonSchema {
  const names = [...allowed.relations.keys()].map((name) => name.charAt(0).toUpperCase() + name.slice(1));
  return { name: `${allowed.meta.name}With${names.join("And")}`, schema: rowSchema(allowed, undefined) };
}

function rowSchema({ meta, relations }: Allowed, back: RelationMeta | undefined): JsonSchema {
  const { schema } = modelSchema(meta, "input");
  const { properties, required, ...rest } = schema as {
    properties: Record<string, JsonSchema>;
    required?: readonly string[];
  };
  const keys = back === undefined || back.through ? [] : back.targetColumns;
  const hidden = new Set(keys.map((column) => column.attribute));
  const own = Object.entries(properties).filter(([name]) => !hidden.has(name));
  const needed = (required ?? []).filter((name) => !hidden.has(name));
  const nested = [...relations].map(([name, { relation, rows }]) => [name, relationSchema(relation, rows)]);
  return {
    ...rest,
    properties: Object.fromEntries([...own, ...nested]),
    ...(needed.length > 0 ? { required: needed } : {}),
  };
}

function relationSchema(relation: RelationMeta, rows: Allowed): JsonSchema {
  const row = rowSchema(rows, relation);
  if (relation.single) return { anyOf: [row, { type: "null" }] };
  const items = relation.through ? { anyOf: [row, { ...relation.targetColumn.type.json }] } : row;
  return { type: "array", items };
}
