/** A schema as registries keep it. */
export interface SchemaDefinition {
  readonly schema: string;
  /** Absent for Avro. */
  readonly schemaType?: "PROTOBUF" | "JSON";
  readonly references?: readonly SchemaReference[];
}

/** A schema of another subject that a schema uses. */
export interface SchemaReference {
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

/** The calls to a schema registry. All reject with a `MessagingError`. */
export interface Registry {
  /** Adds a schema to a subject, unless it has it. Resolves to the id. */
  register(subject: string, definition: SchemaDefinition): Promise<number>;
  /** Finds a schema of a subject; null if the subject does not have it. */
  find(
    subject: string,
    definition: SchemaDefinition,
  ): Promise<{ readonly id: number; readonly version: number } | null>;
  /** The reasons that a schema does not fit the subject's latest version; null if it does. */
  incompatibility(subject: string, definition: SchemaDefinition): Promise<readonly string[] | null>;
  /** A schema by its id. */
  byId(id: number): Promise<SchemaDefinition>;
  /** A version of a subject. */
  byVersion(subject: string, version: number): Promise<SchemaDefinition>;
}
