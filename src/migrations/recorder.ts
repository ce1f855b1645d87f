import type { Queries } from "../engines/db/database.js";
import { checkIdentifier, qualified } from "../orm/identifiers.js";
import type { Migration } from "./operation.js";

/** The record of a migration in the database. */
export interface MigrationRecord {
  readonly name: string;
  readonly checksum: string;
  /** Null while it is not finished, which only happens to one that runs without a transaction. */
  readonly appliedAt: Date | null;
  readonly durationMs: number;
  /** Of one that is not finished: how many of its operations are in effect. */
  readonly operations: number | null;
}

/** The table in which a database keeps what was applied to it. */
export class Recorder {
  /** Quoted, with its schema when it has one. */
  readonly table: string;

  constructor(table: string) {
    const [name, schema] = table.split(".").reverse();
    if (schema !== undefined) checkIdentifier("the schema of the table of migrations", schema);
    this.table = qualified(schema, checkIdentifier("the table of migrations", name));
  }

  /** Works without the table too: it is created by the first migration. */
  async read(db: Queries): Promise<MigrationRecord[]> {
    if ((await db.fetchval("select to_regclass($1)::text", [this.table])) === null) return [];
    return db.fetch<MigrationRecord & object>(
      `select name, checksum, applied_at as "appliedAt", duration as "durationMs", operations from ${this.table} order by applied_at, name`,
      [],
      // The table may have come only just now, or from an older version.
      { prepare: false },
    );
  }

  get createStatement(): string {
    return `CREATE TABLE IF NOT EXISTS ${this.table} (
  name text PRIMARY KEY,
  checksum text NOT NULL,
  applied_at timestamp(3) with time zone DEFAULT CURRENT_TIMESTAMP,
  duration integer NOT NULL DEFAULT 0,
  operations integer
)`;
  }

  async create(db: Queries): Promise<void> {
    if ((await db.fetchval("select to_regclass($1)::text", [this.table])) === null)
      await db.execute(this.createStatement);
  }

  async applied(db: Queries, migration: Migration, durationMs: number): Promise<void> {
    await db.execute(
      `insert into ${this.table} (name, checksum, duration) values ($1, $2, $3)
       on conflict (name) do update set checksum = excluded.checksum, applied_at = excluded.applied_at,
         duration = excluded.duration, operations = null`,
      [migration.name, migration.checksum, Math.min(Math.round(durationMs), 2_147_483_647)],
    );
  }

  /**
   * Records the number of operations in effect of a migration without a transaction; `checksum` covers those
   * operations.
   */
  async unfinished(db: Queries, name: string, checksum: string, operations: number): Promise<void> {
    await db.execute(
      `insert into ${this.table} (name, checksum, applied_at, operations) values ($1, $2, null, $3)
       on conflict (name) do update set checksum = excluded.checksum, applied_at = null, operations = excluded.operations`,
      [name, checksum, operations],
    );
  }

  async remove(db: Queries, names: readonly string[]): Promise<void> {
    await db.execute(`delete from ${this.table} where name = any($1)`, [names]);
  }
}
