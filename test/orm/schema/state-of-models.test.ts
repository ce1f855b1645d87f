import { describe, expect, it } from "vitest";
import { field, Model } from "../../../src/entry/orm.js";
import { desiredSchema, stateOf } from "../../../src/orm/schema/state-of-models.js";
import { bookshop } from "../bookshop.js";

describe("the schema of models", () => {
  it("The schema of models has all tables and their parts, with the tables of many-to-many relations", () => {
    const { tables, enums } = stateOf(bookshop.map((model) => model.meta));
    expect(enums).toEqual({});
    expect(Object.keys(tables)).toEqual(["countries", "authors", "profiles", "tags", "books", "notes", "books_tags"]);
    expect(tables["books"]).toEqual({
      columns: {
        id: { type: "integer", identity: true },
        title: { type: "varchar(200)" },
        author_id: { type: "integer" },
        year: { type: "integer", nullable: true },
        price: { type: "numeric(10, 2)", default: "0" },
        stock: { type: "integer", default: "0" },
        status: { type: "text", default: "'draft'::text" },
        keywords: { type: "text[]", default: "'{}'::text[]" },
        published: { type: "timestamp(3) with time zone", nullable: true },
      },
      primaryKey: ["id"],
      unique: { books_author_id_title_key: { columns: ["author_id", "title"] } },
      foreignKeys: {
        books_author_id_fkey: { columns: ["author_id"], table: "authors", references: ["id"], onDelete: "cascade" },
      },
      checks: {
        books_stock_check: "stock >= 0",
        books_status_choices: `"status" IN ('draft', 'published', 'sold_out')`,
      },
      indexes: {
        books_author_id_idx: { on: ["author_id"] },
        books_lower_title_idx: { on: [{ expression: "lower(title)" }] },
        books_year_title_idx: { on: ["year", "title"] },
      },
    });
    expect(tables["books_tags"]).toMatchObject({
      columns: { book_id: { type: "integer" }, tag_id: { type: "integer" } },
      primaryKey: ["book_id", "tag_id"],
      indexes: { books_tags_tag_id_idx: { on: ["tag_id"] } },
    });
  });

  it("The schema of models has no second constraint on a primary key", () => {
    const profiles = stateOf(bookshop.map((model) => model.meta)).tables["profiles"]!;
    expect(profiles.primaryKey).toEqual(["author_id"]);
    expect(profiles.unique).toBeUndefined();
  });

  it("The schema of models has schemas, enums, comments, computed columns and collations, and no unmanaged tables", () => {
    class Line extends Model(
      "lines",
      {
        id: field.bigAuto(),
        size: field.enum(["s", "l"], { name: "size", default: "s", comment: "How large" }),
        sizes: field.array(field.array(field.enum(["s", "l"], { name: "size" })), { null: true }),
        title: field.text({ collation: "C", defaultSql: "upper('x')" }),
        words: field.searchVector({ generated: "to_tsvector('english', title)", index: true }),
        get legacy() {
          return field.foreignKey(() => Legacy, { null: true, onUpdate: "restrict", deferred: true, index: false });
        },
      },
      {
        schema: "shop",
        comment: "Lines of orders",
        unique: [{ fields: ["title"], nullsNotDistinct: true, name: "u" }],
      },
    ) {}
    class Legacy extends Model(
      "legacy",
      { id: field.auto(), lines: field.manyToMany(() => Line) },
      { managed: false },
    ) {}
    expect(stateOf([Line.meta, Legacy.meta])).toEqual({
      enums: { size: ["s", "l"] },
      tables: {
        "shop.lines": {
          columns: {
            id: { type: "bigint", identity: true },
            size: { type: "size", default: "'s'::size", comment: "How large" },
            sizes: { type: "size[][]", nullable: true },
            title: { type: "text", collation: "C", default: "upper('x')" },
            words: { type: "tsvector", generated: "to_tsvector('english', title)" },
            legacy_id: { type: "integer", nullable: true },
          },
          primaryKey: ["id"],
          unique: { u: { columns: ["title"], nullsNotDistinct: true } },
          foreignKeys: {
            lines_legacy_id_fkey: {
              columns: ["legacy_id"],
              table: "legacy",
              references: ["id"],
              onDelete: "cascade",
              onUpdate: "restrict",
              deferred: true,
            },
          },
          indexes: { lines_words_idx: { on: ["words"], method: "gin" } },
          comment: "Lines of orders",
        },
      },
    });
  });

  it("The schema of models contains the former names that models give", () => {
    class Writer extends Model("writers", { id: field.auto() }) {}
    class Novel extends Model(
      "novels",
      {
        id: field.auto(),
        fullTitle: field.text({ renamedFrom: "shortTitle" }),
        writer: field.foreignKey(() => Writer, { renamedFrom: "author" }),
        readers: field.manyToMany(() => Writer),
      },
      { renamedFrom: "books" },
    ) {}
    expect(desiredSchema([Writer.meta, Novel.meta])).toMatchObject({
      renamedTables: { novels: ["books"], novels_readers: ["books_readers"] },
      renamedColumns: {
        novels: { full_title: ["short_title", "shortTitle", "short_title_id"], writer_id: ["author_id", "author"] },
      },
      automaticTables: ["novels_readers"],
    });
  });

  it("Contradictory models are refused", () => {
    class A extends Model("a", { id: field.auto(), x: field.enum(["a"], { name: "e" }) }) {}
    class B extends Model("b", { id: field.auto(), x: field.enum(["b"], { name: "e" }) }) {}
    class Dot extends Model("a.b", { id: field.auto() }) {}
    expect(() => stateOf([A.meta, B.meta])).toThrow("the enum 'e' has other values in B.x than in A.x");
    expect(() => stateOf([Dot.meta])).toThrow("Dot: the name of a table or a schema cannot hold a dot");
  });
});
