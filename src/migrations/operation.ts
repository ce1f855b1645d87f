import type { Queries } from "../engines/db/database.js";
import type { SchemaState } from "../orm/schema/state.js";

/** An SQL statement, or a function that runs in the transaction or on the connection of the migration. */
export type Step = string | ((db: Queries) => Promise<void> | void);

/**
 * One change of the schema, in both directions. From the state before it, it computes the statements that apply it, those
 * that undo it, and the state after it.
 */
export interface Operation {
  /** One line for people: `create table books`. */
  readonly description: string;
  /** False when PostgreSQL refuses it inside of a transaction: `create index concurrently`. */
  readonly transactional: boolean;
  /** The state after it; throws MigrationError when it does not fit the state before. */
  apply(before: SchemaState): SchemaState;
  up(before: SchemaState): readonly Step[];
  /** Undefined: it cannot be undone. */
  down(before: SchemaState): readonly Step[] | undefined;
  /**
   * The call that makes it, for the file that is written: `["addColumn", "books", "year", { type: "integer" }]`. Functions
   * cannot be written.
   */
  readonly source: readonly [name: string, ...args: unknown[]];
}

/** The content of a migration file. The name of the file is the name of the migration. */
export interface MigrationDefinition {
  /** Names of migrations that come before this one; the first has none. */
  readonly dependsOn?: readonly string[];
  /** The migrations that a squashed migration replaces. */
  readonly replaces?: readonly string[];
  /** False: runs without a transaction, for operations that PostgreSQL refuses in one. */
  readonly transaction?: boolean;
  /** Why it is safe for a running application although `stoa migrate lint` finds a risk: `the table has ten rows`. */
  readonly assured?: string;
  readonly operations: readonly Operation[];
}

export interface Migration
  extends Required<Omit<MigrationDefinition, "assured">>,
    Pick<MigrationDefinition, "assured"> {
  readonly name: string;
  /** A checksum of the operations, recorded when the migration is applied. Comments and formatting do not change it. */
  readonly checksum: string;
  /** The file that it was read from. */
  readonly file?: string;
}
