import { type DescribedSchema, isDescribed, jsonSchemaSymbol } from "../../validation/body-validator.js";
import { type Direction, type JsonSchema, jsonSchemaOf } from "../../validation/json-schema.js";
import { isSchema } from "../../validation/schema-walk.js";
import { isStandardSchema, type StandardSchema } from "../../validation/standard-schema.js";
import { componentName } from "./options.js";
import { mapReferences, referenceTo, SplitNames } from "./references.js";

/** A schema in a route: of a library, or of what describes itself. */
export type AnySchema = StandardSchema | DescribedSchema;

export function isAnySchema(value: unknown): value is AnySchema {
  return isDescribed(value) || isStandardSchema(value);
}

/** The schemas that a document shares. Input and output of one name have two schemas only where they differ. */
export class SchemaComponents {
  readonly #entries = new Map<string, { input?: JsonSchema; output?: JsonSchema }>();

  /** `names` holds the schemas that are shared under a name of the application's choice. */
  constructor(private readonly names: ReadonlyMap<unknown, string>) {}

  /** A schema as it stands in the document: a reference when it has a name. `hint` names what needs one and has none. */
  use(schema: AnySchema, direction: Direction, hint: string): JsonSchema {
    const root = this.#convert(schema, direction);
    const name = this.#nameOf(schema, root) ?? (refersToItself(root) ? hint : undefined);
    const { $defs, ...body } = root;
    const definitions: Record<string, unknown> = { ...(isSchema($defs) ? $defs : {}) };
    if (name === undefined) return this.#share(definitions, body, direction, hint);
    // `$ref: "#"` is the root itself, which moves to where its name is.
    definitions[name] = mapReferences(body, (reference) => (reference === "#" ? `#/$defs/${name}` : reference));
    return this.#share(definitions, { $ref: `#/$defs/${name}` }, direction, hint);
  }

  /** The whole schema with its `$defs`, to be looked into; what is taken from it goes through `share`. */
  open(
    schema: AnySchema,
    direction: Direction,
  ): { root: JsonSchema; share(part: JsonSchema, hint: string): JsonSchema } {
    const root = this.#convert(schema, direction);
    const definitions = isSchema(root["$defs"]) ? root["$defs"] : {};
    return { root, share: (part, hint) => this.#share(definitions, part, direction, hint) };
  }

  /** A schema of the document's own. */
  add(name: string, schema: JsonSchema): JsonSchema {
    return this.#share({ [name]: schema }, { $ref: `#/$defs/${name}` }, "output", name);
  }

  /** All shared schemas, and the document with its references to them settled. */
  settle<T>(document: T): { schemas: Record<string, JsonSchema>; document: T } {
    const names = new SplitNames(this.#entries);
    const schemas: [string, JsonSchema][] = [];
    for (const [name, { input, output }] of this.#entries) {
      if (output) schemas.push([names.finalName(name, "output"), names.settle(output)]);
      if (input && (!output || names.isSplit(name)))
        schemas.push([names.finalName(name, "input"), names.settle(input)]);
    }
    schemas.sort(([a], [b]) => (a < b ? -1 : 1));
    return { schemas: Object.fromEntries(schemas), document: names.settle(document) };
  }

  #convert(schema: AnySchema, direction: Direction): JsonSchema {
    if (isDescribed(schema)) return describe(schema, direction);
    const { $schema: _, ...root } = jsonSchemaOf(schema, direction, this.names) ?? {};
    return root;
  }

  #nameOf(schema: AnySchema, root: JsonSchema): string | undefined {
    if (typeof root["$ref"] === "string") return undefined;
    const given = this.names.get(schema);
    if (given !== undefined) return given;
    const title = root["title"];
    return typeof title === "string" && componentName.test(title) && "type" in root ? title : undefined;
  }

  /** Moves definitions to the components and gives `part` with its references leading there. */
  #share(definitions: JsonSchema, part: JsonSchema, direction: Direction, hint: string): JsonSchema {
    const chosen = new Map(Object.keys(definitions).map((key) => [key, soundName(key, hint)]));
    const moved = (node: unknown): JsonSchema =>
      mapReferences(node as JsonSchema, (reference) => {
        const key = decodeURIComponent(reference.replace(/^#\/\$defs\//, ""))
          .replaceAll("~1", "/")
          .replaceAll("~0", "~");
        const name = chosen.get(key);
        return name === undefined ? reference : referenceTo(name, direction);
      });
    for (let settled = false; !settled; ) {
      settled = true;
      for (const [key, name] of chosen) {
        const body = JSON.stringify(moved(definitions[key]));
        const known = this.#entries.get(name)?.[direction];
        const usedTwice = [...chosen].some(([other, taken]) => taken === name && other !== key);
        if (!usedTwice && (known === undefined || JSON.stringify(known) === body)) continue;
        // Another schema has this name: the names of all that refer to it change with it, so look again.
        chosen.set(key, nextName(name));
        settled = false;
      }
    }
    for (const [key, name] of chosen) {
      const entry = this.#entries.get(name) ?? {};
      entry[direction] ??= moved(definitions[key]);
      this.#entries.set(name, entry);
    }
    return moved(part);
  }
}

function describe(schema: DescribedSchema, direction: Direction): JsonSchema {
  const { name, schema: body } = schema[jsonSchemaSymbol](direction);
  const { $defs, $schema: _, ...root } = body;
  return { $ref: `#/$defs/${name}`, $defs: { ...(isSchema($defs) ? $defs : {}), [name]: root } };
}

function refersToItself(root: JsonSchema): boolean {
  let found = false;
  mapReferences(root, (reference) => {
    if (reference === "#") found = true;
    return reference;
  });
  return found;
}

/** A name that a library generated for a part it could not inline (`__schema0`) is meaningless. */
function soundName(key: string, hint: string): string {
  return /^__schema\d+$/.test(key) ? `${hint}Part` : key.replace(/[^A-Za-z0-9._-]/g, "_");
}

function nextName(name: string): string {
  const [, stem, number] = /^(.*?)(\d*)$/.exec(name)!;
  return `${stem}${number === "" ? 2 : Number(number) + 1}`;
}
