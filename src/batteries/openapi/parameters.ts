import { parsePattern } from "../../routing/pattern.js";
import type { JsonSchema } from "../../validation/json-schema.js";
import { acceptedTypes, objectShape } from "../../validation/schema-walk.js";
import type { StandardSchema } from "../../validation/standard-schema.js";
import type { SchemaComponents } from "./schema-components.js";
import type { OpenApiObject } from "./types.js";

export interface ParameterSchemas {
  readonly params?: StandardSchema;
  readonly query?: StandardSchema;
  readonly headers?: StandardSchema;
}

/** The parameters of a route: those of its path, then those of its schemas for the query and the headers. */
export function parametersOf(
  path: string,
  schemas: ParameterSchemas,
  components: SchemaComponents,
  hint: string,
): OpenApiObject[] {
  return [
    ...pathParameters(path, schemas.params, components, hint),
    ...namedParameters("query", schemas.query, components, hint),
    ...namedParameters("header", schemas.headers, components, hint).filter(({ name }) => !isReserved(String(name))),
  ];
}

/** Adds the parameters that a route lists itself. One with the name and place of a generated one takes its place. */
export function withGiven(generated: readonly OpenApiObject[], given: unknown): OpenApiObject[] {
  if (!Array.isArray(given)) return [...generated];
  return [...new Map([...generated, ...(given as OpenApiObject[])].map((one) => [identityOf(one), one])).values()];
}

/** Names of header fields are the same in upper and lower case. */
function identityOf({ $ref, in: place, name }: OpenApiObject): string {
  return String($ref ?? `${place} ${place === "header" ? String(name).toLowerCase() : name}`);
}

/** The specification has other places for these, and ignores them here. */
function isReserved(header: string): boolean {
  return ["accept", "content-type", "authorization"].includes(header.toLowerCase());
}

function pathParameters(
  path: string,
  schema: StandardSchema | undefined,
  components: SchemaComponents,
  hint: string,
): OpenApiObject[] {
  const described = new Map(namedParameters("path", schema, components, hint).map((item) => [item["name"], item]));
  return parsePattern(path).segments.flatMap((segment) => {
    if (segment.kind === "static") return [];
    const { name, kind } = segment;
    const known = described.get(name) ?? { name, in: "path", schema: { type: "string" } };
    const rest = kind === "wildcard" ? { description: "The rest of the path, slashes included." } : {};
    return [{ ...rest, ...known, required: true }];
  });
}

function namedParameters(
  place: "path" | "query" | "header",
  schema: StandardSchema | undefined,
  components: SchemaComponents,
  hint: string,
): OpenApiObject[] {
  if (schema === undefined) return [];
  const { root, share } = components.open(schema, "input");
  const { properties, required, others } = objectShape(root, root);
  const parameters = [...properties].map(([name, alternatives]) => {
    const whole = alternatives.length === 1 ? alternatives[0]! : anyOf(alternatives);
    const shared = share(whole, `${hint}${name.replace(/[^A-Za-z0-9]/g, "")}`);
    return parameter(name, place, required.has(name), shared);
  });
  if (parameters.length > 0 || place !== "query" || others === false) return parameters;
  // Any names at all: an object that is spread over the query.
  const free = acceptedTypes(root, root)?.has("object") ? share(withoutDefs(root), hint) : { type: "object" };
  return [{ name: "query", in: "query", required: false, style: "form", explode: true, schema: free }];
}

function parameter(name: string, place: string, required: boolean, schema: JsonSchema): OpenApiObject {
  const { description, deprecated, ...rest } = schema;
  return {
    name,
    in: place,
    ...(description !== undefined && { description }),
    ...(deprecated === true && { deprecated }),
    required,
    schema: rest,
  };
}

function anyOf(alternatives: readonly JsonSchema[]): JsonSchema {
  const distinct = [...new Map(alternatives.map((item) => [JSON.stringify(item), item])).values()];
  return distinct.length === 1 ? distinct[0]! : { anyOf: distinct };
}

function withoutDefs(root: JsonSchema): JsonSchema {
  const { $defs: _, ...rest } = root;
  return rest;
}
