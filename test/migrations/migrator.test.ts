import { MigrationFailure, Migrator, migrate, migration, op } from "stoa/migrations";
import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { emptyDatabases, makeDatabase } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { type Definitions, describeEngines, migratorOf, recorded, table, tables } from "./running.js";

const server = service("postgres");
const empty = emptyDatabases(server);
const year = { type: "integer", nullable: true };

const four: Definitions = {
  "0001_a": table("a"),
  "0002_b": table("b", ["0001_a"]),
  "0003_c": table("c", ["0002_b"]),
  "0004_d": table("d", ["0003_c"]),
};

describeEngines("applying", server, (database) => {
  it("up() applies all migrations in order, records each and reports it", async () => {
    const { migrator, events } = migratorOf(database().db, four);
    const steps = await migrator.up();
    expect(steps.map(({ name }) => name)).toEqual(Object.keys(four));
    expect(steps[0]).toMatchObject({ direction: "up", transaction: true, operations: ["create table a"] });
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
    expect(await recorded(database().db)).toEqual(Object.keys(four));
    expect(events.slice(0, 3)).toEqual([
      { type: "start", name: "0001_a", direction: "up" },
      { type: "operation", name: "0001_a", direction: "up", description: "create table a" },
      { type: "done", name: "0001_a", direction: "up", durationMs: expect.any(Number) },
    ]);
  });

  it("A second up() does nothing", async () => {
    await migratorOf(database().db, four).migrator.up();
    const again = migratorOf(database().db, four);
    expect(await again.migrator.up()).toEqual([]);
    expect(again.events).toEqual([]);
  });

  it("down() with dryRun returns the steps and undoes nothing", async () => {
    const { migrator } = migratorOf(database().db, four);
    await migrator.up();
    expect((await migrator.down({ dryRun: true, steps: 2 })).map(({ name }) => name)).toEqual(["0004_d", "0003_c"]);
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
  });

  it("A migrator whose signal is aborted applies nothing", async () => {
    const { migrator } = migratorOf(database().db, four, { signal: AbortSignal.abort(new Error("enough")) });
    await expect(migrator.up()).rejects.toThrow();
    expect(await tables(database().db)).toEqual([]);
  });

  it("up() stops at the given target", async () => {
    const { migrator } = migratorOf(database().db, four);
    await migrator.up({ to: "0002" });
    expect(await tables(database().db)).toEqual(["a", "b"]);
    await migrator.up();
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
  });

  it("up() stops at the first migration that fails, and leaves no trace of it", async () => {
    const broken: Definitions = {
      ...four,
      "0003_c": { dependsOn: ["0002_b"], operations: [...four["0003_c"]!.operations, op.sql("select * from nowhere")] },
    };
    const { migrator } = migratorOf(database().db, broken);
    const error = await migrator.up().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MigrationFailure);
    expect((error as Error).message).toBe(
      '0003_c, operation 2 (run SQL: select * from nowhere) failed: relation "nowhere" does not exist. ' +
        "Nothing of it was applied. Before it, 0001_a, 0002_b were applied",
    );
    expect(error).toMatchObject({ migration: "0003_c", statement: "select * from nowhere" });
    expect(await tables(database().db)).toEqual(["a", "b"]);
    expect(await recorded(database().db)).toEqual(["0001_a", "0002_b"]);
    await migratorOf(database().db, four).migrator.up();
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
  });

  it("A function in a migration gets its transaction, and is rolled back with it", async () => {
    const data = (fail: boolean): Definitions => ({
      "0001_a": table("a"),
      "0002_fill": {
        dependsOn: ["0001_a"],
        operations: [
          op.addColumn("a", "year", year),
          op.run(async function fill(db) {
            await db.execute("insert into a (year) values ($1)", [1968]);
            if (fail) throw new Error("second thoughts");
          }),
        ],
      },
    });
    await expect(migratorOf(database().db, data(true)).migrator.up()).rejects.toThrow(
      "0002_fill, operation 2 (run fill) failed: second thoughts. Nothing of it was applied. Before it, 0001_a was applied",
    );
    expect(await database().db.fetchval("select count(*) from a")).toBe(0);
    await migratorOf(database().db, data(false)).migrator.up();
    expect(await database().db.fetchval("select year from a")).toBe(1968);
  });

  it("SQL that ends the transaction of its migration is reported", async () => {
    const { migrator } = migratorOf(database().db, { "1": { operations: [op.sql("commit"), op.sql("select 1")] } });
    await expect(migrator.up()).rejects.toThrow(
      "1, operation 1 (run SQL: commit) failed: it ended the transaction of the migration. " +
        "What was done up to there is not undone, and nothing is recorded",
    );
    expect(await recorded(database().db)).toEqual([]);
  });

  it("A migration that the database refuses at the commit is reported", async () => {
    const late = `create table p (id integer primary key);
      create table c (p integer references p deferrable initially deferred);
      insert into c values (1)`;
    const { migrator } = migratorOf(database().db, { "1": { operations: [op.sql(late)] } });
    await expect(migrator.up()).rejects.toThrow(/^1 failed: .*foreign key.* Nothing of it was applied$/);
    expect(await tables(database().db)).toEqual([]);
  });

  it("Records are found although SQL of a migration, such as a dump, empties the search path", async () => {
    const dump = "select pg_catalog.set_config('search_path', '', false); create table public.a ()";
    const { migrator } = migratorOf(database().db, {
      "1": { operations: [op.sql(dump)] },
      "2": { dependsOn: ["1"], transaction: false, operations: [op.sql(dump.replace(".a", ".b"))] },
      "3": table("c", ["2"]),
    });
    await migrator.up();
    expect(await tables(database().db)).toEqual(["a", "b", "c"]);
    expect(await recorded(database().db)).toEqual(["1", "2", "3"]);
  });

  it("Two last migrations are refused before anything is done, unless one is named", async () => {
    const forked = { "1": table("a"), "2x": table("x", ["1"]), "2y": table("y", ["1"]) };
    const { migrator } = migratorOf(database().db, forked);
    await expect(migrator.up()).rejects.toThrow("2 migrations are the last: 2x and 2y");
    expect(await tables(database().db)).toEqual([]);
    await migrator.up({ to: "2y" });
    expect(await tables(database().db)).toEqual(["a", "y"]);
    const merged = { ...forked, "3_merge": { dependsOn: ["2x", "2y"], operations: [] } };
    expect((await migratorOf(database().db, merged).migrator.up()).map(({ name }) => name)).toEqual(["2x", "3_merge"]);
  });

  it("An operation that does not fit is named before anything is done", async () => {
    const { migrator } = migratorOf(database().db, {
      "1": table("a"),
      "2": { dependsOn: ["1"], operations: [op.addColumn("nowhere", "year", year)] },
    });
    await expect(migrator.up()).rejects.toThrow(/^2, operation 1 \(add column .*nowhere.*\): .*nowhere/);
    expect(await tables(database().db)).toEqual([]);
  });

  it("A dry run reports the steps and changes nothing", async () => {
    const { migrator } = migratorOf(database().db, four);
    const steps = await migrator.up({ dryRun: true, to: "0001_a" });
    expect(steps).toHaveLength(1);
    expect(steps[0]!.statements[0]).toMatch(/^CREATE TABLE "a"/);
    expect(await migrator.plan()).toHaveLength(4);
    expect(await database().db.fetchval("select to_regclass('stoa_migrations')::text")).toBeNull();
  });

  it("A fake run records migrations without running them", async () => {
    await database().db.script("create table a (id integer)");
    const { migrator, events } = migratorOf(database().db, four);
    await migrator.up({ to: "0001_a", fake: true });
    expect(events).toEqual([{ type: "done", name: "0001_a", direction: "up", durationMs: null }]);
    await migrator.up();
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
  });

  it("The records can be kept in a table of another name", async () => {
    await database().db.script("create schema if not exists ops");
    await migratorOf(database().db, four, { table: "ops.history" }).migrator.up();
    expect(await database().db.fetchval("select count(*) from ops.history")).toBe(4);
    await database().db.script("drop schema ops cascade");
  });

  it("migrate() applies all migrations in one call", async () => {
    expect(await migrate(database().db, { migrations: four })).toHaveLength(4);
    expect(await migrate(database().db, { migrations: four })).toEqual([]);
  });

  it("Concurrent callers in one process wait for each other and run each migration once", async () => {
    const runs = [1, 2, 3].map(() => migratorOf(database().db, four));
    const done = await Promise.all(runs.map(({ migrator }) => migrator.up()));
    expect(done.map((steps) => steps.length).sort()).toEqual([0, 0, 4]);
    expect(runs.filter(({ events }) => events.some(({ type }) => type === "waiting"))).toHaveLength(2);
  });

  it("A caller in the same process stops waiting after its time limit", async () => {
    const begun = signal();
    const held = signal();
    const slow: Definitions = {
      "1": {
        operations: [
          op.run(() => {
            begun.resolve();
            return held.promise;
          }),
        ],
      },
    };
    const first = migratorOf(database().db, slow).migrator.up();
    await begun.promise;
    const second = migratorOf(database().db, slow, { lockTimeout: "50ms" });
    await expect(second.migrator.up()).rejects.toThrow(
      "another process is migrating this database and did not finish within 50 ms (lockTimeout); nothing was done here",
    );
    held.resolve();
    await first;
  });
});

describe.skipIf(!server)("a locked table", () => {
  it("A migration gives up on a table that is in use for longer than 'tableLockTimeout'", async () => {
    const { url, drop } = await makeDatabase(server!);
    onTestFinished(drop);
    const db = await openDatabase({ url, poolSize: 4 });
    onTestFinished(() => db.close());
    const other = await openDatabase(url);
    onTestFinished(() => other.close());
    const definitions = { "1": table("b"), "2": { dependsOn: ["1"], operations: [op.addColumn("b", "year", year)] } };
    const { migrator } = migratorOf(db, definitions, { tableLockTimeout: "50ms" });
    await migrator.up({ to: "1" });
    await other.transaction(async (tx) => {
      await tx.execute("lock table b in share mode");
      await expect(migrator.up()).rejects.toThrow("a table was in use for longer than tableLockTimeout");
    });
    expect(await migrator.up()).toHaveLength(1);
  });
});

describeEngines("undoing", server, (database) => {
  it("down() undoes the last migration, several, down to one, or all", async () => {
    const { migrator } = migratorOf(database().db, four);
    await migrator.up();
    expect((await migrator.down()).map(({ name }) => name)).toEqual(["0004_d"]);
    expect(await tables(database().db)).toEqual(["a", "b", "c"]);
    expect((await migrator.down({ steps: 2 })).map(({ name }) => name)).toEqual(["0003_c", "0002_b"]);
    await migrator.up();
    expect((await migrator.down({ to: "0003" })).map(({ name }) => name)).toEqual(["0004_d"]);
    await migrator.down({ to: null });
    expect(await tables(database().db)).toEqual([]);
    expect(await recorded(database().db)).toEqual([]);
    expect(await migrator.down()).toEqual([]);
  });

  it("down() undoes the operations of a migration in reverse, and restores the previous schema", async () => {
    const chain: Definitions = {
      "1": { operations: [op.createTable("a", { columns: { id: { type: "integer" }, year } })] },
      "2": {
        dependsOn: ["1"],
        operations: [
          op.dropColumn("a", "year"),
          op.addColumn("a", "pages", year),
          op.run(
            () => {},
            async (db) => void (await db.execute("insert into a (id, pages) values (1, 2)")),
          ),
        ],
      },
    };
    const { migrator } = migratorOf(database().db, chain);
    await migrator.up();
    await migrator.down();
    expect(await database().db.fetch("select * from a")).toEqual([{ id: 1, year: null }]);
  });

  it("down() refuses in advance a migration without a way back, and undoes nothing", async () => {
    const chain: Definitions = {
      ...four,
      "0003_c": { dependsOn: ["0002_b"], operations: [op.sql("create table c ()")] },
    };
    const { migrator } = migratorOf(database().db, chain);
    await migrator.up();
    await expect(migrator.down({ to: "0001_a" })).rejects.toThrow(
      "0003_c, operation 1 (run SQL: create table c ()) cannot be undone; nothing was done",
    );
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
    await migrator.down();
    expect((await migrator.down({ fake: true })).map(({ name }) => name)).toEqual(["0003_c"]);
    expect(await tables(database().db)).toEqual(["a", "b", "c"]);
    expect(await recorded(database().db)).toEqual(["0001_a", "0002_b"]);
  });

  it("down() refuses a target that is not applied", async () => {
    const { migrator } = migratorOf(database().db, four);
    await migrator.up({ to: "0002_b" });
    await expect(migrator.down({ to: "0003_c" })).rejects.toThrow("0003_c is not applied: there is no way back to it");
    await expect(migrator.down({ to: "0009" })).rejects.toThrow("there is no migration '0009'");
  });

  it("A failed down() reports that nothing was undone", async () => {
    const { migrator } = migratorOf(database().db, {
      "1": { operations: [op.sql("select 1", ["create table x ()", "select nonsense"])] },
    });
    await migrator.up();
    await expect(migrator.down()).rejects.toThrow(
      '1, operation 1 (run SQL: select 1) failed to be undone: column "nonsense" does not exist. Nothing of it was undone',
    );
    expect(await tables(database().db)).toEqual([]);
    expect(await recorded(database().db)).toEqual(["1"]);
  });
});

describeEngines("without a transaction", server, (database) => {
  const indexed = (...rest: readonly ReturnType<typeof op.sql>[]): Definitions => ({
    "1": { operations: [op.createTable("a", { columns: { year } })] },
    "2": migration({
      dependsOn: ["1"],
      transaction: false,
      operations: [op.createIndex("a", "a_year_idx", { on: ["year"] }, { concurrently: true }), ...rest],
    }),
  });

  it("An operation that cannot run in a transaction is refused in advance", async () => {
    const wrong = { ...indexed(), "2": { ...indexed()["2"]!, transaction: true } };
    await expect(migratorOf(database().db, wrong).migrator.up()).rejects.toThrow(
      "2, operation 1 (create index a_year_idx on a, concurrently) cannot run in a transaction: write `transaction: false` into the migration",
    );
    expect(await tables(database().db)).toEqual([]);
  });

  it("SQL that PostgreSQL refuses in a transaction runs in a migration without one, if it says so", async () => {
    const vacuum = op.sql("vacuum a", [], { transactional: false });
    const of = (transaction: boolean): Definitions => ({
      "1": table("a"),
      "2": { dependsOn: ["1"], operations: [vacuum], ...(!transaction && { transaction }) },
    });
    await expect(migratorOf(database().db, of(true)).migrator.up()).rejects.toThrow("cannot run in a transaction");
    await migratorOf(database().db, of(false)).migrator.up();
    expect(await recorded(database().db)).toEqual(["1", "2"]);
  });

  it("An index is built and dropped concurrently outside a transaction", async () => {
    const { migrator } = migratorOf(database().db, indexed());
    const indexes = "select indexname from pg_indexes where tablename = 'a'";
    await migrator.up();
    expect(await database().db.fetch(indexes)).toEqual([{ indexname: "a_year_idx" }]);
    await migrator.down();
    expect(await database().db.fetch(indexes)).toEqual([]);
    expect(await recorded(database().db)).toEqual(["1"]);
  });

  it("A failure outside a transaction reports the finished operations, and the next run continues there", async () => {
    const broken = migratorOf(database().db, indexed(op.sql("select nonsense", []), op.sql("select 1", [])));
    await expect(broken.migrator.up()).rejects.toThrow(
      '2, operation 2 (run SQL: select nonsense) failed: column "nonsense" does not exist. ' +
        "It runs without a transaction; carried out: operation 1 (create index a_year_idx on a, concurrently). " +
        "Remove the cause and run it again: it continues where it stopped. Or do the rest by hand and record that with " +
        "`stoa migrate up --fake --to 2`. Before it, 1 was applied",
    );
    expect((await broken.migrator.status()).map(({ state }) => state)).toEqual(["applied", "unfinished"]);
    const mended = migratorOf(
      database().db,
      indexed(op.sql("create table b ()", "drop table b"), op.sql("select 1", [])),
    );
    const steps = await mended.migrator.up();
    expect(steps[0]!.operations).toEqual(["run SQL: create table b ()", "run SQL: select 1"]);
    expect((await mended.migrator.status()).map(({ state, changed }) => [state, changed])).toEqual([
      ["applied", false],
      ["applied", false],
    ]);
    await mended.migrator.down();
    expect(await tables(database().db)).toEqual(["a"]);
  });

  it("A migration that stopped half-way can be undone, or recorded as done", async () => {
    const broken = indexed(op.sql("select nonsense", []));
    const { migrator } = migratorOf(database().db, broken);
    await expect(migrator.up()).rejects.toThrow(MigrationFailure);
    expect((await migrator.down())[0]!.operations).toEqual(["create index a_year_idx on a, concurrently"]);
    expect((await migrator.status()).map(({ state }) => state)).toEqual(["applied", "pending"]);
    await expect(migrator.up()).rejects.toThrow(MigrationFailure);
    await migrator.up({ fake: true });
    expect((await migrator.status()).map(({ state }) => state)).toEqual(["applied", "applied"]);
  });

  it("A migration that stopped half-way can be finished by hand with its script", async () => {
    await expect(migratorOf(database().db, indexed(op.sql("select nonsense", []))).migrator.up()).rejects.toThrow();
    const { migrator } = migratorOf(database().db, indexed(op.sql("create table b ()", "drop table b")));
    const script = await migrator.sql();
    expect(script).not.toContain("INDEX");
    await database().db.script(script);
    expect((await migrator.status()).map(({ state, changed }) => [state, changed])).toEqual([
      ["applied", false],
      ["applied", false],
    ]);
  });

  it("The script of down has as many migrations as 'steps' says, the last first", async () => {
    const { migrator } = migratorOf(database().db, four);
    await migrator.up();
    await database().db.script(await migrator.sql({ down: true, steps: 2 }));
    expect(await tables(database().db)).toEqual(["a", "b"]);
    expect(await recorded(database().db)).toEqual(["0001_a", "0002_b"]);
  });

  it("A statement that ends with a comment is ended before the next one in the script", async () => {
    const { migrator } = migratorOf(database().db, {
      "1": { operations: [op.sql("create table a ()\n-- the first"), op.sql("select 'a--b'")] },
    });
    const script = await migrator.sql();
    expect(script).toContain("-- the first\n;\n");
    expect(script).toContain("select 'a--b';\n");
    await database().db.script(script);
    expect((await migrator.status()).map(({ state }) => state)).toEqual(["applied"]);
  });

  it("A migration that stopped half-way is refused if its finished operations were changed in the file", async () => {
    await expect(migratorOf(database().db, indexed(op.sql("select nonsense", []))).migrator.up()).rejects.toThrow();
    const changed = {
      ...indexed(),
      "2": { dependsOn: ["1"], transaction: false, operations: [op.addColumn("a", "pages", year)] },
    };
    await expect(migratorOf(database().db, changed).migrator.up()).rejects.toThrow(
      "2 is applied to this database, but what was carried out of it was changed since",
    );
  });

  it("A failed down() outside a transaction reports what was undone", async () => {
    const chain: Definitions = {
      "1": {
        transaction: false,
        operations: [op.sql("create table x ()", "select nonsense"), op.sql("create table y ()", "drop table y")],
      },
    };
    const { migrator } = migratorOf(database().db, chain);
    await migrator.up();
    await expect(migrator.down()).rejects.toThrow(
      "It runs without a transaction; undone: operation 2 (run SQL: create table y ()). ",
    );
    expect(await tables(database().db)).toEqual(["x"]);
    expect((await migrator.status())[0]!.state).toBe("unfinished");
    await migrator.up();
    expect(await tables(database().db)).toEqual(["x", "y"]);
  });

  it("A function outside a transaction commits its work in portions", async () => {
    const chain: Definitions = {
      "1": { operations: [op.createTable("a", { columns: { year } })] },
      "2": {
        dependsOn: ["1"],
        transaction: false,
        operations: [
          op.run(async (db) => {
            await db.execute("insert into a values (1)");
            throw new Error("cut off");
          }),
        ],
      },
    };
    await expect(migratorOf(database().db, chain).migrator.up()).rejects.toThrow(
      "It runs without a transaction; none of its operations was carried out.",
    );
    expect(await database().db.fetchval("select count(*) from a")).toBe(1);
  });
});

describeEngines("drift", server, (database) => {
  const changed: Definitions = { ...four, "0002_b": table("bb", ["0001_a"]) };
  const { "0002_b": _, ...without } = four;
  const missing: Definitions = { ...without, "0003_c": table("c", ["0001_a"]) };

  it("An applied migration that was changed is refused by name", async () => {
    await migratorOf(database().db, four).migrator.up({ to: "0003_c" });
    const { migrator } = migratorOf(database().db, changed);
    const message =
      "0002_b is applied to this database, but it was changed since: undo the change and write another migration, or continue anyway with --allow-drift (allowDrift: true)";
    for (const run of [() => migrator.up(), () => migrator.down(), () => migrator.plan(), () => migrator.sql()]) {
      await expect(run()).rejects.toThrow(message);
    }
    expect(await tables(database().db)).toEqual(["a", "b", "c"]);
    await migratorOf(database().db, changed, { allowDrift: true }).migrator.up();
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
  });

  it("An applied migration whose file is missing is refused by name", async () => {
    await migratorOf(database().db, four).migrator.up({ to: "0003_c" });
    await expect(migratorOf(database().db, missing).migrator.up()).rejects.toThrow(
      "0002_b is applied to this database, but its file is missing: bring it back, or continue anyway with --allow-drift",
    );
    await migratorOf(database().db, missing, { allowDrift: true }).migrator.up();
    expect(await tables(database().db)).toEqual(["a", "b", "c", "d"]);
  });

  it("The status shows changed and missing migrations and refuses nothing", async () => {
    await migratorOf(database().db, four).migrator.up({ to: "0003_c" });
    const states = (definitions: Definitions) =>
      migratorOf(database().db, definitions)
        .migrator.status()
        .then((entries) => entries.map(({ name, state, changed }) => [name, state, changed]));
    expect(await states(changed)).toEqual([
      ["0001_a", "applied", false],
      ["0002_b", "applied", true],
      ["0003_c", "applied", false],
      ["0004_d", "pending", false],
    ]);
    expect((await states(missing)).at(-1)).toEqual(["0002_b", "missing", false]);
  });

  it("An applied migration whose dependency is not applied is refused", async () => {
    await migratorOf(database().db, { "0002_b": table("b") }).migrator.up();
    await expect(migratorOf(database().db, four).migrator.up()).rejects.toThrow(
      "0002_b is applied, but 0001_a, on which it depends, is not",
    );
  });
});

describeEngines("squashed migrations", server, (database) => {
  const operations = [...four["0001_a"]!.operations, ...four["0002_b"]!.operations];
  const squashed: Definitions = {
    ...four,
    "0002_squashed": { replaces: ["0001_a", "0002_b"], operations },
  };
  const { "0001_a": _a, "0002_b": _b, ...trimmed } = squashed;

  it("A squashed migration runs in place of the replaced ones on an empty database", async () => {
    await migratorOf(database().db, squashed).migrator.up();
    expect(await recorded(database().db)).toEqual(["0002_squashed", "0003_c", "0004_d"]);
    expect(await migratorOf(database().db, trimmed).migrator.up()).toEqual([]);
  });

  it("A squashed migration is recorded if all it replaces is applied, and old records go with the old files", async () => {
    await migratorOf(database().db, four).migrator.up({ to: "0003_c" });
    const both = migratorOf(database().db, squashed);
    expect((await both.migrator.up()).map(({ name }) => name)).toEqual(["0004_d"]);
    expect(both.events[0]).toEqual({ type: "adopted", name: "0002_squashed" });
    expect(await recorded(database().db)).toEqual(["0001_a", "0002_b", "0002_squashed", "0003_c", "0004_d"]);
    await migratorOf(database().db, trimmed).migrator.up();
    expect(await recorded(database().db)).toEqual(["0002_squashed", "0003_c", "0004_d"]);
    const { replaces: _, ...plain } = squashed["0002_squashed"]!;
    const final = { ...trimmed, "0002_squashed": plain, "0003_c": table("c", ["0002_squashed"]) };
    expect(await migratorOf(database().db, final).migrator.up()).toEqual([]);
  });

  it("A squashed migration waits until a database with some of the replaced ones has the others", async () => {
    await migratorOf(database().db, four).migrator.up({ to: "0001_a" });
    const { migrator } = migratorOf(database().db, squashed);
    await migrator.up();
    expect(await recorded(database().db)).toEqual(["0001_a", "0002_b", "0003_c", "0004_d"]);
    await migrator.up();
    expect(await recorded(database().db)).toContain("0002_squashed");
  });

  it("A squashed migration is undone as a whole", async () => {
    await migratorOf(database().db, four).migrator.up({ to: "0002_b" });
    const { migrator } = migratorOf(database().db, squashed);
    await migrator.down();
    expect(await tables(database().db)).toEqual([]);
    expect(await recorded(database().db)).toEqual([]);
  });
});

describeEngines("the script", server, (database) => {
  it("The script by sql() does the same as up() and down(), including the records", async () => {
    const { migrator } = migratorOf(database().db, four);
    await database().db.script(await migrator.sql({ to: "0003_c" }));
    expect(await tables(database().db)).toEqual(["a", "b", "c"]);
    expect((await migrator.up()).map(({ name }) => name)).toEqual(["0004_d"]);
    await database().db.script(await migrator.sql({ down: true, to: "0002_b" }));
    expect(await tables(database().db)).toEqual(["a", "b"]);
    expect(await recorded(database().db)).toEqual(["0001_a", "0002_b"]);
  });

  it("The script by sql() leads from one migration to another in either direction", async () => {
    const { migrator } = migratorOf(database().db, four);
    const made = (text: string): string[] => [...text.matchAll(/(?:CREATE|DROP) TABLE "(\w)"/g)].map(([all]) => all);
    expect(made(await migrator.sql({ from: "0001_a", to: "0003_c" }))).toEqual([
      'CREATE TABLE "b"',
      'CREATE TABLE "c"',
    ]);
    expect(made(await migrator.sql({ from: null }))).toHaveLength(4);
    expect(made(await migrator.sql({ from: "0002_b", to: null }))).toEqual(['DROP TABLE "b"', 'DROP TABLE "a"']);
  });

  it("The script by sql() is empty without changes, and shows a function as a comment", async () => {
    const { migrator } = migratorOf(database().db, {
      "1": { transaction: false, operations: [op.run(async function fill() {}), op.sql("select 1 -- one")] },
    });
    const script = await migrator.sql();
    expect(script).toContain("-- a function runs here, which cannot be shown as SQL: run fill");
    expect(script).toContain("select 1 -- one\n;");
    expect(script).not.toContain("BEGIN");
    await database().db.script(script);
    expect(await migrator.sql()).toBe("");
  });
});

/** A promise, and what resolves it. */
function signal(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe("options", () => {
  it("The options of a migrator are checked", async () => {
    const db = await openDatabase(await empty());
    try {
      expect(() => new Migrator(db, {})).toThrow("Migrator needs either 'directory' or 'migrations'");
      expect(() => new Migrator(db, { migrations: {}, tabel: "x" } as object)).toThrow("did you mean 'table'?");
      expect(() => new Migrator(db, { migrations: {}, table: "a.b." })).toThrow();
      const migrator = new Migrator(db, { migrations: {} });
      await expect(migrator.down({ steps: 0 })).rejects.toThrow("option 'steps' in down() must be an integer");
      await expect(migrator.up({ to: "" })).rejects.toThrow("option 'to' in up()");
      expect(await migrator.up()).toEqual([]);
      expect(await migrator.status()).toEqual([]);
    } finally {
      await db.close();
    }
  });
});
