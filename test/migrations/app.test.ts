import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { App, createLogger } from "stoa";
import { testClient } from "stoa/testing";
import { expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { emptyDatabases, makeDatabase } from "../engines/db/engines.js";
import { get, Program, patient, until } from "../server/process/program.js";
import { service } from "../support/service.js";
import { sourceUrl } from "../support/source-url.js";

const server = service("postgres");
const empty = emptyDatabases(server);

/** A folder of compiled migrations, as `tsc` leaves them; what the package exports would be another copy of the sources under test. */
async function migrationsOf(operations: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-app-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "migrations"));
  for (const [name, operation] of Object.entries(operations)) {
    const text = `import { migration, op } from ${JSON.stringify(sourceUrl("entry/migrations.ts"))};
export default migration({ operations: [${operation}] });\n`;
    await writeFile(join(folder, "migrations", `${name}.mjs`), text);
  }
  return folder;
}

const books = 'op.createTable("books", { columns: { title: { type: "text" } } })';

it("An application with enableMigrations applies its migrations before the startup hooks, and logs each", async () => {
  const folder = await migrationsOf({ "0001_books": books });
  const app = new App();
  const lines: string[] = [];
  app.logger = createLogger({ sink: { write: (line: string) => void lines.push(line) } });
  app.enableMigrations(pathToFileURL(join(folder, "migrations/")));
  app.enableDatabase(await empty());
  app.onEvent("startup", () => app.database.execute("insert into books values ('Emma')"));
  app.get("/books", (request) => request.db.fetch("select * from books"));
  await using client = await testClient(app).start();
  expect(await (await client.get("/books")).json()).toEqual([{ title: "Emma" }]);
  expect(lines.join("")).toMatch(/applied 0001_books \(\d+ ms\)/);
});

it("A migration that fails ends the start with an error that names its file", async () => {
  const folder = await migrationsOf({ "0001_books": books.replace("text", "no_type") });
  const app = new App();
  app.enableDatabase(await empty());
  app.enableMigrations({ directory: join(folder, "migrations") });
  await expect(app.start()).rejects.toThrow(
    '0001_books, operation 1 (create table books) failed: type "no_type" does not exist. Nothing of it was applied. ' +
      `It is in ${join(folder, "migrations/0001_books.mjs")}`,
  );
});

it("enableMigrations without a database, a folder or a known option is refused", async () => {
  const app = new App();
  expect(() => app.enableMigrations({})).toThrow("enableMigrations() needs either 'directory' or 'migrations'");
  expect(() => app.enableMigrations({ directory: "x", lokTimeout: 1 } as object)).toThrow(
    "unknown option 'lokTimeout' in enableMigrations(); did you mean 'lockTimeout'?",
  );
  app.enable_migrations("./migrations");
  await expect(app.start()).rejects.toThrow("enableMigrations() needs app.enableDatabase()");
});

it.skipIf(!server)(
  "Three machines that start at once apply each migration once, and all of them start",
  patient,
  async () => {
    const database = await makeDatabase(server!);
    onTestFinished(() => database.drop());
    const db = await openDatabase({ url: database.url, poolSize: 2 });
    onTestFinished(() => db.close());
    // The migration waits for this table, until all three machines are on the way.
    await db.execute("create table gate ()");
    const folder = await migrationsOf({ "0001_books": `op.sql("lock table gate"), ${books}` });
    const file = join(folder, "main.mjs");
    await writeFile(
      file,
      `import { App } from ${JSON.stringify(sourceUrl("entry/index.ts"))};
const app = new App();
app.enableDatabase(process.env.DATABASE_URL);
app.enableMigrations(new URL("./migrations", import.meta.url));
app.get("/books", (request) => request.db.fetch("select * from books"));
await app.run({ port: 0 });\n`,
    );
    const env = { DATABASE_URL: database.url };
    const machines: Program[] = [];
    await db.transaction(async (tx) => {
      await tx.execute("lock table gate");
      for (let count = 0; count < 3; count++) machines.push(new Program({ file, env }));
      const output = (): string => machines.map((machine) => machine.report()).join("\n");
      await until(() => output().split("another process is migrating this database").length === 3, output);
    });
    for (const machine of machines) expect((await get(`${await machine.url()}/books`)).text).toBe("[]");
    const applied = machines.filter(({ stdout }) => stdout.includes("applied 0001_books"));
    expect(applied.length).toBe(1);
  },
);
