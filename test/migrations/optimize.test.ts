import { describe, expect, it } from "vitest";
import { detectChanges } from "../../src/migrations/autodetector.js";
import type { Operation } from "../../src/migrations/operation.js";
import { op } from "../../src/migrations/operations.js";
import { optimize } from "../../src/migrations/optimize.js";
import { emptyState, type SchemaState } from "../../src/orm/schema/state.js";
import fc, { runs } from "../support/properties.js";
import { randomState } from "./random-states.js";

const id = { type: "integer", identity: true } as const;
const books = op.createTable("books", { columns: { id }, primaryKey: ["id"] });
const tags = op.createTable("tags", { columns: { id }, primaryKey: ["id"] });
const text = { type: "text" } as const;

function calls(operations: readonly Operation[]): Operation["source"][] {
  return optimize(operations).map(({ source }) => source);
}

function applied(operations: readonly Operation[], from: SchemaState = emptyState): SchemaState {
  return operations.reduce((state, operation) => operation.apply(state), from);
}

describe("optimized operations", () => {
  it("Later changes of a new table become part of it, past other tables", () => {
    expect(
      calls([
        books,
        tags,
        op.addColumn("books", "title", text),
        op.createIndex("books", "books_title_idx", { on: ["title"] }, { concurrently: true }),
        op.renameColumn("books", "title", "name"),
        op.alterColumn("books", "name", { nullable: true }),
        op.addColumn("books", "gone", text),
        op.dropColumn("books", "gone"),
        op.renameTable("books", "novels"),
      ]),
    ).toEqual([
      [
        "createTable",
        "novels",
        {
          columns: { id, name: { type: "text", nullable: true } },
          primaryKey: ["id"],
          indexes: { novels_name_idx: { on: ["name"] } },
        },
      ],
      tags.source,
    ]);
  });

  it("A table moves after the one that it refers to later", () => {
    const column = op.addColumn("books", "tag_id", { type: "integer" });
    const key = op.addForeignKey("books", "books_tag_id_fkey", {
      columns: ["tag_id"],
      table: "tags",
      references: ["id"],
    });
    const [first, second, ...rest] = calls([books, tags, column, key]);
    expect(first).toEqual(tags.source);
    expect(second).toEqual([
      "createTable",
      "books",
      expect.objectContaining({ foreignKeys: { books_tag_id_fkey: expect.anything() } }),
    ]);
    expect(rest).toEqual([]);
  });

  it("Later additions to a table become part of it, past tables that refer to it", () => {
    const lines = op.createTable("lines", {
      columns: { id, book: { type: "integer" } },
      foreignKeys: { lines_book_fkey: { columns: ["book"], table: "books", references: ["id"] } },
    });
    const operations = [
      books,
      lines,
      op.addColumn("books", "title", text),
      op.createIndex("books", "books_title_idx", { on: ["title"] }),
      op.renameColumn("books", "title", "name"),
    ];
    expect(calls(operations)).toEqual([
      ["createTable", "books", expect.objectContaining({ indexes: { books_name_idx: { on: ["name"] } } })],
      lines.source,
    ]);
  });

  it("Later values become part of a new enum, but no use of a value moves in front of it", () => {
    const mood = op.createEnum("mood", ["sad"]);
    const table = op.createTable("days", { columns: { id, mood: { type: "mood" } } });
    const value = op.addEnumValue("mood", "glad");
    const used = op.alterColumn("days", "mood", { default: "'glad'::mood" });
    expect(calls([mood, table, value])).toEqual([["createEnum", "mood", ["sad", "glad"]], table.source]);
    expect(calls([table, value, used]).map(([name]) => name)).toEqual(["addEnumValue", "createTable"]);
  });

  it("Circles of foreign keys are left unchanged", () => {
    const circle = [
      op.createTable("a", { columns: { id, b: { type: "integer" } }, primaryKey: ["id"] }),
      op.createTable("b", {
        columns: { id, a: { type: "integer" } },
        primaryKey: ["id"],
        foreignKeys: { b_a_fkey: { columns: ["a"], table: "a", references: ["id"] } },
      }),
      op.addForeignKey("a", "a_b_fkey", { columns: ["b"], table: "b", references: ["id"] }),
    ];
    expect(optimize(circle)).toEqual(circle);
  });

  it.each<[string, Operation[], unknown[]]>([
    ["a table", [books, op.dropTable("books")], []],
    ["an index", [op.createIndex("books", "i", { on: ["id"] }), op.dropIndex("books", "i")], []],
    ["a check", [op.addCheck("books", "c", "id > 0"), op.dropConstraint("books", "c")], []],
    ["an enum", [op.createEnum("mood", ["sad"]), op.addEnumValue("mood", "glad"), op.dropEnum("mood")], []],
    ["a rename", [op.renameTable("a", "b"), op.renameTable("b", "a")], []],
    ["a column's rename", [op.renameColumn("a", "b", "c"), op.renameColumn("a", "c", "b")], []],
    ["a constraint's rename", [op.renameConstraint("a", "b", "c"), op.renameConstraint("a", "c", "b")], []],
  ])("Operations that make and remove %s are dropped", (_, operations, expected) => {
    expect(calls(operations)).toEqual(expected);
  });

  it.each<[string, Operation[], unknown[][]]>([
    [
      "an added column and its changes",
      [op.addColumn("a", "b", text), op.alterColumn("a", "b", { nullable: true, comment: "x" })],
      [["addColumn", "a", "b", { type: "text", nullable: true, comment: "x" }]],
    ],
    [
      "an added column that is filled later",
      [
        op.addColumn("a", "b", { type: "text", nullable: true }),
        op.alterColumn("a", "b", { nullable: false }, { fill: "'x'" }),
      ],
      [["addColumn", "a", "b", { type: "text" }, { fill: "'x'" }]],
    ],
    [
      "changes of one column",
      [op.alterColumn("a", "b", { type: "text" }), op.alterColumn("a", "b", { default: "'x'" })],
      [["alterColumn", "a", "b", { type: "text", default: "'x'" }]],
    ],
    [
      "a change and a drop",
      [op.alterColumn("a", "b", { nullable: true }), op.dropColumn("a", "b")],
      [["dropColumn", "a", "b"]],
    ],
    ["a rename and a drop", [op.renameColumn("a", "b", "c"), op.dropColumn("a", "c")], [["dropColumn", "a", "b"]]],
    [
      "two renames",
      [op.renameColumn("a", "b", "c"), op.renameColumn("a", "c", "d")],
      [["renameColumn", "a", "b", "d"]],
    ],
    ["a table's rename and its drop", [op.renameTable("a", "b"), op.dropTable("b")], [["dropTable", "a"]]],
    ["changes of a table that is dropped", [op.addColumn("a", "b", text), op.dropTable("a")], [["dropTable", "a"]]],
    ["comments", [op.commentTable("a", "x"), op.commentTable("a", null)], [["commentTable", "a", null]]],
    [
      "an enum and its values",
      [op.createEnum("m", ["a"]), op.addEnumValue("m", "b", { before: "a" })],
      [["createEnum", "m", ["b", "a"]]],
    ],
    [
      "an index under another name",
      [op.createIndex("a", "i", { on: ["b"] }), op.renameIndex("a", "i", "j")],
      [["createIndex", "a", "j", { on: ["b"] }]],
    ],
  ])("The optimizer combines %s into one operation", (_, operations, expected) => {
    expect(calls(operations)).toEqual(expected);
  });

  it.each<[string, Operation[]]>([
    [
      "SQL",
      [books, op.sql("select 1", []), op.addColumn("books", "title", text), op.sql("select 2"), op.dropTable("books")],
    ],
    ["functions", [op.addColumn("a", "b", text), op.run(() => {}), op.dropColumn("a", "b")]],
  ])("No operation moves past %s", (_, operations) => {
    expect(optimize(operations)).toEqual(operations);
  });

  it("The drop of a foreign key stays before the drop of its target table", () => {
    const operations = [op.dropConstraint("a", "a_b_fkey"), op.dropTable("b"), op.dropTable("a")];
    expect(optimize(operations)).toEqual(operations);
  });

  it("A default for existing rows and a later fill value are not combined", () => {
    const operations = [
      op.addColumn("a", "b", { type: "text", nullable: true, default: "'x'" }),
      op.alterColumn("a", "b", { default: null, nullable: false }, { fill: "'y'" }),
    ];
    expect(optimize(operations)).toEqual(operations);
  });

  it("Optimized operations lead to the same state, at the end and at each piece of SQL", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(randomState, fc.boolean()), { minLength: 2, maxLength: 4 }), (states) => {
        const operations: Operation[] = [];
        let state = emptyState;
        for (const [next, barrier] of states) {
          operations.push(...detectChanges(state, { state: next }).operations);
          if (barrier) operations.push(op.sql("select 1"));
          state = next;
        }
        const optimized = optimize(operations);
        expect(optimized.length).toBeLessThanOrEqual(operations.length);
        expect(statesAtSql(optimized)).toEqual(statesAtSql(operations));
        expect(applied(optimized)).toEqual(state);
      }),
      { numRuns: runs(100) },
    );
  });
});

function statesAtSql(operations: readonly Operation[]): SchemaState[] {
  return operations.flatMap(({ source: [name] }, index) =>
    name === "sql" ? [applied(operations.slice(0, index))] : [],
  );
}
