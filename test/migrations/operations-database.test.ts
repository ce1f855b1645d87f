import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database, Row } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { detectChanges } from "../../src/migrations/autodetector.js";
import type { Operation } from "../../src/migrations/operation.js";
import { op } from "../../src/migrations/operations.js";
import { emptyState, type SchemaState } from "../../src/orm/schema/state.js";
import { engines } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { fingerprint } from "./fingerprint.js";
import { runDown, runUp } from "./run-operations.js";

const id = { type: "integer", identity: true } as const;

const base: readonly Operation[] = [
  op.createEnum("status", ["draft", "done"]),
  op.createTable("authors", {
    columns: { id, name: { type: "text" }, code: { type: "text", nullable: true } },
    primaryKey: ["id"],
    unique: { authors_name_key: { columns: ["name"] } },
  }),
  op.createTable("books", {
    columns: {
      id,
      title: { type: "varchar(40)", comment: "As on the cover" },
      year: { type: "integer", nullable: true, default: "1999" },
      price: { type: "text", default: "'1'" },
      status: { type: "status", default: "'draft'::status" },
      tags: { type: "status[]", default: "'{}'::status[]" },
      author_id: { type: "integer" },
      low: { type: "text", nullable: true, generated: "lower(title)" },
      number: { type: "integer" },
    },
    primaryKey: ["id"],
    unique: { books_author_id_title_key: { columns: ["author_id", "title"] } },
    foreignKeys: {
      books_author_id_fkey: {
        columns: ["author_id"],
        table: "authors",
        references: ["id"],
        onDelete: "cascade",
        deferred: true,
      },
    },
    checks: { books_year_check: "year > 0", books_status_check: "status <= 'done' AND price <> ''" },
    indexes: {
      books_year_idx: { on: ["year"] },
      books_low_idx: { on: ["low"] },
      books_lower_title_idx: { on: [{ expression: "lower(title)" }] },
      books_drafts: { on: ["title"], where: "status = 'draft'", include: ["year"] },
    },
  }),
];

const rows = `INSERT INTO authors (name, code) VALUES ('Ursula', '7'), ('Iain', NULL);
  INSERT INTO books (title, year, price, status, tags, author_id, number) VALUES
    ('Lavinia', 2008, '12', 'done', '{done}', 1, 10), ('Matter', NULL, '9', 'draft', '{draft,done}', 2, 20)`;

interface Change {
  readonly change: string;
  readonly operations: readonly Operation[];
  /** A query after it, and the rows that it gives as lists. */
  readonly after?: readonly [query: string, rows: unknown[][]];
  /** The same when it is undone; without one, all rows are what they were. */
  readonly undone?: readonly [query: string, rows: unknown[][]];
}

const changes: readonly Change[] = [
  {
    change: "a table made",
    operations: [
      op.createTable("shop.lines", {
        columns: { id, book: { type: "integer", nullable: true } },
        primaryKey: ["id"],
        unique: { lines_id_key: { columns: ["id"] }, lines_book_key: { columns: ["book"], nullsNotDistinct: true } },
        foreignKeys: { f: { columns: ["book"], table: "books", references: ["id"] } },
        indexes: {
          i: { on: [{ column: "book", descending: true, nulls: "last" }] },
          h: { on: ["book"], method: "hash" },
        },
        comment: "It's a \\ table",
      }),
    ],
  },
  {
    change: "a table dropped",
    operations: [op.dropTable("books")],
    undone: ["SELECT count(*) FROM books", [[0]]],
  },
  {
    change: "a table renamed, and moved",
    operations: [op.renameTable("books", "shop.novels")],
    after: ["SELECT title FROM shop.novels ORDER BY id", [["Lavinia"], ["Matter"]]],
  },
  {
    change: "a table renamed that others refer to",
    operations: [op.renameTable("authors", "writers")],
    after: ["SELECT w.name FROM books b JOIN writers w ON w.id = b.author_id ORDER BY b.id", [["Ursula"], ["Iain"]]],
  },
  {
    change: "a table's comment",
    operations: [op.commentTable("books", "All of them"), op.commentTable("books", null)],
  },
  { change: "a schema", operations: [op.createSchema("shop")] },
  {
    change: "a column added with a default",
    operations: [op.addColumn("books", "pages", { type: "integer", default: "100", comment: "Counted" })],
    after: ["SELECT pages FROM books", [[100], [100]]],
  },
  {
    change: "a column added and filled",
    operations: [op.addColumn("books", "slug", { type: "text" }, { fill: "lower(title) || number" })],
    after: ["SELECT slug FROM books ORDER BY id", [["lavinia10"], ["matter20"]]],
  },
  {
    change: "a column dropped that much hangs on",
    operations: [op.dropColumn("books", "status", { fill: "'done'" })],
    undone: [
      "SELECT title, status FROM books ORDER BY id",
      [
        ["Lavinia", "done"],
        ["Matter", "done"],
      ],
    ],
  },
  {
    change: "a foreign key's column dropped",
    operations: [op.dropColumn("books", "author_id", { fill: "1" })],
    undone: [
      "SELECT title, author_id FROM books ORDER BY id",
      [
        ["Lavinia", 1],
        ["Matter", 1],
      ],
    ],
  },
  {
    change: "the key's column dropped",
    operations: [op.dropColumn("books", "id")],
    undone: [
      "SELECT title, id FROM books ORDER BY id",
      [
        ["Lavinia", 1],
        ["Matter", 2],
      ],
    ],
  },
  {
    change: "a column renamed that much hangs on",
    operations: [op.renameColumn("books", "title", "name"), op.renameColumn("books", "author_id", "writer_id")],
    after: [
      "SELECT name, low, writer_id FROM books ORDER BY id",
      [
        ["Lavinia", "lavinia", 1],
        ["Matter", "matter", 2],
      ],
    ],
  },
  {
    change: "a foreign key over several columns added, and one of its columns renamed",
    operations: [
      op.addUnique("books", "books_author_id_id_key", { columns: ["author_id", "id"] }),
      op.createTable("copies", {
        columns: { id, author_id: { type: "integer" }, book_id: { type: "integer", nullable: true } },
        primaryKey: ["id"],
        foreignKeys: {
          copies_author_id_book_id_fkey: {
            columns: ["author_id", "book_id"],
            table: "books",
            references: ["author_id", "id"],
            onDelete: "set null",
            onDeleteColumns: ["book_id"],
          },
        },
      }),
      op.renameColumn("copies", "book_id", "novel_id"),
      op.sql("INSERT INTO copies (author_id, novel_id) VALUES (1, 1); DELETE FROM books WHERE id = 1", []),
    ],
    after: ["SELECT author_id, novel_id FROM copies", [[1, null]]],
    undone: ["SELECT count(*) FROM books", [[1]]],
  },
  { change: "a column renamed that others refer to", operations: [op.renameColumn("authors", "id", "order")] },
  {
    change: "a type that PostgreSQL converts, under a computed column",
    operations: [op.alterColumn("books", "title", { type: "text", collation: "C", comment: null })],
    after: [
      "SELECT title, low FROM books ORDER BY id",
      [
        ["Lavinia", "lavinia"],
        ["Matter", "matter"],
      ],
    ],
  },
  {
    change: "a type that it does not convert by itself, with a default and a check",
    operations: [
      op.dropConstraint("books", "books_status_check"),
      op.alterColumn("books", "price", { type: "integer", default: "5" }),
    ],
    after: ["SELECT price + 1 FROM books ORDER BY id", [[13], [10]]],
  },
  {
    change: "a type with a conversion of one's own",
    operations: [
      op.dropConstraint("books", "books_year_check"),
      op.alterColumn(
        "books",
        "year",
        { type: "date", default: "'1999-01-01'" },
        { using: "make_date(year, 1, 1)", downUsing: "extract(year FROM year)::integer" },
      ),
    ],
    after: ["SELECT year::text FROM books ORDER BY id", [["2008-01-01"], [null]]],
  },
  {
    change: "numbers to truth and back",
    operations: [op.alterColumn("books", "number", { type: "boolean" })],
    after: ["SELECT number FROM books", [[true], [true]]],
    undone: ["SELECT number FROM books", [[1], [1]]],
  },
  {
    change: "a text to an enum and its arrays to texts",
    operations: [
      op.createEnum("code", ["7", "8"]),
      op.alterColumn("authors", "code", { type: "code" }),
      op.alterColumn("books", "tags", { type: "text[]", default: "'{}'" }),
    ],
    after: ["SELECT tags FROM books ORDER BY id", [[["done"]], [["draft", "done"]]]],
  },
  {
    change: "a column that must hold a value",
    operations: [op.alterColumn("books", "year", { nullable: false, default: null }, { fill: "1" })],
    after: ["SELECT year FROM books ORDER BY id", [[2008], [1]]],
    undone: ["SELECT year FROM books ORDER BY id", [[2008], [1]]],
  },
  {
    change: "a foreign key that must lead somewhere, checked at the end",
    operations: [
      op.alterColumn("books", "author_id", { nullable: true }),
      op.sql("UPDATE books SET author_id = NULL", []),
      op.alterColumn("books", "author_id", { nullable: false }, { fill: "2" }),
    ],
    undone: ["SELECT author_id FROM books", [[2], [2]]],
  },
  {
    change: "numbers given by the database from now on",
    operations: [op.alterColumn("books", "number", { identity: true })],
    after: ["INSERT INTO books (title, author_id) VALUES ('New', 1) RETURNING number", [[21]]],
    undone: ["SELECT number FROM books ORDER BY number", [[10], [20], [21]]],
  },
  {
    change: "numbers no longer given by the database, and wider",
    operations: [op.alterColumn("books", "id", { identity: false, type: "bigint" })],
    after: ["SELECT id FROM books ORDER BY id", [[1], [2]]],
  },
  {
    change: "a computed column computed otherwise",
    operations: [op.alterColumn("books", "low", { generated: "upper(title)" })],
    after: ["SELECT low FROM books ORDER BY id", [["LAVINIA"], ["MATTER"]]],
  },
  {
    change: "a computed column no longer computed",
    operations: [op.alterColumn("books", "low", { generated: null, nullable: false })],
    after: ["SELECT low FROM books ORDER BY id", [["lavinia"], ["matter"]]],
  },
  {
    change: "an index of every kind",
    operations: [
      op.createIndex("books", "a", {
        on: ["year", { expression: "upper(title)", descending: true }],
        unique: true,
        where: "year > 1",
      }),
      op.createIndex("books", "b", {
        on: [{ column: "title", operatorClass: "varchar_pattern_ops", nulls: "first" }],
        include: ["id"],
      }),
      op.renameIndex("books", "a", "c"),
      op.dropIndex("books", "books_drafts"),
    ],
  },
  {
    change: "an index made and dropped while others write",
    operations: [
      op.createIndex("books", "a", { on: ["price"] }, { concurrently: true }),
      op.dropIndex("books", "books_year_idx", { concurrently: true }),
    ],
  },
  {
    change: "constraints of every kind",
    operations: [
      op.addUnique("books", "u", { columns: ["year"], nullsNotDistinct: true }),
      op.addCheck("books", "c", "length(title) > 1"),
      op.addForeignKey("authors", "f", { columns: ["id"], table: "books", references: ["id"], onUpdate: "cascade" }),
      op.renameConstraint("books", "c", "d"),
      op.dropConstraint("books", "books_author_id_fkey"),
      op.dropConstraint("books", "books_author_id_title_key"),
    ],
  },
  {
    change: "another primary key",
    operations: [
      op.setPrimaryKey("books", ["number", "id"], "pk"),
      op.renameConstraint("books", "pk", "books_pkey"),
      op.setPrimaryKey("books", null),
    ],
  },
  {
    change: "values added to an enum",
    operations: [
      op.addEnumValue("status", "new", { before: "draft" }),
      op.addEnumValue("status", "gone"),
      op.addEnumValue("status", "it's", { after: "draft" }),
    ],
    after: ["SELECT unnest(enum_range(NULL::status))::text", [["new"], ["draft"], ["it's"], ["done"], ["gone"]]],
  },
  {
    change: "an enum and a value renamed",
    operations: [op.renameEnum("status", "shop.State"), op.renameEnumValue("shop.State", "draft", "open")],
    after: [
      "SELECT status::text, tags::text FROM books ORDER BY id",
      [
        ["done", "{done}"],
        ["open", "{open,done}"],
      ],
    ],
  },
  {
    change: "another set of values, with another in place of one that is gone",
    operations: [
      op.alterColumn("books", "status", { default: null }),
      op.dropConstraint("books", "books_status_check"),
      op.dropIndex("books", "books_drafts"),
      op.alterEnum("status", ["new", "done"], { replace: { draft: "new" } }),
      op.alterColumn("books", "status", { default: "'new'::status" }),
    ],
    after: [
      "SELECT status::text, tags::text FROM books ORDER BY id",
      [
        ["done", "{done}"],
        ["new", "{new,done}"],
      ],
    ],
  },
  {
    change: "another order of values",
    operations: [op.dropConstraint("books", "books_status_check"), op.alterEnum("status", ["done", "draft"])],
    after: ["SELECT title FROM books ORDER BY status", [["Lavinia"], ["Matter"]]],
  },
  {
    change: "an enum that is no longer used",
    operations: [
      op.dropColumn("books", "status", { fill: "'draft'" }),
      op.dropColumn("books", "tags"),
      op.dropEnum("status"),
    ],
    undone: [
      "SELECT status::text, tags::text FROM books",
      [
        ["draft", "{}"],
        ["draft", "{}"],
      ],
    ],
  },
  {
    change: "data moved by SQL and by a function",
    operations: [
      op.sql(
        ["UPDATE books SET number = number + 1", "UPDATE books SET number = number * 2"],
        "UPDATE books SET number = number / 2 - 1",
      ),
      op.run(
        async (db) => {
          await db.execute("UPDATE books SET title = upper(title)");
        },
        async (db) => {
          await db.execute("UPDATE books SET title = initcap(title)");
        },
      ),
    ],
    after: [
      "SELECT title, number FROM books ORDER BY id",
      [
        ["LAVINIA", 22],
        ["MATTER", 42],
      ],
    ],
  },
];

describe.each(engines(service("postgres")))("an operation in a database with rows ($name)", (engine) => {
  let db: Database;
  let drop: () => Promise<void>;
  let state: SchemaState;
  beforeAll(async () => {
    const made = await engine.make();
    drop = made.drop;
    db = await openDatabase({ url: made.url, poolSize: 1 });
  });
  afterAll(async () => {
    await db?.close();
    await drop?.();
  });

  const clear = (): Promise<void> =>
    db.script("DROP SCHEMA public CASCADE; DROP SCHEMA IF EXISTS shop CASCADE; CREATE SCHEMA public");
  const lists = async (query: string): Promise<unknown[][]> => (await db.fetchArrays(query)).rows;
  const everything = (): Promise<Row[]> =>
    db.fetch(
      "SELECT to_jsonb(b) AS book, to_jsonb(a) AS author FROM books b JOIN authors a ON a.id = b.author_id ORDER BY b.id",
    );

  beforeEach(async () => {
    await clear();
    state = await runUp(db, base, emptyState);
    await db.script(rows);
  });

  it.each(changes)(
    "An operation in a database with rows can be done and undone: $change",
    async ({ operations, after, undone }) => {
      const before = await fingerprint(db);
      const data = await everything();
      const reached = await runUp(db, operations, state);
      const made = await fingerprint(db);
      if (after) expect(await lists(after[0])).toEqual(after[1]);
      await runDown(db, operations, state);
      expect(await fingerprint(db)).toEqual(before);
      if (undone) expect(await lists(undone[0])).toEqual(undone[1]);
      else expect(await everything()).toEqual(data);
      await clear();
      await runUp(db, detectChanges(emptyState, { state: reached }).operations, emptyState);
      expect(await fingerprint(db)).toEqual(made);
    },
  );

  it("An index that an earlier attempt left incomplete is made again", async () => {
    const index = op.createIndex("books", "i", { on: ["number"], unique: true }, { concurrently: true });
    await db.script("INSERT INTO books (title, author_id, number) VALUES ('Again', 1, 10)");
    await expect(runUp(db, [index], state)).rejects.toThrow("could not create unique index");
    await db.script("DELETE FROM books WHERE title = 'Again'");
    await runUp(db, [index], state);
    expect((await fingerprint(db)).filter((line) => line.includes(" i ON"))).toEqual([
      "index CREATE UNIQUE INDEX i ON public.books USING btree (number) t",
    ]);
  });

  it("A renamed table renames its sequence, unless that has its own name or the new one is taken", async () => {
    const sequence = (table: string) => db.fetchval("SELECT pg_get_serial_sequence($1, 'id')", [table]);
    const rename = [op.renameTable("books", "novels")];
    await runUp(db, rename, state);
    expect(await sequence("novels")).toBe("public.novels_id_seq");
    await db.execute("INSERT INTO novels (title, price, author_id, number) VALUES ('Inversions', '3', 2, 30)");
    await runDown(db, rename, state);
    expect(await sequence("books")).toBe("public.books_id_seq");
    const move = [op.renameTable("books", "shelf.novels")];
    await runUp(db, move, state);
    expect(await sequence("shelf.novels")).toBe("shelf.novels_id_seq");
    await runDown(db, move, state);
    expect(await sequence("books")).toBe("public.books_id_seq");
    await db.execute("ALTER SEQUENCE books_id_seq RENAME TO numbers");
    await runUp(db, rename, state);
    expect(await sequence("novels")).toBe("public.numbers");
    await runDown(db, rename, state);
    await db.script("ALTER SEQUENCE numbers RENAME TO books_id_seq; CREATE SEQUENCE novels_id_seq");
    await runUp(db, rename, state);
    expect(await sequence("novels")).toBe("public.books_id_seq");
    await runDown(db, rename, state);
    await db.script("DROP SEQUENCE novels_id_seq; DROP SCHEMA shelf");
  });

  it("A new type that is too short for the text in a column is refused, and the text is kept", async () => {
    await expect(runUp(db, [op.alterColumn("books", "title", { type: "varchar(3)" })], state)).rejects.toThrow(
      "too long",
    );
    expect(await lists("SELECT title FROM books ORDER BY id")).toEqual([["Lavinia"], ["Matter"]]);
  });

  it("An enum value that a row contains cannot be removed", async () => {
    const value = op.addEnumValue("status", "gone", { before: "draft" });
    await runUp(db, [value], state);
    await db.script("UPDATE books SET status = 'gone' WHERE id = 1");
    await expect(runDown(db, [value], state)).rejects.toThrow("invalid input value for enum status");
  });
});
