import { MessagingError } from "../errors.js";
import type { Registry, SchemaDefinition } from "./registry.js";

/** A registry in the memory of the process, for development and tests. It takes every schema. */
export class MemoryRegistry implements Registry {
  readonly #definitions: SchemaDefinition[] = [];
  readonly #subjects = new Map<string, number[]>();

  async register(subject: string, definition: SchemaDefinition): Promise<number> {
    let index = this.#definitions.findIndex(({ schema }) => schema === definition.schema);
    if (index === -1) index = this.#definitions.push(definition) - 1;
    const versions = this.#subjects.get(subject) ?? [];
    if (!versions.includes(index + 1)) this.#subjects.set(subject, [...versions, index + 1]);
    return index + 1;
  }

  async find(subject: string, { schema }: SchemaDefinition): Promise<{ id: number; version: number } | null> {
    const versions = this.#subjects.get(subject) ?? [];
    const index = versions.findIndex((id) => this.#definitions[id - 1]!.schema === schema);
    return index === -1 ? null : { id: versions[index]!, version: index + 1 };
  }

  async incompatibility(): Promise<null> {
    return null;
  }

  async byId(id: number): Promise<SchemaDefinition> {
    const found = this.#definitions[id - 1];
    if (found === undefined) throw new MessagingError("REFUSED", `the schema registry in memory has no schema ${id}`);
    return found;
  }

  byVersion(subject: string, version: number): Promise<SchemaDefinition> {
    return this.byId(this.#subjects.get(subject)?.[version - 1] ?? 0);
  }
}
