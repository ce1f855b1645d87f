import { type MigrationDefinition, type MigrationEvent, Migrator, type MigratorOptions, op } from "stoa/migrations";
import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { engines } from "../engines/db/engines.js";

export interface TestDatabase {
  readonly db: Database;
  readonly url: string;
}

/** Runs a suite on the embedded database, and on a server where there is one; every test finds it empty. */
export function describeEngines(
  name: string,
  server: string | undefined,
  suite: (database: () => TestDatabase) => void,
): void {
  describe.each(engines(server))(`${name} ($name)`, (engine) => {
    let database: TestDatabase;
    let drop: () => Promise<void>;
    beforeAll(async () => {
      const made = await engine.make();
      drop = made.drop;
      database = { url: made.url, db: await openDatabase({ url: made.url, poolSize: 4 }) };
    });
    beforeEach(() => database.db.script("DROP SCHEMA public CASCADE; CREATE SCHEMA public"));
    afterAll(async () => {
      await database?.db.close();
      await drop?.();
    });
    suite(() => database);
  });
}

export type Definitions = Readonly<Record<string, MigrationDefinition>>;

/** A migrator, and what it told. */
export function migratorOf(
  db: Database,
  migrations: Definitions,
  options: Omit<MigratorOptions, "migrations"> = {},
): { migrator: Migrator; events: MigrationEvent[] } {
  const events: MigrationEvent[] = [];
  return { migrator: new Migrator(db, { migrations, onEvent: (event) => events.push(event), ...options }), events };
}

export async function tables(db: Database): Promise<string[]> {
  const rows = await db.fetch<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' order by 1",
  );
  return rows.map(({ name }) => name).filter((name) => name !== "stoa_migrations");
}

export async function recorded(db: Database): Promise<string[]> {
  const rows = await db.fetch<{ name: string }>(
    "select name from stoa_migrations where applied_at is not null order by 1",
  );
  return rows.map(({ name }) => name);
}

const id = { type: "integer", identity: true };

/** A migration that makes a table. */
export function table(name: string, dependsOn: readonly string[] = []): MigrationDefinition {
  return { dependsOn, operations: [op.createTable(name, { columns: { id }, primaryKey: ["id"] })] };
}
