import { isBodyValidator } from "../../validation/body-validator.js";
import type { JsonSchema } from "../../validation/json-schema.js";
import { objectShape } from "../../validation/schema-walk.js";
import { isStandardSchema } from "../../validation/standard-schema.js";
import { type AnySchema, isAnySchema, type SchemaComponents } from "./schema-components.js";
import type { OpenApiObject } from "./types.js";

/** The body of a request, as the `body` or the `form` of its route describes it; undefined without one. */
export function requestBodyOf(
  { body, form }: { readonly body?: unknown; readonly form?: unknown },
  components: SchemaComponents,
  hint: string,
): OpenApiObject | undefined {
  if (isAnySchema(form)) {
    const schema = components.use(form, "input", `${hint}Form`);
    const types = ["multipart/form-data", ...(hasFiles(form, components) ? [] : ["application/x-www-form-urlencoded"])];
    return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) };
  }
  if (body === undefined) return undefined;
  const schema: JsonSchema = isAnySchema(body) ? components.use(body, "input", `${hint}Body`) : {};
  return { required: !acceptsNothing(body), content: { "application/json": { schema } } };
}

function hasFiles(form: AnySchema, components: SchemaComponents): boolean {
  const { root } = components.open(form, "input");
  return [...objectShape(root, root).properties.values()].flat().some((property) => {
    const items = property["items"] as JsonSchema | undefined;
    return property["format"] === "binary" || items?.["format"] === "binary";
  });
}

/** True if a request may come without a body: if the schema accepts `undefined`, which it is given then. */
function acceptsNothing(schema: unknown): boolean {
  if (isBodyValidator(schema) || !isStandardSchema(schema)) return false;
  return accepts(schema, undefined);
}

/** True if a schema accepts a value, as far as it decides at once. */
export function accepts(schema: unknown, value: unknown): boolean {
  if (!isStandardSchema(schema)) return false;
  try {
    const result = schema["~standard"].validate(value);
    if (!(result instanceof Promise)) return result.issues === undefined;
    result.catch(() => {});
    return false;
  } catch {
    return false;
  }
}
