import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { detectChanges } from "../../src/migrations/autodetector.js";
import { nameFor } from "../../src/migrations/files/migration-name.js";
import { writeMigration } from "../../src/migrations/files/writer.js";
import { migration } from "../../src/migrations/migration.js";
import type { MigrationDefinition, Operation } from "../../src/migrations/operation.js";
import { op } from "../../src/migrations/operations.js";
import { emptyState } from "../../src/orm/schema/state.js";
import fc from "../support/properties.js";
import { randomState } from "./random-states.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** One of each, with texts that are hard to write. */
const everything: readonly Operation[] = [
  op.createSchema("shop"),
  op.createEnum("status", ["draft", "it's", 'say "hi"', "back\\slash"]),
  op.createTable("shop.lines", {
    columns: {
      id: { type: "bigint", identity: true },
      "line no": { type: "integer", default: "1" },
      status: { type: "status", default: "'draft'::status", comment: 'the "state" of it' },
      title: { type: "varchar(200)", nullable: true, collation: "C" },
      low: { type: "text", nullable: true, generated: "lower(title)" },
    },
    primaryKey: ["id"],
    unique: { lines_title_key: { columns: ["title"], nullsNotDistinct: true } },
    foreignKeys: {
      lines_parent: { columns: ["line no"], table: "other", references: ["id"], onDelete: "set null", deferred: true },
    },
    checks: { lines_check1: "title <> '' OR \"line no\" > 0" },
    indexes: {
      lines_low: {
        on: [
          { column: "title", descending: true, nulls: "last" },
          { expression: "lower(title)", operatorClass: "text_ops" },
        ],
        unique: true,
        where: "title IS NOT NULL AND \"line no\" BETWEEN 1 AND 1000000 AND status <> 'draft'",
        include: ["id"],
      },
      lines_gin: { on: ["title"], method: "gin" },
    },
    comment: `Lines\nof several \\ lines with \`ticks\` and $${"{holes}"}\r\n`,
  }),
  op.addColumn("books", "year", { type: "integer", nullable: true }),
  op.addColumn(
    "books",
    "a_column_with_a_long_name",
    { type: "timestamp(3) with time zone" },
    { fill: "now() - interval '1 day'" },
  ),
  op.dropColumn("books", "old", { fill: "0" }),
  op.renameColumn("books", "a", "b"),
  op.alterColumn(
    "books",
    "price",
    { type: "numeric(10, 2)", default: null },
    { using: "price::numeric / 100", downUsing: "price * 100" },
  ),
  op.createIndex("books", "books_year_idx", { on: ["year"] }),
  op.dropIndex("books", "books_year_idx"),
  op.renameIndex("books", "a_idx", "b_idx"),
  op.addUnique("books", "books_isbn_key", ["isbn"]),
  op.addForeignKey("books", "books_author_id_fkey", {
    columns: ["author_id"],
    table: "authors",
    references: ["id"],
    onDelete: "cascade",
  }),
  op.addCheck("books", "books_check1", `length(title) > 0 AND ${"price > 0 AND ".repeat(10)}true`),
  op.dropConstraint("books", "x"),
  op.renameConstraint("books", "x", "y"),
  op.setPrimaryKey("books", null),
  op.setPrimaryKey("books", ["id", "year"], "pk_books"),
  op.commentTable("books", null),
  op.renameTable("books", "novels"),
  op.renameEnum("status", "state"),
  op.addEnumValue("state", "gone", { after: "draft" }),
  op.renameEnumValue("state", "gone", "lost"),
  op.alterEnum(
    "state",
    Array.from({ length: 30 }, (_, index) => `value_${index}`),
    { replace: { lost: "value_0" } },
  ),
  op.sql("update books set year = 0"),
  op.sql(["create view v as select 1", "comment on view v is 'x'"], "drop view v", {
    state: [op.commentTable("books", "x"), op.dropTable("y")],
  }),
  op.sql("select 1", undefined, { state: [op.dropTable("y")] }),
  op.dropEnum("state"),
  op.dropTable("novels"),
];

describe("a migration that is written", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-writer-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  let files = 0;
  /** Writes the source into a file as people do, but for the address of the package, and imports it. */
  async function read(source: string): Promise<MigrationDefinition> {
    const file = join(folder, `migration-${files++}.ts`);
    const entry = join(root, "src/migrations");
    const head = `import { migration } from ${JSON.stringify(join(entry, "migration.ts"))};\nimport { op } from ${JSON.stringify(join(entry, "operations.ts"))};\n`;
    await writeFile(file, source.replace('import { migration, op } from "stoa/migrations";\n', head));
    const module = (await import(/* @vite-ignore */ file)) as { default: MigrationDefinition };
    return module.default;
  }

  const sources = (operations: readonly Operation[]): string =>
    JSON.stringify(
      operations.map(({ source }) => source),
      (_, value) => (value instanceof Object && "source" in value ? (value as Operation).source : value),
    );

  it("A written migration is readable code", () => {
    const operations = [
      op.createTable("books", {
        columns: { id: { type: "integer", identity: true }, title: { type: "varchar(200)" } },
        primaryKey: ["id"],
        foreignKeys: {
          books_author_id_fkey: { columns: ["author_id"], table: "authors", references: ["id"], onDelete: "cascade" },
        },
      }),
      op.addColumn("books", "year", { type: "integer", nullable: true }),
    ];
    expect(
      writeMigration({ dependsOn: ["0001_initial"], operations }),
    ).toBe(`import { migration, op } from "stoa/migrations";

export default migration({
  dependsOn: ["0001_initial"],
  operations: [
    op.createTable("books", {
      columns: {
        id: { type: "integer", identity: true },
        title: { type: "varchar(200)" },
      },
      primaryKey: ["id"],
      foreignKeys: {
        books_author_id_fkey: { columns: ["author_id"], table: "authors", references: ["id"], onDelete: "cascade" },
      },
    }),
    op.addColumn("books", "year", { type: "integer", nullable: true }),
  ],
});
`);
  });

  it("A written migration with every kind of operation is read again to the same operations", async () => {
    const source = writeMigration({ dependsOn: ["a", "b"], replaces: ["c"], operations: everything });
    const { operations, ...rest } = await read(source);
    expect(rest).toEqual({ dependsOn: ["a", "b"], replaces: ["c"] });
    expect(sources(operations)).toBe(sources(everything));
  });

  it("A written migration between any two schemas is read again to the same operations", async () => {
    const pairs = fc.sample(fc.tuple(randomState, randomState), 20);
    for (const [from, to] of pairs) {
      const { operations } = detectChanges(from, { state: to });
      const read_ = await read(writeMigration({ operations }));
      expect(sources(read_.operations)).toBe(sources(operations));
    }
  });

  it("A written migration is formatted as the formatter would do it", () => {
    const samples = fc.sample(randomState, 15).map((state) => detectChanges(emptyState, { state }).operations);
    const single = everything.map((operation) => [operation]);
    for (const operations of [everything, ...samples, single[3]!, single[4]!, []]) {
      const source = writeMigration({ dependsOn: ["0001_initial"], operations });
      const { stdout, stderr } = spawnSync(
        process.execPath,
        [join(root, "node_modules/@biomejs/biome/bin/biome"), "format", "--stdin-file-path=migrations/0002.ts"],
        { cwd: root, input: source, encoding: "utf8" },
      );
      expect(stdout, stderr).toBe(source);
    }
  });

  it("Columns with names such as constructor and __proto__ are kept", async () => {
    const columns = Object.fromEntries(
      ["constructor", "toString", "__proto__", "default"].map((name) => [name, { type: "text" }]),
    );
    const { operations } = await read(writeMigration({ operations: [op.createTable("constructor", { columns })] }));
    const state = operations[0]!.apply(emptyState);
    expect(Object.keys(state.tables)).toEqual(["constructor"]);
    expect(Object.keys(state.tables["constructor"]!.columns)).toEqual(Object.keys(columns));
  });

  it("A written migration has no transaction if an operation cannot run in one", async () => {
    const index = op.createIndex("books", "i", { on: ["year"] }, { concurrently: true });
    expect((await read(writeMigration({ operations: [index] }))).transaction).toBe(false);
    expect((await read(writeMigration({ operations: [op.dropTable("a")], transaction: false }))).transaction).toBe(
      false,
    );
    expect(() => migration({ operations: [index] })).toThrow(
      "PostgreSQL refuses 'create index i on books, concurrently' in a transaction: add { transaction: false }",
    );
  });

  it("Functions are refused, unless the code for them is given", () => {
    const operation = op.run(function moveTitles() {});
    expect(() => writeMigration({ operations: [operation] })).toThrow(
      "a function cannot be written into a migration (moveTitles): write op.run by hand",
    );
    const imports = ['import titles from "./0002_titles.js";'];
    const codeOf = ({ source: [name] }: Operation) => (name === "run" ? "titles.operations[0]" : undefined);
    expect(writeMigration({ operations: [operation], imports, codeOf, language: "js" })).toBe(`// @ts-check
import { migration, op } from "stoa/migrations";
import titles from "./0002_titles.js";

export default migration({
  operations: [titles.operations[0]],
});
`);
  });
});

describe("the name of a migration", () => {
  const table = (name: string) => op.createTable(name, { columns: { id: { type: "integer" } } });
  const column = op.addColumn("books", "year", { type: "integer" });

  it.each<[string, Operation[]]>([
    ["add_year_to_books", [column, op.createIndex("books", "books_year_idx", { on: ["year"] })]],
    ["create_tags", [table("tags")]],
    ["create_tags_and_create_books", [table("tags"), table("books")]],
    ["create_tags_and_2_more", [table("tags"), table("books"), table("shop.lines")]],
    ["create_shop_lines", [table("shop.lines")]],
    ["rename_a_to_b", [op.renameTable("a", "b")]],
    ["rename_a_to_b_in_books", [op.renameColumn("books", "a", "b")]],
    ["drop_year_from_books", [op.dropColumn("books", "year")]],
    ["alter_year_of_books", [op.alterColumn("books", "year", { nullable: true })]],
    ["create_books_year_idx", [op.createIndex("books", "books_year_idx", { on: ["year"] })]],
    ["add_gone_to_status", [op.addEnumValue("status", "gone")]],
    ["sql", [op.sql("select 1")]],
    ["empty", []],
    ["rename_caf_to_x", [op.renameTable("Café", "x")]],
    [`add_${"x".repeat(56)}`, [op.addColumn("books", "x".repeat(63), { type: "text" })]],
  ])("The name of a migration is derived from its operations: %s", (name, operations) => {
    expect(nameFor(operations)).toBe(name);
  });

  it("The first migration is named initial", () => {
    expect(nameFor([table("tags")], { first: true })).toBe("initial");
  });
});
