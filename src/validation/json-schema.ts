import type { JsonSchemaOptions, StandardSchema } from "./standard-schema.js";

/** A JSON Schema (draft 2020-12) that is an object; `true` and `false` stand only inside of one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The input of a schema, or its output. */
export type Direction = "input" | "output";

/**
 * The JSON Schema that the library gives for a schema; undefined if it gives none. A schema in `names` is written as
 * `$ref: "#/$defs/<name>"` wherever it occurs, if the library supports that.
 */
export function jsonSchemaOf(
  schema: StandardSchema,
  direction: Direction,
  names: ReadonlyMap<unknown, string> = noNames,
  target: JsonSchemaOptions["target"] = "draft-2020-12",
): JsonSchema | undefined {
  const { jsonSchema, vendor } = schema["~standard"];
  if (typeof jsonSchema?.[direction] !== "function") return undefined;
  try {
    const libraryOptions = optionsOf[vendor]?.(names, direction);
    return jsonSchema[direction]({ target, libraryOptions });
  } catch {
    return undefined;
  }
}

const noNames: ReadonlyMap<unknown, string> = new Map();

type LibraryOptions = (names: ReadonlyMap<unknown, string>, direction: Direction) => Record<string, unknown>;

/**
 * Options for the most complete result of each library: a part without JSON Schema becomes one that allows anything.
 */
const optionsOf: Readonly<Record<string, LibraryOptions>> = {
  zod: (names, direction) => ({
    unrepresentable: ({ zodSchema }: ZodContext) => asJson[zodSchema._zod.def.type] ?? "any",
    override: (context: ZodContext & { jsonSchema: Record<string, unknown> }) => tidy(context, direction),
    ...(names.size > 0 && { metadata: { get: (schema: ZodSchema) => namedMetadata(schema, names) } }),
  }),
  valibot: () => ({ errorMode: "ignore" }),
  arktype: () => ({ fallback: (context: { base: unknown }) => context.base }),
};

interface ZodSchema {
  readonly _zod: { readonly def: { readonly type: string; readonly catchall?: unknown } };
  meta?(): Record<string, unknown> | undefined;
}

interface ZodContext {
  readonly zodSchema: ZodSchema;
}

/** The form in which JSON.stringify writes values that JSON does not have. */
const asJson: Readonly<Record<string, JsonSchema>> = {
  date: { type: "string", format: "date-time" },
  bigint: { type: "integer", format: "int64" },
};

/** Formats of JSON Schema itself. */
const wellKnownFormats: ReadonlySet<unknown> = new Set(
  "date-time date time duration email ipv4 ipv6 uri uuid".split(" "),
);

/**
 * A plain object accepts further properties and drops them, so `additionalProperties: false` is not part of its
 * contract and would make input and output differ for no reason. The pattern of a known format is left out too. The
 * range of safe integers is stated, because an integer beyond it is refused. Documentation pages show the lowest value
 * as an example, so such an integer gets a better one, unless it has a default.
 */
function tidy(context: ZodContext & { jsonSchema: Record<string, unknown> }, direction: Direction): void {
  const { zodSchema, jsonSchema } = context;
  const { type, catchall } = zodSchema._zod.def;
  if (direction === "output" && type === "object" && catchall === undefined) delete jsonSchema["additionalProperties"];
  if (wellKnownFormats.has(jsonSchema["format"])) delete jsonSchema["pattern"];
  const { minimum, maximum, examples, default: preset } = jsonSchema;
  if (examples === integerExamples && preset !== undefined) delete jsonSchema["examples"];
  else if (
    minimum === Number.MIN_SAFE_INTEGER &&
    (maximum as number) > 0 &&
    !("multipleOf" in jsonSchema || "example" in jsonSchema)
  )
    jsonSchema["examples"] ??= integerExamples;
}

const integerExamples = [1];

function namedMetadata(schema: ZodSchema, names: ReadonlyMap<unknown, string>): Record<string, unknown> | undefined {
  const own = typeof schema.meta === "function" ? schema.meta() : undefined;
  const name = names.get(schema);
  return name === undefined ? own : { ...own, id: name };
}
