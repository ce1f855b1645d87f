import type { Registry, SchemaDefinition } from "./registry.js";

/** A schema in one of the formats, ready for use. */
export interface Format {
  /** The name of the record or message; null if it has none. */
  readonly name: string | null;
  /**
   * The schema for the registry. Schemas that it refers to are registered first, if `register` is true. Null if the registry
   * does not have one of them.
   */
  definition(registry: Registry, register: boolean): Promise<SchemaDefinition | null>;
  /** Takes the id of this schema: it need not be fetched. */
  own?(id: number): void;
  /** The bytes after the id of the schema. Throws or rejects with `InvalidValueError`. */
  write(topic: string, value: unknown): Uint8Array | Promise<Uint8Array>;
  /** The value of the bytes after the id of the writer's schema, or a promise of it. */
  read(topic: string, id: number, payload: Uint8Array, registry: Registry): unknown;
}
