import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { makeDatabase } from "../engines/db/engines.js";
import { patient } from "../server/process/program.js";
import { service } from "../support/service.js";
import { Project } from "./project.js";

const server = service("postgres")!;

const models = (fields: string): string => `import { field, Model } from "stoa/orm";
export class Author extends Model("authors", { id: field.auto(), name: field.text({ unique: true }) }) {}
export class Book extends Model("books", {
  id: field.auto(),
  author: field.foreignKey(() => Author),
  ${fields}
}, { checks: ["length(title) > 0"] }) {}
`;

const seed = `import { Author } from "./models.js";
export default async function seed(db) {
  await Author.objects.getOrCreate({ name: "Ursula" });
  if (process.env.FAIL_SEED) throw new Error("half way");
  await db.execute("insert into books (author_id, title) select id, 'Lavinia' from authors");
}
`;

const config = `export default { models: "./src/models.ts", seed: "./src/seed.ts" };`;

describe("stoa db", patient, () => {
  let url: string;
  let db: Database;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    ({ url, drop } = await makeDatabase(server));
    db = await openDatabase(url);
  });
  beforeEach(() => db.script("drop schema public cascade; create schema public"));
  afterAll(async () => {
    await db?.close();
    await drop?.();
  });
  const env = (): Record<string, string> => ({ DATABASE_URL: url });
  const create = (fields: string): Promise<Project> =>
    Project.create({ "src/models.ts": models(fields), "src/seed.ts": seed, "stoa.config.ts": config });

  it("The command push makes the tables of the models, and then their changes", async () => {
    const project = await create("title: field.text(),");
    await db.script("create table other (id int)");
    const dry = await project.run(["db", "push", "--dry-run"], env());
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining("  create table books") });
    expect(await db.fetchval("select to_regclass('books')::text")).toBeNull();
    expect((await project.run(["db", "push"], env())).stdout).toMatch(/changes were made\n$/);
    expect(await project.run(["db", "push"], env())).toEqual({
      code: 0,
      stdout: "nothing to do: the database is as the models say\n",
      stderr: "",
    });
    await project.write(
      "src/models.ts",
      models("title: field.char({ maxLength: 50 }), year: field.int({ null: true }),"),
    );
    const refused = await project.run(["db", "push"], env());
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/^! .*title/m);
    expect(refused.stderr).toContain("nothing was changed; confirm them with --accept-data-loss");
    expect((await project.run(["db", "push", "--accept-data-loss"], env())).code).toBe(0);
    const columns =
      "select column_name, data_type from information_schema.columns where table_name = 'books' order by 1";
    expect(await db.fetch(columns)).toContainEqual({ column_name: "title", data_type: "character varying" });
    expect(await db.fetch(columns)).toContainEqual({ column_name: "year", data_type: "integer" });
    expect(await db.fetchval("select to_regclass('other')::text")).toBe("other");
  });

  it("The command push makes views, and changes them with the tables that they read", async () => {
    const withView = (type: string): string => `import { field, Model, View } from "stoa/orm";
export class Book extends Model("books", { id: field.auto(), pages: field.${type}() }) {}
export class Longest extends View("longest", { id: field.int({ primaryKey: true }) }, {
  as: () => Book.objects.filter({ pages__gt: 1000 }).values("id"),
  materialized: true,
}) {}
`;
    const project = await create("title: field.text(),");
    const push = async (type: string): Promise<string> => {
      await project.write("src/models.ts", withView(type));
      return (await project.run(["db", "push", "--accept-data-loss"], env())).stdout;
    };
    expect(await push("int")).toContain("create materialized view longest");
    expect(await push("int")).toBe("nothing to do: the database is as the models say\n");
    expect(await push("bigInt")).toContain("drop view longest\n! alter column books.pages (type)");
    expect(await db.fetch("select * from longest")).toEqual([]);
  });

  it("The command push refuses to drop a column, and asks about one that looks renamed", async () => {
    const project = await create("title: field.text(), pages: field.int({ null: true }),");
    await project.run(["db", "push"], env());
    await db.script(
      "insert into authors (name) values ('a'); insert into books (author_id, title, pages) values (1, 'b', 3)",
    );
    await project.write("src/models.ts", models("title: field.text(), length: field.int({ null: true }),"));
    expect((await project.run(["db", "push"], env())).stderr).toContain("answer with --rename books.pages=length");
    const dropped = await project.run(["db", "push", "--drop", "books.pages"], env());
    expect(dropped.stderr).toContain("lose data");
    expect((await project.run(["db", "push", "--rename", "books.pages=length"], env())).code).toBe(0);
    expect(await db.fetchval("select length from books")).toBe(3);
  });

  it("The command push refuses to replace the values of a column with computed ones", async () => {
    const project = await create("title: field.text(), loud: field.text({ null: true }),");
    await project.run(["db", "push"], env());
    await db.script(
      "insert into authors (name) values ('a'); insert into books (author_id, title, loud) values (1, 'b', 'mine')",
    );
    await project.write(
      "src/models.ts",
      models('title: field.text(), loud: field.text({ null: true, generated: "upper(title)" }),'),
    );
    const refused = await project.run(["db", "push"], env());
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("lose data") });
    expect(await db.fetchval("select loud from books")).toBe("mine");
    expect((await project.run(["db", "push", "--accept-data-loss"], env())).code).toBe(0);
    expect(await db.fetchval("select loud from books")).toBe("B");
  });

  it("The command push refuses a database that has migrations", async () => {
    const project = await create("title: field.text(),");
    await project.run(["migrate", "make"]);
    await project.run(["migrate", "up"], env());
    expect((await project.run(["db", "push"], env())).stderr).toBe(
      "stoa: this database has migrations (stoa_migrations): use `stoa migrate make` and `stoa migrate up`\n",
    );
  });

  it("The command seed runs the function of the project in one transaction", async () => {
    const project = await create("title: field.text(),");
    await project.run(["db", "push"], env());
    expect(await project.run(["db", "seed"], env())).toEqual({
      code: 0,
      stdout: "seeded by src/seed.ts\n",
      stderr: "",
    });
    expect(await db.fetch("select name, title from books join authors on authors.id = author_id")).toEqual([
      { name: "Ursula", title: "Lavinia" },
    ]);
    await db.script("truncate books, authors");
    process.env["FAIL_SEED"] = "1";
    onTestFinished(() => void delete process.env["FAIL_SEED"]);
    expect((await project.run(["db", "seed"], env())).stderr).toContain("half way");
    expect(await db.fetchval("select count(*) from authors")).toBe(0);
    expect((await project.run(["db", "seed", "src/models.ts"], env())).stderr).toContain(
      "has no function as its default export",
    );
  });

  it("The command shell runs JavaScript with the models and the database", async () => {
    await ensureBuilt();
    const project = await create("title: field.text(),");
    await project.run(["db", "push"], env());
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "../../dist/cli/main.js"), "db", "shell", "--repl"],
      {
        cwd: project.folder,
        env: { PATH: process.env["PATH"], ...env() },
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdin.end(
      `await Author.objects.create({ name: "typed" })\n"count " + await db.fetchval("select count(*) from authors")\n`,
    );
    const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect(output).toContain("count 1");
    expect(await db.fetchval("select name from authors")).toBe("typed");
  });
});
