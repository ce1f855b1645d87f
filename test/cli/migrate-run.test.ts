import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import type { StoaConfig } from "../../src/migrations/config.js";
import { emptyDatabases, makeDatabase } from "../engines/db/engines.js";
import { patient, until } from "../server/process/program.js";
import { isLong } from "../support/long.js";
import { service } from "../support/service.js";
import { Project } from "./project.js";

const server = service("postgres");

/** A migration file that makes a table, with more operations after that. */
function makes(table: string, dependsOn: readonly string[] = [], more = ""): string {
  return `import { migration, op } from "stoa/migrations";

export default migration({
  dependsOn: ${JSON.stringify(dependsOn)},
  operations: [
    op.createTable("${table}", { columns: { id: { type: "integer" } } }),
    ${more}
  ],
});
`;
}

const two = { "migrations/0001_a.ts": makes("a"), "migrations/0002_b.ts": makes("b", ["0001_a"]) };

beforeAll(() => ensureBuilt(), 120_000);

describe.skipIf(!server)("stoa migrate on a server", patient, () => {
  let url: string;
  let db: Database;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    ({ url, drop } = await makeDatabase(server!));
    db = await openDatabase(url);
  });
  beforeEach(() => db.script("drop schema public cascade; create schema public"));
  afterAll(async () => {
    await db?.close();
    await drop?.();
  });

  const env = (): Record<string, string> => ({ DATABASE_URL: url });
  const tables = async (): Promise<string[]> =>
    (await db.fetch<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public' order by 1"))
      .map(({ name }) => name)
      .filter((name) => name !== "stoa_migrations");

  it("The command migrate applies migrations, shows their status and undoes them", async () => {
    const project = await Project.create(two);
    expect(await project.run(["migrate", "status"], env())).toEqual({
      code: 0,
      stdout: "[ ] 0001_a\n[ ] 0002_b\n2 of 2 to apply\n",
      stderr: "",
    });
    const up = await project.run(["migrate", "up"], env());
    expect(up.stdout).toMatch(/^applied 0001_a \(\d+ ms\)\napplied 0002_b \(\d+ ms\)\n$/);
    expect(up.stderr).toBe("applying 0001_a\n  create table a\napplying 0002_b\n  create table b\n");
    expect(up.code).toBe(0);
    expect((await project.run(["migrate", "up"], env())).stdout).toBe("nothing to do: all migrations are applied\n");
    expect((await project.run(["migrate", "status"], env())).stdout).toMatch(
      /^\[x\] 0001_a {2}\d{4}-.*\nall are applied\n$/s,
    );
    const json = await project.run(["migrate", "status", "--json"], env());
    expect(JSON.parse(json.stdout)).toMatchObject([{ name: "0001_a", state: "applied" }, { name: "0002_b" }]);
    const down = await project.run(["migrate", "down"], env());
    expect(down.stdout).toMatch(/^undone 0002_b \(\d+ ms\)\n$/);
    expect(await tables()).toEqual(["a"]);
  });

  it("The command down needs --yes to undo several migrations without a terminal", async () => {
    const project = await Project.create(two);
    await project.run(["migrate", "up"], env());
    expect(await project.run(["migrate", "down", "--all"], env())).toMatchObject({
      code: 1,
      stderr: "stoa: this undoes 2 migrations (0002_b, 0001_a): confirm it with --yes\n",
    });
    expect(await tables()).toEqual(["a", "b"]);
    expect((await project.run(["migrate", "down", "--all", "--yes"], env())).code).toBe(0);
    expect(await tables()).toEqual([]);
  });

  it("The command up stops at the failed third of four migrations with one line, and continues once it is fixed", async () => {
    const project = await Project.create({
      ...two,
      "migrations/0003_c.ts": makes("c", ["0002_b"], 'op.sql("select nonsense"),'),
      "migrations/0004_d.ts": makes("d", ["0003_c"]),
    });
    const failed = await project.run(["migrate", "up"], env());
    expect(failed.code).toBe(1);
    expect(failed.stderr.split("\n").at(-2)).toBe(
      'stoa: 0003_c, operation 2 (run SQL: select nonsense) failed: column "nonsense" does not exist. ' +
        `Nothing of it was applied. Before it, 0001_a, 0002_b were applied. It is in ${join(project.folder, "migrations/0003_c.ts")}`,
    );
    expect(await tables()).toEqual(["a", "b"]);
    const verbose = await project.run(["migrate", "up", "--verbose"], env());
    expect(verbose.stderr).toContain("statement: select nonsense");
    expect(verbose.stderr).toMatch(/\n +at /);
    await project.write("migrations/0003_c.ts", makes("c", ["0002_b"]));
    expect((await project.run(["migrate", "up"], env())).code).toBe(0);
    expect(await tables()).toEqual(["a", "b", "c", "d"]);
  });

  it("A killed run leaves nothing half applied, and the next one continues at once", async () => {
    const hold = 'op.run(async function hold(db) { if (process.env.HOLD) await db.execute("select pg_sleep(600)"); }),';
    const project = await Project.create({ ...two, "migrations/0003_c.ts": makes("c", ["0002_b"], hold) });
    const first = project.start(["migrate", "up"], { ...env(), HOLD: "1" });
    await first.tells("run hold");
    const sleeping =
      "select count(*) from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()";
    await until(async () => (await db.fetchval(sleeping)) === 1);
    first.child.kill("SIGKILL");
    await first.end();
    expect(await tables()).toEqual(["a", "b"]);
    const next = await project.run(["migrate", "up"], env());
    expect(next.stdout).toMatch(/^applied 0003_c \(\d+ ms\)\n$/);
    expect(await tables()).toEqual(["a", "b", "c"]);
  });

  it("A signal cancels the running migration", async () => {
    const hold = 'op.run(async function hold(db) { await db.execute("select pg_sleep(600)"); }),';
    const project = await Project.create({ "migrations/0001_a.ts": makes("a", [], hold) });
    const run = project.start(["migrate", "up"], env());
    await run.tells("run hold");
    run.child.kill("SIGTERM");
    expect((await run.end()).code).toBe(143);
    const busy = "select count(*) from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()";
    await until(async () => (await db.fetchval(busy)) === 0);
    expect(await tables()).toEqual([]);
  });

  it("Two concurrent runs apply the migrations once: the second waits and finds nothing to do", async () => {
    const gate = 'op.run(async function gate(db) { await db.fetchval("select pg_advisory_xact_lock(4711)"); }),';
    const project = await Project.create({ ...two, "migrations/0003_c.ts": makes("c", ["0002_b"], gate) });
    await db.session(async (session) => {
      await session.fetchval("select pg_advisory_lock(4711)");
      const first = project.start(["migrate", "up"], env());
      await first.tells("run gate");
      const second = project.start(["migrate", "up"], env());
      await second.tells("another process is migrating this database: waiting for it ...");
      const third = await project.stoa(["migrate", "up", "--lock-timeout", "0.3"], env());
      expect(third.code).toBe(1);
      expect(third.stderr).toContain("did not finish within 300 ms (lockTimeout); nothing was done here");
      await session.fetchval("select pg_advisory_unlock(4711)");
      expect((await first.end()).code).toBe(0);
      expect(await second.end()).toMatchObject({ code: 0, stdout: "nothing to do: all migrations are applied\n" });
    });
    expect(await tables()).toEqual(["a", "b", "c"]);
  });

  it("A waiting run does not block a concurrent index build", async () => {
    const concurrent = `import { migration, op } from "stoa/migrations";
export default migration({
  dependsOn: ["0002_b"],
  transaction: false,
  operations: [op.createIndex("b", "b_id_idx", { on: ["id"] }, { concurrently: true })],
});
`;
    const project = await Project.create({ ...two, "migrations/0003_index.ts": concurrent });
    await project.run(["migrate", "up", "0002"], env());
    await db.session(async (session) => {
      // An open transaction that has written the table holds the index up.
      await session.execute("begin");
      await session.execute("insert into b values (1)");
      const first = project.start(["migrate", "up"], env());
      await first.tells("create index b_id_idx on b, concurrently");
      const second = project.start(["migrate", "up"], env());
      await second.tells("waiting for it");
      await session.execute("commit");
      expect((await first.end()).code).toBe(0);
      expect((await second.end()).code).toBe(0);
    });
  });

  it("A run gives up on a locked table after the given time", async () => {
    const alter = `import { migration, op } from "stoa/migrations";
export default migration({ dependsOn: ["0002_b"], operations: [op.addColumn("b", "x", { type: "text", nullable: true })] });
`;
    const project = await Project.create({ ...two, "migrations/0003_x.ts": alter });
    await project.run(["migrate", "up", "0002"], env());
    await db.transaction(async (tx) => {
      await tx.execute("lock table b in share mode");
      const run = await project.run(["migrate", "up", "--table-lock-timeout", "100ms"], env());
      expect(run.code).toBe(1);
      expect(run.stderr).toContain("(a table was in use for longer than tableLockTimeout). Nothing of it was applied");
    });
  });

  it("Changed and missing migrations are refused by name, and accepted with --allow-drift", async () => {
    const project = await Project.create(two);
    await project.run(["migrate", "up"], env());
    await project.write("migrations/0003_c.ts", makes("c", ["0002_b"]));
    await project.write("migrations/0001_a.ts", `// A comment is no change.\n${makes("a")}`);
    expect((await project.run(["migrate", "up", "--dry-run"], env())).code).toBe(0);
    await project.write("migrations/0001_a.ts", makes("aa"));
    const changed = await project.run(["migrate", "up"], env());
    expect(changed).toMatchObject({ code: 1, stdout: "" });
    expect(changed.stderr).toMatch(/^stoa: 0001_a is applied to this database, but it was changed since: .*\n$/);
    expect((await project.run(["migrate", "status", "--check"], env())).code).toBe(1);
    await project.write("migrations/0002_b.ts", makes("b"));
    await project.remove("migrations/0001_a.ts");
    const missing = await project.run(["migrate", "up"], env());
    expect(missing.stderr).toMatch(/^stoa: 0001_a is applied to this database, but its file is missing: .*\n$/);
    expect((await project.run(["migrate", "up", "--allow-drift"], env())).code).toBe(0);
    expect(await tables()).toEqual(["a", "b", "c"]);
  });

  it("Migrations can be recorded without running, and forgotten without undoing", async () => {
    const project = await Project.create(two);
    await db.script("create table a (id integer)");
    const fake = await project.run(["migrate", "up", "--fake", "--to", "0001_a"], env());
    expect(fake.stdout).toBe("applied 0001_a (recorded only)\n");
    expect((await project.run(["migrate", "up"], env())).code).toBe(0);
    expect((await project.run(["migrate", "down", "--fake"], env())).stdout).toBe("undone 0002_b (recorded only)\n");
    expect(await tables()).toEqual(["a", "b"]);
  });

  it("The printed script can be run by hand", async () => {
    const project = await Project.create(two);
    const { stdout } = await project.run(["migrate", "sql"], env());
    await db.script(stdout);
    expect((await project.run(["migrate", "up"], env())).stdout).toBe("nothing to do: all migrations are applied\n");
    expect((await project.run(["migrate", "sql"], env())).stdout).toBe("-- nothing to do\n");
    await db.script((await project.run(["migrate", "sql", "--down", "--steps", "2"], env())).stdout);
    expect(await tables()).toEqual([]);
  });

  it("The command migrate never prints the password of the database", async () => {
    const project = await Project.create(two);
    const wrong = new URL(url);
    wrong.username = "nobody";
    wrong.password = "s3cret";
    wrong.pathname = "/nowhere";
    const run = await project.run(["migrate", "up", "--verbose", "--database", wrong.href]);
    expect(run.code).toBe(1);
    expect(run.stdout + run.stderr).not.toContain("s3cret");
    const typo = await project.run(["migrate", "up", `--databse=${wrong.href}`]);
    expect(typo.stderr).toBe("stoa: unknown option '--databse' of stoa migrate up; did you mean '--database'?\n");
  });
});

describe("stoa migrate with options in the config", patient, () => {
  const empty = emptyDatabases(server, "pglite:./data");

  it("The migrations that were applied are recorded in the table of the option migrationsTable", async () => {
    const database = await empty();
    const config: StoaConfig = { database, migrationsTable: "applied" };
    const project = await Project.create({
      ...two,
      "stoa.config.ts": `export default ${JSON.stringify(config)};`,
    });
    expect((await project.run(["migrate", "up"])).stdout).toContain("applied 0002_b");
    expect((await project.run(["migrate", "status"])).stdout).toContain("all are applied");
    await project.write("stoa.config.ts", `export default { database: "${database}" };`);
    expect((await project.run(["migrate", "status"])).stdout).toContain("2 of 2 to apply");
  });
});

describe("stoa migrate on an embedded database", patient, () => {
  it("The command migrate works on an embedded database in the folder of the config", async () => {
    const project = await Project.create({
      ...two,
      "stoa.config.ts": `import { defineConfig } from "stoa/migrations";
export default defineConfig({ database: "pglite:./data", migrations: "./migrations" });
`,
    });
    expect((await project.run(["migrate", "up", "0001_a"])).code).toBe(0);
    expect((await project.run(["migrate", "status"])).stdout).toMatch(/^\[x\] 0001_a .*\n\[ \] 0002_b\n1 of 2/);
  });

  it.runIf(isLong)("A killed run on an embedded database leaves nothing half applied", async () => {
    const hold =
      "op.run(async function hold() { if (process.env.HOLD) await new Promise((done) => setTimeout(done, 600_000)); }),";
    const project = await Project.create({ ...two, "migrations/0003_c.ts": makes("c", ["0002_b"], hold) });
    const run = project.start(["migrate", "up", "--database", "pglite:./data"], { HOLD: "1" });
    await run.tells("run hold");
    run.child.kill("SIGKILL");
    await run.end();
    const next = await project.stoa(["migrate", "up", "--database", "pglite:./data"]);
    expect(next.stdout).toMatch(/^applied 0003_c/);
  });
});
