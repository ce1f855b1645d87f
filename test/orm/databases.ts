import { afterAll, beforeAll, describe } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { bindDatabase, createTables, type ModelConstructor } from "../../src/entry/orm.js";
import { engines } from "../engines/db/engines.js";

/** Runs a suite on the embedded database, and on a server where there is one: models are bound and their tables made. */
export function describeDatabases(
  name: string,
  server: string | undefined,
  models: readonly ModelConstructor[],
  suite: (database: () => Database) => void,
): void {
  describe.each(engines(server))(`${name} ($name)`, (engine) => {
    let db: Database;
    let drop: () => Promise<void>;
    beforeAll(async () => {
      const made = await engine.make();
      drop = made.drop;
      db = await openDatabase({ url: made.url, poolSize: 8 });
      bindDatabase(db);
      await createTables(db, models);
    });
    afterAll(async () => {
      bindDatabase(null);
      await db?.close();
      await drop?.();
    });
    suite(() => db);
  });
}

/** Empties the tables. */
export async function truncate(db: Database, models: readonly ModelConstructor[]): Promise<void> {
  await db.script(`TRUNCATE ${models.map((model) => model.meta.sqlName).join(", ")} RESTART IDENTITY CASCADE`);
}
