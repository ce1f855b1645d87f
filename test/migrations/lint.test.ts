import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { lint } from "../../src/migrations/lint.js";
import { migration } from "../../src/migrations/migration.js";
import type { Operation } from "../../src/migrations/operation.js";
import { op } from "../../src/migrations/operations.js";
import { emptyState, type SchemaState } from "../../src/orm/schema/state.js";
import { engines } from "../engines/db/engines.js";
import { service } from "../support/service.js";

const shop: readonly Operation[] = [
  op.createEnum("status", ["draft", "done"]),
  op.createTable("authors", { columns: { id: { type: "integer" } }, primaryKey: ["id"] }),
  op.createTable("books", {
    columns: {
      id: { type: "integer", identity: true },
      title: { type: "varchar(40)" },
      price: { type: "numeric(8, 2)" },
      note: { type: "text", nullable: true },
      year: { type: "integer", nullable: true },
      author_id: { type: "integer", nullable: true },
      sold: { type: "timestamp(3) with time zone", nullable: true },
      place: { type: "cidr", nullable: true },
    },
    primaryKey: ["id"],
    checks: { books_year_check: '"year" IS NOT NULL', books_note_check: "note <> ''" },
  }),
];
const before = shop.reduce((state: SchemaState, operation) => operation.apply(state), emptyState);
const rulesOf = (...operations: readonly Operation[]) =>
  lint({ name: "0002_change", operations }, before).map(({ rule }) => rule);

const described = (list: readonly (readonly [rule: string, operation: Operation])[]) =>
  list.map(([rule, operation]) => ({ rule, operation, description: operation.description }));

describe("the risks of a migration", () => {
  it.each(
    described([
      ["dropColumn", op.dropColumn("books", "note")],
      ["dropTable", op.dropTable("books")],
      ["rename", op.renameColumn("books", "note", "remark")],
      ["rename", op.renameTable("books", "volumes")],
      ["rename", op.renameEnumValue("status", "draft", "sketch")],
      ["required", op.addColumn("books", "isbn", { type: "text" })],
      ["rewrite", op.addColumn("books", "low", { type: "text", nullable: true, generated: "lower(title)" })],
      ["rewrite", op.addColumn("books", "number", { type: "integer", identity: true })],
      ["volatileDefault", op.addColumn("books", "key", { type: "uuid", default: "gen_random_uuid()" })],
      ["json", op.addColumn("books", "extra", { type: "json", nullable: true })],
      ["type", op.alterColumn("books", "price", { type: "integer" })],
      ["type", op.alterColumn("books", "title", { type: "varchar(10)" })],
      ["notNull", op.alterColumn("books", "note", { nullable: false })],
      ["index", op.createIndex("books", "books_note_idx", { on: ["note"] })],
      ["uniqueConstraint", op.addUnique("books", "books_title_key", ["title"])],
      ["uniqueConstraint", op.setPrimaryKey("books", ["title"])],
      ["constraint", op.addCheck("books", "books_price_check", "price > 0")],
      [
        "constraint",
        op.addForeignKey("books", "books_author_fkey", {
          columns: ["author_id"],
          table: "authors",
          references: ["id"],
        }),
      ],
      ["index", op.sql("create unique index on Books (title)")],
      ["lock", op.sql("reindex table books")],
      ["lock", op.sql("vacuum (analyze) books; vacuum full books", [], { transactional: false })],
      ["rewrite", op.sql("alter table books set unlogged")],
      ["constraint", op.sql("alter table only books add check (price > 0), alter year set default 1")],
      ["dropColumn", op.sql("alter table if exists books drop note /* no longer used */")],
      ["lock", op.sql("vacuum (full) books", [], { transactional: false })],
      ["lock", op.sql("truncate only books")],
      ["lock", op.sql("refresh materialized view sales")],
      ["rewrite", op.sql("alter table books add number bigserial not null")],
      ["rename", op.sql("alter table books set schema old")],
      ["dropTable", op.sql("drop schema shop cascade")],
      ["constraint", op.sql("alter table books add column pages integer check (pages > 0)")],
      ["backfill", op.sql("with old as (select 1) update books set note = ''")],
      ["backfill", op.sql("with old as (select 1) delete from books")],
      ["dropColumn", op.sql("do $$ begin if true then alter table books drop note; end if; end $$")],
      ["backfill", op.sql("do language plpgsql $fill$\nbegin\n  update books set note = '';\nend $fill$")],
      ["backfill", op.sql("-- all of them\nupdate books set note = 'drop table books'")],
    ]),
  )("The rule $rule finds $description", ({ rule, operation }) => {
    expect(rulesOf(operation)).toEqual([rule]);
  });

  it.each([
    op.addColumn("books", "isbn", { type: "text", nullable: true }),
    op.addColumn("books", "pages", { type: "integer", default: "0" }),
    op.addColumn("books", "made", { type: "timestamp with time zone", default: "now()" }),
    op.alterColumn("books", "title", { type: "varchar(80)" }),
    op.alterColumn("books", "title", { type: "text" }),
    op.alterColumn("books", "price", { type: "numeric(12, 2)" }),
    op.alterColumn("books", "note", { default: "'none'" }),
    op.alterColumn("books", "title", { nullable: true }),
    op.createIndex("books", "books_note_idx", { on: ["note"] }, { concurrently: true }),
    op.dropConstraint("books", "books_note_check"),
    op.renameConstraint("books", "books_note_check", "books_remark_check"),
    op.addEnumValue("status", "lost"),
    op.commentTable("books", "what we sell; drop table books"),
    op.sql("alter table books add constraint positive check (price > 0) not valid"),
    op.sql("alter table books validate constraint positive"),
    op.sql("alter table books add constraint books_title_key unique using index books_title_idx"),
    op.sql("alter table books alter column year set not null"),
    op.sql("reindex table concurrently books", [], { transactional: false }),
    op.sql("reindex (concurrently) table books", [], { transactional: false }),
    op.sql("refresh materialized view concurrently sales"),
    op.sql("with old as (select 1) select * from books for update"),
    op.sql("do $$ begin perform 'update books'; end $$"),
    op.sql("create function f() returns void language sql as $$ update books set note = '' $$"),
    op.sql("alter table books add column editor integer references authors (id)"),
    op.run(function fill() {}),
  ])("No rule finds $description", (operation) => {
    expect(rulesOf(operation)).toEqual([]);
  });

  it("A column that is filled is named with the change of all rows and the check of all rows", () => {
    expect(rulesOf(op.addColumn("books", "slug", { type: "text" }, { fill: "lower(title)" }))).toEqual([
      "backfill",
      "notNull",
    ]);
  });

  it("A table that the migration creates has no risk, and the tables beside it have theirs", () => {
    expect(
      rulesOf(
        op.createTable("tags", { columns: { id: { type: "integer" } }, primaryKey: ["id"] }),
        op.addColumn("tags", "name", { type: "text" }),
        op.createIndex("tags", "tags_name_idx", { on: ["name"] }),
        op.sql('create table "Notes" (id integer); create index on "Notes" (id); create index on books (year)'),
        op.renameTable("tags", "labels"),
      ),
    ).toEqual(["index"]);
  });

  it("A migration that is assured has no risk, and its reason must be a text", () => {
    const risky = { operations: [op.dropTable("books")] };
    expect(lint({ name: "0002", ...migration({ ...risky, assured: "nobody uses it" }) }, before)).toEqual([]);
    expect(() => migration({ ...risky, assured: true as never })).toThrow(/option 'assured' in migration\(\) must be/);
    expect(lint({ name: "0002", ...migration(risky) }, before)).toEqual([
      {
        migration: "0002",
        operation: "drop table books",
        rule: "dropTable",
        risk: "the running version still uses the table",
        cure: "deploy a version without its model, then drop it",
      },
    ]);
  });
});

describe.each(engines(service("postgres")))("what $name does", ({ make }) => {
  let made: Awaited<ReturnType<typeof make>>;
  let database: Database;

  beforeAll(async () => {
    made = await make();
    database = await openDatabase({ url: made.url, poolSize: 1 });
  });

  afterAll(async () => {
    await database?.close();
    await made?.drop();
  });

  const file = () => database.fetchval("select pg_relation_filenode('books')");

  it.each([
    op.addColumn("books", "pages", { type: "integer", default: "0" }),
    op.addColumn("books", "made", { type: "timestamp with time zone", default: "now()" }),
    op.addColumn("books", "low", { type: "text", nullable: true, generated: "lower(title)" }),
    op.addColumn("books", "number", { type: "integer", identity: true }),
    op.addColumn("books", "key", { type: "uuid", default: "gen_random_uuid()" }),
    op.addColumn("books", "chance", { type: "double precision", default: "random()" }),
    op.alterColumn("books", "title", { type: "varchar(80)" }),
    op.alterColumn("books", "title", { type: "varchar" }),
    op.alterColumn("books", "title", { type: "text" }),
    op.alterColumn("books", "title", { type: "char(50)" }),
    op.alterColumn("books", "note", { type: "varchar" }),
    op.alterColumn("books", "price", { type: "numeric(12, 2)" }),
    op.alterColumn("books", "price", { type: "numeric(12, 4)" }),
    op.alterColumn("books", "price", { type: "numeric" }),
    op.alterColumn("books", "price", { type: "double precision" }),
    op.alterColumn("books", "year", { type: "bigint" }),
    op.alterColumn("books", "sold", { type: "timestamp(6) with time zone" }),
    op.alterColumn("books", "sold", { type: "timestamp(0) with time zone" }),
    op.alterColumn("books", "place", { type: "inet" }),
    op.sql("alter table books set unlogged"),
  ])("The table is written again if the rules say so, and else stays: $description", async (operation) => {
    await database.script("drop table if exists books, authors; drop type if exists status");
    let state = emptyState;
    for (const each of shop) {
      for (const step of each.up(state)) await database.execute(step as string);
      state = each.apply(state);
    }
    await database.execute("insert into books (title, price, year, note) values ('Emma', 9.99, 1815, 'old')");
    const first = await file();
    for (const step of operation.up(state)) await database.execute(step as string);
    const rewrites = rulesOf(operation).some((rule) => ["rewrite", "volatileDefault", "type"].includes(rule));
    expect((await file()) !== first).toBe(rewrites);
  });
});
