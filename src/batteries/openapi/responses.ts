import { reasonPhrase } from "../../http/status.js";
import type { JsonSchema } from "../../validation/json-schema.js";
import { acceptedTypes } from "../../validation/schema-walk.js";
import type { DocumentedResponse } from "./documented-response.js";
import type { ErrorKind, ErrorResponses } from "./error-responses.js";
import { accepts } from "./request-body.js";
import { type AnySchema, isAnySchema, type SchemaComponents } from "./schema-components.js";
import type { OpenApiObject } from "./types.js";

export interface ResponseParts {
  readonly status?: number;
  readonly response?: unknown;
  readonly responses?: Readonly<Record<number, unknown>>;
  /** The errors of this route that come from the framework itself. */
  readonly errors: readonly ErrorKind[];
}

/** The responses of an operation by status: the usual one, the framework's errors, and those that the route documents. */
export function responsesOf(
  parts: ResponseParts,
  components: SchemaComponents,
  errors: ErrorResponses,
  hint: string,
): OpenApiObject {
  // Made only if they stay: each one that is made is shared, used or not.
  const found = new Map<number, () => OpenApiObject>();
  for (const kind of parts.errors) found.set(errors.statusOf(kind), () => errors.all(kindsOf(parts, kind, errors)));
  const [usual, response] = usualResponse(parts, components, hint);
  found.set(usual, () => response);
  for (const [key, given] of Object.entries(parts.responses ?? {})) {
    const code = Number(key);
    if (given === false) found.delete(code);
    else {
      const own = parts.errors.filter((kind) => errors.statusOf(kind) === code);
      const base = code === usual ? response : own.length > 0 ? errors.described(own) : {};
      found.set(code, () => documented(code, asDocumented(given), base, components, errors, hint));
    }
  }
  const sorted = [...found].sort(([a], [b]) => a - b);
  return Object.fromEntries(sorted.map(([code, make]) => [String(code), make()]));
}

/** The errors of a route that have the status of this one. */
function kindsOf({ errors: kinds }: ResponseParts, kind: ErrorKind, errors: ErrorResponses): ErrorKind[] {
  return kinds.filter((other) => errors.statusOf(other) === errors.statusOf(kind));
}

/** The response of the handler's result. */
function usualResponse(
  { status, response }: ResponseParts,
  components: SchemaComponents,
  hint: string,
): [status: number, response: OpenApiObject] {
  const schema = isAnySchema(response) ? response : undefined;
  const empty = schema !== undefined && isNothing(schema, components);
  const code = status ?? (empty ? 204 : 200);
  const content = schema && !empty ? { content: contentOf({ schema }, components, `${hint}Response`) } : {};
  return [code, { description: reasonPhrase(code) || "The response.", ...content }];
}

function documented(
  code: number,
  given: DocumentedResponse,
  base: OpenApiObject,
  components: SchemaComponents,
  errors: ErrorResponses,
  hint: string,
): OpenApiObject {
  const description = given.description ?? (reasonPhrase(code) || "The response.");
  if ([given.schema, given.example, given.contentType].some((part) => part !== undefined)) {
    const content = contentOf(given, components, `${hint}${code}Response`);
    // Errors of the framework itself keep their own media type.
    const framework = code >= 400 ? (base["content"] as OpenApiObject | undefined) : undefined;
    return { ...base, description, content: { ...framework, ...content } };
  }
  if (code < 400 || base["content"] !== undefined) return { ...base, description };
  return errors.problem(code, description);
}

function asDocumented(given: unknown): DocumentedResponse {
  if (typeof given === "string") return { description: given };
  if (isAnySchema(given)) return { schema: given };
  const { content_type: contentType, ...rest } = given as DocumentedResponse & { readonly content_type?: string };
  return { ...(contentType !== undefined && { contentType }), ...rest };
}

function contentOf(given: DocumentedResponse, components: SchemaComponents, hint: string): OpenApiObject {
  const schema: JsonSchema | undefined = given.schema && components.use(given.schema, "output", hint);
  const type = given.contentType ?? (given.schema && isText(given.schema, components) ? textType : "application/json");
  return { [type]: { ...(schema && { schema }), ...(given.example !== undefined && { example: given.example }) } };
}

const textType = "text/plain";

/** A handler's string is sent as text, not as JSON. */
function isText(schema: AnySchema, components: SchemaComponents): boolean {
  const { root } = components.open(schema, "output");
  const types = acceptedTypes(root, root);
  return types?.size === 1 && types.has("string");
}

/** A schema that takes nothing but `undefined`, for which JSON Schema has no word. */
function isNothing(schema: AnySchema, components: SchemaComponents): boolean {
  const { root } = components.open(schema, "output");
  if (Object.keys(root).some((keyword) => keyword !== "not")) return false;
  return accepts(schema, undefined) && !accepts(schema, null) && !accepts(schema, {});
}
