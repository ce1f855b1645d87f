import type { Queries } from "../engines/db/database.js";
import type { SchemaState } from "../orm/schema/state.js";

/** One statement of SQL, or a function that works in the transaction of the migration, or on its connection. */
export type Step = string | ((db: Queries) => Promise<void> | void);

/**
 * One change. An operation is told once, as data, and knows both directions: from the state before it follow the statements
 * that carry it out, those that undo it, and the state after it.
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
  /** The call that makes it, for the file that is written: `["addColumn", "books", "year", { type: "integer" }]`. Functions cannot be written. */
  readonly source: readonly [name: string, ...args: unknown[]];
}

/** What a migration file says. Its name is the name of the file. */
export interface MigrationDefinition {
  /** Names of migrations that come before this one; the first has none. */
  readonly dependsOn?: readonly string[];
  /** Of a squashed migration: those it stands for. */
  readonly replaces?: readonly string[];
  /** False: no transaction around it, for operations that PostgreSQL refuses in one. */
  readonly transaction?: boolean;
  readonly operations: readonly Operation[];
}

export interface Migration extends Required<MigrationDefinition> {
  readonly name: string;
  /** Of what the operations say, not of the text: comments and formatting may change. Recorded when it is applied. */
  readonly checksum: string;
}
