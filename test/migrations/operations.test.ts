import { describe, expect, it } from "vitest";
import { ValueError } from "../../src/kit/value-error.js";
import { MigrationError } from "../../src/migrations/errors.js";
import { migration } from "../../src/migrations/migration.js";
import type { MigrationDefinition, Operation } from "../../src/migrations/operation.js";
import { op } from "../../src/migrations/operations.js";
import { emptyState, type SchemaState, type TableState } from "../../src/orm/schema/state.js";

const id = { type: "integer", identity: true } as const;

const shop: SchemaState = {
  enums: { status: ["draft", "done"], unused: ["a"] },
  tables: {
    authors: {
      columns: { id, name: { type: "text" } },
      primaryKey: ["id"],
      unique: { authors_name_key: { columns: ["name"] } },
    },
    books: {
      columns: {
        id,
        title: { type: "varchar(200)" },
        year: { type: "integer", nullable: true },
        status: { type: "status", default: "'draft'::status" },
        author_id: { type: "integer" },
        low: { type: "text", nullable: true, generated: "lower(title)" },
      },
      primaryKey: ["id"],
      unique: { books_author_id_title_key: { columns: ["author_id", "title"] }, one_title: { columns: ["title"] } },
      foreignKeys: { books_author_id_fkey: { columns: ["author_id"], table: "authors", references: ["id"] } },
      checks: { books_year_check: `"year" > 0 AND title <> 'year'`, books_check1: "year < 3000" },
      indexes: { books_year_idx: { on: ["year"] }, recent: { on: ["title"], where: "year > 2000" } },
    },
  },
};

describe("an operation that does not fit the schema", () => {
  it.each<[string, Operation]>([
    ["there is no table 'boks'; did you mean 'books'?", op.addColumn("boks", "x", { type: "text" })],
    ["there is no table 'constructor'", op.dropTable("constructor")],
    ["there is already a table 'books'", op.createTable("books", { columns: {} })],
    ["there is already a table 'books'", op.renameTable("authors", "books")],
    ["books_author_id_fkey of books refers to authors (id): drop that constraint first", op.dropTable("authors")],
    ["books already has a column 'title'", op.addColumn("books", "title", { type: "text" })],
    ["books has no column 'yaer'; did you mean 'year'?", op.dropColumn("books", "yaer")],
    ["books already has a column 'year'", op.renameColumn("books", "title", "year")],
    ["books.low is computed from 'title': drop or alter it first", op.dropColumn("books", "title")],
    [
      "books_author_id_fkey of books refers to authors (id): drop that constraint first",
      op.dropColumn("authors", "id"),
    ],
    [
      "books_author_id_fkey of books refers to authors (id): drop that constraint first",
      op.setPrimaryKey("authors", null),
    ],
    [
      "books.id is part of the primary key and cannot be null",
      op.alterColumn("books", "id", { identity: false, nullable: true }),
    ],
    ["books has no column 'isbn'", op.createIndex("books", "x", { on: ["isbn"] })],
    ["books already has a constraint or index called 'recent'", op.addCheck("books", "recent", "true")],
    [
      "books already has a constraint or index called 'books_pkey'",
      op.createIndex("books", "books_pkey", { on: ["id"] }),
    ],
    ["books has no index 'books_yaer_idx'; did you mean 'books_year_idx'?", op.dropIndex("books", "books_yaer_idx")],
    ["books has no constraint 'recent'; it is an index, not a constraint", op.dropConstraint("books", "recent")],
    ["books has no constraint 'books_chek1'; did you mean 'books_check1'?", op.dropConstraint("books", "books_chek1")],
    [
      "books_pkey is the primary key of books: setPrimaryKey(..., null) drops it",
      op.dropConstraint("books", "books_pkey"),
    ],
    [
      "books.year can be null and cannot be part of the primary key: alter it first",
      op.setPrimaryKey("books", ["year"]),
    ],
    [
      "x of authors refers to books (status), which is neither its primary key nor unique",
      op.addForeignKey("authors", "x", { columns: ["name"], table: "books", references: ["status"] }),
    ],
    ["there is no enum 'statsu'; did you mean 'status'?", op.dropEnum("statsu")],
    ["books.status has the type status: drop or alter it first", op.dropEnum("status")],
    ["there is already an enum 'unused'", op.renameEnum("status", "unused")],
    ["the enum status already has the value 'done'", op.addEnumValue("status", "done")],
    ["the enum status has no value 'don'; did you mean 'done'?", op.addEnumValue("status", "x", { before: "don" })],
    ["the enum status has no value 'x'", op.renameEnumValue("status", "x", "y")],
    [
      "the default of books.status is 'draft', which status no longer has: alter it first",
      op.alterEnum("status", ["done"]),
    ],
    [
      "the enum status has no value 'gone'; did you mean 'done'?",
      op.alterEnum("status", ["draft"], { replace: { gone: "draft" } }),
    ],
    ["there is no table 'x'", op.sql("select 1", [], { state: [op.dropTable("x")] })],
  ])("An operation that does not fit the schema is refused: %s", (message, operation) => {
    for (const call of [operation.apply, operation.up, operation.down]) {
      expect(() => call(shop)).toThrow(new MigrationError(message));
    }
  });
});

describe("an operation that makes no sense", () => {
  it.each<[string, () => unknown]>([
    ["the name of a table must be a non-empty string", () => op.dropTable("")],
    ["the name of a table takes 'table' or 'schema.table', not \"a.b.c\"", () => op.dropTable("a.b.c")],
    [`the name of a column '${"x".repeat(64)}' is longer than 63 bytes`, () => op.dropColumn("a", "x".repeat(64))],
    [
      "unknown option 'coluns' in the table 'a'; did you mean 'columns'?",
      () => op.createTable("a", { coluns: {} } as never),
    ],
    ["option 'columns' is required in the table 'a'", () => op.createTable("a", {} as never)],
    ["option 'type' is required in the column 'b' of a", () => op.createTable("a", { columns: { b: {} as never } })],
    [
      "unknown option 'nulable' in the column a.b; did you mean 'nullable'?",
      () => op.addColumn("a", "b", { type: "text", nulable: true } as never),
    ],
    [
      'the column a.b: bigserial is no type of a column; use { type: "bigint", identity: true }',
      () => op.addColumn("a", "b", { type: "bigserial" }),
    ],
    [
      "the column a.b: identity takes smallint, integer or bigint, not text",
      () => op.addColumn("a", "b", { type: "text", identity: true }),
    ],
    [
      "the column a.b: default and generated exclude one another",
      () => op.addColumn("a", "b", { type: "text", default: "1", generated: "2" }),
    ],
    [
      "addColumn of a.b: the database gives the column its values, 'fill' cannot",
      () => op.addColumn("a", "b", id, { fill: "1" }),
    ],
    ["alterColumn of a.b names no change", () => op.alterColumn("a", "b", {})],
    [
      "alterColumn of a.b: 'fill' goes with { nullable: false }",
      () => op.alterColumn("a", "b", { type: "text" }, { fill: "1" }),
    ],
    [
      "alterColumn of a.b: 'using' and 'downUsing' go with another type",
      () => op.alterColumn("a", "b", { nullable: true }, { using: "1" }),
    ],
    ["a part of the index i of a takes either a column or an expression", () => op.createIndex("a", "i", { on: [{}] })],
    ["'columns' in the unique constraint u of a names 'b' twice", () => op.addUnique("a", "u", ["b", "b"])],
    [
      "the foreign key f of a has 2 columns but refers to 1",
      () => op.addForeignKey("a", "f", { columns: ["b", "c"], table: "d", references: ["e"] }),
    ],
    [
      'the foreign key f of a: \'onDeleteColumns\' needs onDelete: "set null" or "set default"',
      () => op.addForeignKey("a", "f", { columns: ["b"], table: "d", references: ["e"], onDeleteColumns: ["b"] }),
    ],
    [
      "the foreign key f of a: 'c' of 'onDeleteColumns' is not among its columns",
      () =>
        op.addForeignKey("a", "f", {
          columns: ["b"],
          table: "d",
          references: ["e"],
          onDelete: "set null",
          onDeleteColumns: ["c"],
        }),
    ],
    ["the enum e has the value 'a' twice", () => op.createEnum("e", ["a", "a"])],
    [
      "addEnumValue of e takes either 'before' or 'after'",
      () => op.addEnumValue("e", "x", { before: "a", after: "b" }),
    ],
    ["alterEnum of e keeps 'a' and cannot replace it", () => op.alterEnum("e", ["a", "b"], { replace: { a: "b" } })],
    ["op.sql takes SQL, a string or a list of strings, not 1", () => op.sql(1 as never)],
    ["op.sql takes at least one statement", () => op.sql("  ")],
    ['op.run takes functions, not "x"', () => op.run("x" as never)],
    [
      "unknown option 'operation' in migration(); did you mean 'operations'?",
      () => migration({ operation: [] } as never),
    ],
    ["option 'operations' is required in migration()", () => migration({} as never)],
    [
      "option 'operations' in migration() must be a list of operations, each made by a call of `op`: an object (Object) is none, not [an object (Object)]",
      () => migration({ operations: [{}] } as never),
    ],
  ])("An invalid operation is refused: %s", (message, call) => {
    expect(call).toThrow(new ValueError(message));
  });

  it("migration() returns a valid definition unchanged", () => {
    const definition: MigrationDefinition = {
      dependsOn: ["0001"],
      operations: [op.dropTable("a")],
      transaction: false,
    };
    expect(migration(definition)).toEqual(definition);
  });
});

describe("the schema after an operation", () => {
  const books = (operation: Operation): TableState => operation.apply(shop).tables["books"]!;

  it("The schema after an operation has types in one spelling and no default options", () => {
    const table = op.createTable("a", {
      columns: { b: { type: "INT4", nullable: false, identity: false }, c: { type: "character varying(20)" } },
      indexes: { i: { on: [{ column: "b", descending: false }], method: "btree", unique: false, include: [] } },
      foreignKeys: { f: { columns: ["b"], table: "x", references: ["y"], onDelete: "no action" } },
      checks: {},
    });
    expect(table.apply(emptyState).tables["a"]).toEqual({
      columns: { b: { type: "integer" }, c: { type: "varchar(20)" } },
      indexes: { i: { on: ["b"] } },
      foreignKeys: { f: { columns: ["b"], table: "x", references: ["y"] } },
    });
  });

  it("The schema after a rename has the new column name everywhere, also in names derived from it", () => {
    const renamed = books(op.renameColumn("books", "year", "printed"));
    expect(Object.keys(renamed.columns)).toEqual(["id", "title", "printed", "status", "author_id", "low"]);
    expect(renamed.checks).toEqual({
      books_printed_check: `"printed" > 0 AND title <> 'year'`,
      books_check1: "printed < 3000",
    });
    expect(renamed.indexes).toEqual({
      books_printed_idx: { on: ["printed"] },
      recent: { on: ["title"], where: "printed > 2000" },
    });
    const title = books(op.renameColumn("books", "title", "name"));
    expect(title.columns["low"]!.generated).toBe("lower(name)");
    expect(Object.keys(title.unique!)).toEqual(["books_author_id_name_key", "one_title"]);
  });

  it("Foreign keys refer to renamed tables and columns", () => {
    const table = op.renameTable("authors", "shop.writers").apply(shop);
    expect(table.tables["books"]!.foreignKeys!["books_author_id_fkey"]!.table).toBe("shop.writers");
    expect(Object.keys(table.tables["shop.writers"]!.unique!)).toEqual(["writers_name_key"]);
    const column = op.renameColumn("authors", "id", "key").apply(shop);
    expect(column.tables["books"]!.foreignKeys!["books_author_id_fkey"]!.references).toEqual(["key"]);
  });

  it("The schema after a dropped column has none of its constraints and indexes", () => {
    const dropped = books(op.dropColumn("books", "year"));
    expect(dropped).not.toHaveProperty("indexes");
    expect(dropped).not.toHaveProperty("checks");
    const { unique, foreignKeys } = books(op.dropColumn("books", "author_id"));
    expect(Object.keys(unique!)).toEqual(["one_title"]);
    expect(foreignKeys).toBeUndefined();
    expect(books(op.dropColumn("books", "id")).primaryKey).toBeUndefined();
  });

  it("Columns refer to a renamed enum and its renamed values", () => {
    expect(books(op.renameEnum("status", "shop.State")).columns["status"]).toEqual({
      type: 'shop."State"',
      default: `'draft'::shop."State"`,
    });
    expect(books(op.renameEnumValue("status", "draft", "it's")).columns["status"]!.default).toBe("'it''s'::status");
  });

  it("An operation with the application's own SQL changes the schema as it declares", () => {
    const operation = op.sql("alter ...", undefined, { state: [op.dropColumn("books", "year")] });
    expect(books(operation).columns).not.toHaveProperty("year");
    expect(operation.down(shop)).toBeUndefined();
    expect(op.sql("select 1", "").down(shop)).toEqual([]);
  });
});
