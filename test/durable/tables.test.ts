import { describe, expect, it, vi } from "vitest";
import { installTables } from "../../src/durable/tables.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { jobTables } from "../../src/patterns/jobs/tables.js";
import { sagaTables } from "../../src/patterns/saga/tables.js";
import { makeDatabase } from "../engines/db/engines.js";
import { service } from "../support/service.js";

const server = service("postgres");
const patient = { timeout: 30_000, interval: 10 };

describe.skipIf(!server)("a new version of tables that others use", { timeout: 120_000 }, () => {
  it("Others use the tables while their next version waits for a long transaction, and it is installed after that", async () => {
    const { url, drop } = await makeDatabase(server!);
    const db = await openDatabase(url);
    await installTables(db, "stoa", { ...jobTables, versions: jobTables.versions.slice(0, 1) });
    let installing: Promise<void> | null = null;
    await db.transaction(async (tx) => {
      await tx.execute(`insert into stoa.jobs (name, value) values ('old', '1')`);
      installing = installTables(db, "stoa", jobTables);
      const waits = `select count(*)::int from pg_locks where not granted and mode = 'AccessExclusiveLock'
        and database = (select oid from pg_database where datname = current_database())`;
      await vi.waitFor(async () => expect(await db.fetchval(waits)).toBe(1), patient);
      // Stands behind the change until its patience is over.
      expect(await db.fetchval("select count(*)::int from stoa.jobs", [], { timeout: 30 })).toBe(0);
    });
    await installing;
    expect(await db.fetchval("select count(*)::int from stoa.jobs where trace is null")).toBe(1);
    await db.close();
    await drop();
  });

  it.each([jobTables, sagaTables])(
    "An older program is refused until an operator sets the version of its tables back, and a newer one can follow",
    async (tables) => {
      const { url, drop } = await makeDatabase(server!);
      const db = await openDatabase(url);
      const older = { ...tables, versions: tables.versions.slice(0, 1) };
      await installTables(db, "stoa", tables);
      await expect(installTables(db, "stoa", older)).rejects.toThrow("made by a newer stoa; this one knows 1");
      await db.execute("update stoa.versions set version = 1 where component = $1", [tables.component]);
      await installTables(db, "stoa", older);
      await installTables(db, "stoa", tables);
      expect(await db.fetchval("select version from stoa.versions where component = $1", [tables.component])).toBe(
        tables.versions.length,
      );
      await db.close();
      await drop();
    },
  );
});
