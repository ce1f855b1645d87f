import { setOwn } from "../../kit/own-property.js";
import type { Direction, JsonSchema } from "../../validation/json-schema.js";

const prefix = "#/components/schemas/";

/** A reference to a shared schema while it is not known yet whether its two directions are one. */
export function referenceTo(name: string, direction: Direction): string {
  return `${prefix}${name}\n${direction}`;
}

/** A copy of a value in which each `$ref` of a schema is what `map` makes of it. */
export function mapReferences<T>(node: T, map: (reference: string) => string): T {
  if (Array.isArray(node)) return node.map((item) => mapReferences(item, map)) as T;
  if (typeof node !== "object" || node === null) return node;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    const mapped = key === "$ref" && typeof value === "string" ? map(value) : mapReferences(value, map);
    setOwn(copy, key, mapped);
  }
  return copy as T;
}

type Entries = ReadonlyMap<string, { readonly input?: JsonSchema; readonly output?: JsonSchema }>;

/** The shared schemas that differ as input and as output, and the names of the two. */
export class SplitNames {
  readonly #entries: Entries;
  readonly #split = new Set<string>();

  constructor(entries: Entries) {
    this.#entries = entries;
    // A schema that refers to a split one is split too, so this continues until nothing changes.
    for (let before = -1; before !== this.#split.size; ) {
      before = this.#split.size;
      for (const [name, { input, output }] of entries) {
        if (input && output && this.#text(input) !== this.#text(output)) this.#split.add(name);
      }
    }
  }

  isSplit(name: string): boolean {
    return this.#split.has(name);
  }

  finalName(name: string, direction: string): string {
    if (!this.#split.has(name) || direction === "output") return name;
    let final = `${name}Input`;
    while (this.#entries.has(final)) final += "_";
    return final;
  }

  settle<T>(node: T): T {
    return mapReferences(node, (reference) => {
      const [name, direction] = taken(reference);
      return direction === undefined ? reference : prefix + this.finalName(name, direction);
    });
  }

  #text(schema: JsonSchema): string {
    return JSON.stringify(
      mapReferences(schema, (reference) => {
        const [name, direction] = taken(reference);
        return direction === undefined || this.#split.has(name) ? reference : name;
      }),
    );
  }
}

function taken(reference: string): [name: string, direction: string | undefined] {
  if (!reference.startsWith(prefix)) return [reference, undefined];
  const [name, direction] = reference.slice(prefix.length).split("\n");
  return [name!, direction];
}
