import type { Issue } from "./issues.js";
import type { JsonSchema } from "./json-schema.js";
import type { SchemaOutput, StandardSchema } from "./standard-schema.js";

/**
 * A value with a method under this symbol reads a body from its bytes. Models have one, so that validation does not
 * import the ORM.
 */
export const bodyValidatorSymbol: unique symbol = Symbol.for("stoa.bodyValidator");

export interface BodyValidator<Output = unknown> {
  /** `limit` is the most issues that are reported. */
  [bodyValidatorSymbol](bytes: Uint8Array, limit?: number): BodyResult<Output> | Promise<BodyResult<Output>>;
}

export type BodyResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[]; readonly status: number };

/** A value with a method under this symbol has a JSON Schema for the documentation. */
export const jsonSchemaSymbol: unique symbol = Symbol.for("stoa.jsonSchema");

export interface DescribedSchema {
  /** The schema of the input or of the output, and the name under which documents share it. */
  [jsonSchemaSymbol](direction: "input" | "output"): NamedJsonSchema;
}

export interface NamedJsonSchema {
  readonly name: string;
  readonly schema: JsonSchema;
}

/** The output of a body validator. */
export type BodyOutput<S> = S extends BodyValidator<infer Output> ? Output : never;

/** The type of the values that a schema produces. */
export type OutputOf<S> = S extends StandardSchema ? SchemaOutput<S> : BodyOutput<S>;

export function isBodyValidator(value: unknown): value is BodyValidator {
  return hasMethod(value, bodyValidatorSymbol);
}

export function isDescribed(value: unknown): value is DescribedSchema {
  return hasMethod(value, jsonSchemaSymbol);
}

function hasMethod(value: unknown, key: symbol): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof (value as Record<symbol, unknown>)[key] === "function";
}
