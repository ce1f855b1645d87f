import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { makeDatabase } from "../engines/db/engines.js";
import { patient } from "../server/process/program.js";
import { compile } from "../support/compiler.js";
import { service } from "../support/service.js";
import { Project } from "./project.js";

const server = service("postgres");

const models = (fields: string, more = ""): string => `import { field, Model } from "stoa/orm";

export class Book extends Model("books", {
  id: field.auto(),
  ${fields}
}) {}
${more}
export const unrelated = { meta: "not a model" };
`;

const author = `export class Author extends Model("authors", { id: field.auto(), name: field.text() }) {}`;

/** A project in which all commands need no further options. */
async function projectWith(text: string): Promise<Project> {
  return Project.create({
    "src/models.ts": text,
    "stoa.config.ts": `import { defineConfig } from "stoa/migrations";
export default defineConfig({ models: "./src/models.ts" });
`,
  });
}

beforeAll(() => ensureBuilt(), 120_000);

describe("stoa migrate make", patient, () => {
  it("The command make writes the first migration, and says when there is nothing more to write", async () => {
    const project = await projectWith(models("title: field.char({ maxLength: 200 }),"));
    expect((await project.run(["migrate", "make", "--check"])).code).toBe(1);
    expect(await project.migrations()).toEqual([]);
    const made = await project.stoa(["migrate", "make"]);
    expect(made).toEqual({
      code: 0,
      stdout: "wrote migrations/0001_initial.ts\n  create table books\n",
      stderr: "",
    });
    const text = await project.read("migrations/0001_initial.ts");
    expect(text).toMatch(
      /^import \{ migration, op \} from "stoa\/migrations";\n\nexport default migration\(\{\n {2}operations: \[/,
    );
    expect(text).toContain('op.createTable("books", {');
    expect(await project.run(["migrate", "make"])).toMatchObject({
      code: 0,
      stdout: "nothing to do: the migrations lead to the models\n",
    });
    expect(await project.run(["migrate", "make", "--check"])).toMatchObject({
      code: 0,
      stdout: "the migrations lead to the models\n",
    });
  });

  it("The command make prints the file on a dry run, and the changes on a check", async () => {
    const project = await projectWith(models("title: field.text(),"));
    const dry = await project.run(["migrate", "make", "--dry-run"]);
    expect(dry.stdout).toContain('op.createTable("books", {');
    expect(await project.migrations()).toEqual([]);
    const check = await project.run(["migrate", "make", "--check"]);
    expect(check.stdout).toBe(
      "the models differ from the migrations; `stoa migrate make` would write:\n  create table books\n",
    );
  });

  it("The command make asks in place of guessing, and accepts answers as options", async () => {
    const project = await projectWith(models("name: field.text(),"));
    await project.run(["migrate", "make"]);
    await project.write("src/models.ts", models("title: field.text(), year: field.int(),"));
    const unanswered = await project.run(["migrate", "make"]);
    expect(unanswered.code).toBe(1);
    expect(unanswered.stderr).toMatch(
      /^stoa: Was the column books\.name renamed to title\? Nobody is here to ask: answer with --rename books\.name=title or --drop books\.name\n$/,
    );
    const half = await project.run(["migrate", "make", "--rename", "books.name=title"]);
    expect(half.stderr).toMatch(/^stoa: The new column books\.year .* answer with --fill "books\.year=SQL"/);
    expect(await project.migrations()).toEqual(["0001_initial.ts"]);
    const answers = ["--rename", "books.name=title", "--fill", "books.year=1900"];
    const typo = await project.run(["migrate", "make", ...answers, "--fill", "books.yaer=1"]);
    expect(typo.stderr).toBe("stoa: --fill books.yaer answers no question: nothing like it changed\n");
    const made = await project.run(["migrate", "make", ...answers, "--name", "Title & year"]);
    expect(made.stdout).toMatch(/^wrote migrations\/0002_title_year\.ts\n/);
    const text = await project.read("migrations/0002_title_year.ts");
    expect(text).toContain('dependsOn: ["0001_initial"]');
    expect(text).toContain('op.renameColumn("books", "name", "title")');
    expect(text).toContain("1900");
  });

  it("The command make writes an empty migration to be filled by hand", async () => {
    const project = await projectWith(models("title: field.text(),"));
    const made = await project.run(["migrate", "make", "--empty", "--name", "fill"]);
    expect(made.stdout).toBe("wrote migrations/0001_fill.ts\n");
    expect(await project.read("migrations/0001_fill.ts")).toContain("operations: []");
    expect((await project.run(["migrate", "make", "--empty", "--name", "&"])).stderr).toBe(
      'stoa: "&" is no name for a migration: use letters and digits\n',
    );
    expect((await project.run(["migrate", "make", "--empty", "--merge"])).stderr).toBe(
      "stoa: give one of --empty, --merge and --check\n",
    );
  });

  it("Risks for the running version are told by make, and found by lint, which starts after the given migration", async () => {
    const project = await projectWith(models("title: field.text(),"));
    expect((await project.run(["migrate", "make"])).stdout).not.toContain("risk");
    expect(await project.run(["migrate", "lint"])).toMatchObject({ code: 0, stdout: "no risks in 1 migration\n" });
    await project.write("src/models.ts", models("title: field.text({ index: true }),"));
    const made = await project.run(["migrate", "make", "--name", "find"]);
    const risk = `risk (index): 0002_find: create index books_title_idx on books
  writes to the table wait until the index is built
  cure: use { concurrently: true } in a migration with \`transaction: false\`
`;
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(risk) });
    expect(await project.run(["migrate", "lint"])).toMatchObject({ code: 1, stdout: risk });
    const { stdout } = await project.run(["migrate", "lint", "--json", "--after", "0001"]);
    expect(JSON.parse(stdout)).toMatchObject([{ migration: "0002_find", rule: "index" }]);
    expect((await project.run(["migrate", "lint", "--after", "0002_find"])).code).toBe(0);
    const file = "migrations/0002_find.ts";
    await project.write(file, (await project.read(file)).replace("migration({", 'migration({ assured: "few rows",'));
    expect((await project.run(["migrate", "lint"])).code).toBe(0);
  });

  it("The command make merges two last migrations that are compatible", async () => {
    const project = await projectWith(models("title: field.text(),"));
    await project.run(["migrate", "make"]);
    const adds = (column: string): string => `import { migration, op } from "stoa/migrations";
export default migration({
  dependsOn: ["0001_initial"],
  operations: [op.addColumn("books", "${column}", { type: "integer", nullable: true })],
});
`;
    await project.write("migrations/0002_pages.ts", adds("pages"));
    expect((await project.run(["migrate", "make", "--merge"])).stderr).toContain("there is nothing to merge");
    await project.write("migrations/0002_year.ts", adds("pages"));
    expect((await project.run(["migrate", "make", "--empty"])).stderr).toContain("2 migrations are the last");
    const clash = await project.run(["migrate", "make", "--merge"]);
    expect(clash.stderr).toMatch(/^stoa: 0002_year, operation 1 \(.*\): .*pages/);
    await project.write("migrations/0002_year.ts", adds("year"));
    expect((await project.run(["migrate", "make", "--merge"])).stdout).toBe("wrote migrations/0003_merge.ts\n");
    expect(await project.read("migrations/0003_merge.ts")).toContain('dependsOn: ["0002_pages", "0002_year"]');
    await project.write(
      "src/models.ts",
      models("title: field.text(), pages: field.int({ null: true }), year: field.int({ null: true }),"),
    );
    expect((await project.run(["migrate", "make", "--check"])).code).toBe(0);
  });

  it("The command make refuses missing models, and files that export no model or cannot be loaded", async () => {
    const project = await projectWith(
      models("title: field.text(), author: field.foreignKey(() => Author),", author.replace("export ", "")),
    );
    expect((await project.run(["migrate", "make"])).stderr).toBe(
      "stoa: Book.author refers to Author, which is not among the models: export it from one of their modules\n",
    );
    await project.write("src/models.ts", "export const nothing = 1;");
    expect((await project.run(["migrate", "make"])).stderr).toMatch(
      /models\.ts exports no model: a class that extends Model/,
    );
    await project.write("src/models.ts", "throw new TypeError('my own fault');");
    expect((await project.run(["migrate", "make"])).stderr).toMatch(
      /^stoa: .*src\/models\.ts cannot be loaded: TypeError: my own fault\n$/,
    );
  });

  it("The command make writes JavaScript for models in JavaScript", async () => {
    const project = await Project.create({ "models.js": models("title: field.text(),") }, []);
    expect((await project.stoa(["migrate", "make", "--models", "models.js"])).stdout).toMatch(/0001_initial\.js\n/);
    expect(await project.read("migrations/0001_initial.js")).toMatch(/^\/\/ @ts-check\n/);
    const up = await project.stoa(["migrate", "up", "--database", "pglite:./data"]);
    expect(up.stdout).toMatch(/^applied 0001_initial/);
  });

  it("The command make writes files that the compiler accepts", async () => {
    const project = await projectWith(models("title: field.text(),", author));
    await project.run(["migrate", "make"]);
    await project.write(
      "tsconfig.json",
      JSON.stringify({
        compilerOptions: {
          module: "NodeNext",
          target: "ES2022",
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          types: [],
        },
        include: ["migrations", "src", "stoa.config.ts"],
      }),
    );
    expect(await compile(project.folder)).toBe("");
  });
});

describe.skipIf(!server)("stoa migrate, from models to a server and back", patient, () => {
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

  /** Three migrations: a table, a renamed and a new column, a table that refers to another. */
  async function grown(): Promise<Project> {
    const project = await projectWith(models("name: field.text(),"));
    await project.run(["migrate", "make"]);
    await project.write("src/models.ts", models("title: field.text(), year: field.int(),"));
    await project.run(["migrate", "make", "--rename", "books.name=title", "--fill", "books.year=1900"]);
    await project.write(
      "src/models.ts",
      models("title: field.text(), year: field.int(), author: field.foreignKey(() => Author, { null: true }),", author),
    );
    await project.run(["migrate", "make"]);
    expect(await project.migrations()).toHaveLength(3);
    return project;
  }

  it("The rows are kept through a rename, and a new column is filled", async () => {
    const project = await grown();
    await project.run(["migrate", "up", "0001"], env());
    await db.execute("insert into books (name) values ('Lavinia')");
    expect((await project.run(["migrate", "up"], env())).code).toBe(0);
    expect(await db.fetch("select title, year, author_id from books")).toEqual([
      { title: "Lavinia", year: 1900, author_id: null },
    ]);
    expect(await project.run(["migrate", "diff", "--all"], env())).toMatchObject({
      code: 0,
      stdout: "the database is as its migrations made it\n",
    });
    expect((await project.run(["migrate", "down", "--all", "--yes"], env())).code).toBe(0);
    expect(await db.fetchval("select count(*) from pg_tables where schemaname = 'public'")).toBe(1);
  });

  it("The command diff shows manual changes of the database", async () => {
    const project = await grown();
    await project.run(["migrate", "up"], env());
    await db.script("alter table books alter column year type bigint; create table stray ()");
    const diff = await project.run(["migrate", "diff"], env());
    expect(diff.code).toBe(1);
    expect(diff.stdout).toMatch(/^table books: column year .*bigint.*\n$/);
    expect((await project.run(["migrate", "diff", "--all"], env())).stdout).toContain("stray");
  });

  it("The command squash writes one file that does the same, for new databases and for old ones", async () => {
    const project = await grown();
    await project.run(["migrate", "up"], env());
    const squash = await project.run(["migrate", "squash", "0003"]);
    expect(squash.stdout).toMatch(/^wrote migrations\/0001_squashed_0003\.ts: 3 migrations, \d+ operations, now \d\n/);
    expect(await project.read("migrations/0001_squashed_0003.ts")).toMatch(
      /replaces: \[\s*"0001_initial",\s*"0002_\w+",\s*"0003_\w+",?\s*\]/,
    );
    expect((await project.run(["migrate", "make", "--check"])).code).toBe(0);
    expect((await project.run(["migrate", "up"], env())).stdout).toMatch(
      /^recorded 0001_squashed_0003: all that it replaces is applied\n/,
    );
    for (const name of await project.migrations())
      if (!name.includes("squashed")) await project.remove(`migrations/${name}`);
    expect((await project.run(["migrate", "status"], env())).stdout).toMatch(
      /^\[x\] 0001_squashed_0003 .*\nall are applied\n$/,
    );
    await db.script("drop schema public cascade; create schema public");
    expect((await project.run(["migrate", "up"], env())).stdout).toMatch(/^applied 0001_squashed_0003/);
    expect((await project.run(["migrate", "diff", "--all"], env())).code).toBe(0);
  });

  it("The command squash refuses functions unless they are left out", async () => {
    const project = await grown();
    await project.write(
      "migrations/0004_fill.ts",
      `import { migration, op } from "stoa/migrations";
export default migration({
  dependsOn: ["${(await project.migrations())[2]!.replace(".ts", "")}"],
  operations: [op.run(async function fill() {})],
});
`,
    );
    const refused = await project.run(["migrate", "squash", "0004"]);
    expect(refused.stderr).toMatch(
      /^stoa: 0004_fill has a function \(run fill\), which cannot be copied into another file: leave/,
    );
    expect((await project.run(["migrate", "squash", "0002", "0003", "--dry-run"])).stdout).toContain(
      'dependsOn: ["0001_initial"]',
    );
    expect((await project.run(["migrate", "squash", "0004", "--no-functions"])).code).toBe(0);
    expect((await project.run(["migrate", "squash", "0003", "0001"])).stderr).toMatch(/^stoa: /);
  });

  it("Models printed from an existing database need no migration except to be recorded", async () => {
    await db.script(`
      create table authors (id integer generated by default as identity primary key, name text not null);
      create table books (
        id integer generated by default as identity primary key,
        title varchar(200) not null,
        author_id integer not null references authors (id) on delete cascade
      );
      create index on books (author_id);
    `);
    const project = await projectWith("");
    const inspect = await project.run(["migrate", "inspect"], env());
    expect(inspect).toMatchObject({ code: 0, stderr: "" });
    await project.write("src/models.ts", inspect.stdout);
    expect((await project.run(["migrate", "make"])).code).toBe(0);
    expect((await project.run(["migrate", "up", "--fake"], env())).code).toBe(0);
    expect(await project.run(["migrate", "diff", "--all"], env())).toMatchObject({ code: 0 });
  });
});
