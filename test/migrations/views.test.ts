import { op } from "stoa/migrations";
import { expect, it } from "vitest";
import { count, field, Model, max, View } from "../../src/entry/orm.js";
import { detectChanges } from "../../src/migrations/autodetector.js";
import { nameFor } from "../../src/migrations/files/migration-name.js";
import { writeMigration } from "../../src/migrations/files/writer.js";
import { lint } from "../../src/migrations/lint.js";
import type { Operation } from "../../src/migrations/operation.js";
import { optimize } from "../../src/migrations/optimize.js";
import type { ModelConstructor } from "../../src/orm/meta.js";
import { emptyState, type SchemaState } from "../../src/orm/schema/state.js";
import { desiredSchema, stateOf } from "../../src/orm/schema/state-of-models.js";
import { service } from "../support/service.js";
import { runDown, runUp } from "./run-operations.js";
import { describeEngines, tables } from "./running.js";

interface Version {
  /** The type of a column that a view reads. */
  readonly price?: "bigInt" | "int";
  /** The definition of that view. */
  readonly most?: typeof count | typeof max;
  readonly materialized?: boolean;
  readonly more?: object;
}

function version({ price = "int", most = max, materialized = false, more = {} }: Version) {
  class Book extends Model("books", {
    id: field.auto(),
    shelf: field.text(),
    price: price === "int" ? field.int() : field.bigInt(),
    ...more,
  }) {}
  class Best extends View(
    "best",
    { id: field.int({ primaryKey: true }), most: field.bigInt() },
    { as: "select 1 as id, max(most) as most from shelves" },
  ) {}
  class Shelf extends View(
    "shelves",
    { shelf: field.text({ primaryKey: true }), most: field.bigInt() },
    { as: () => Book.objects.values("shelf").annotate({ most: most("price") }), materialized },
  ) {}
  // Best reads Shelf, and comes before it.
  return { Book, Shelf, all: [Best, Shelf, Book] as const };
}

function metas(models: readonly ModelConstructor[]) {
  return models.map(({ meta }) => meta);
}

function changes(from: SchemaState, models: readonly ModelConstructor[]): readonly Operation[] {
  const { operations, questions } = detectChanges(from, desiredSchema(metas(models)));
  expect(questions).toEqual([]);
  return operations;
}

const told = (operations: readonly Operation[]) => operations.map(({ description }) => description);

describeEngines("migrations of views", service("postgres"), (database) => {
  it("Views are created after all that they read, changed with it, and dropped before it", async () => {
    const { db } = database();
    const first = version({});
    const made = changes(emptyState, first.all);
    expect(told(made)).toEqual(["create table books", "create view shelves", "create view best"]);
    const after = await runUp(db, made, emptyState);
    expect(after).toEqual(stateOf(metas(first.all)));
    await db.execute("insert into books (shelf, price) values ('a', 3), ('a', 5), ('b', 4)");
    expect(await db.fetchval("select most from best")).toBe(5);

    // Nothing to do without a change, nor for a column that no view needs.
    expect(changes(after, version({}).all)).toEqual([]);
    const wider = version({ more: { note: field.text({ default: "" }) } });
    expect(told(changes(after, wider.all))).toEqual(["add column books.note"]);

    // PostgreSQL refuses to change the type of a column that a view reads.
    const second = version({ price: "bigInt" });
    const retyped = changes(after, second.all);
    expect(told(retyped)).toEqual([
      "drop view best",
      "drop view shelves",
      "alter column books.price (type)",
      "create view shelves",
      "create view best",
    ]);
    const later = await runUp(db, retyped, after);
    expect(await db.fetchval("select most from best")).toBe(5);
    await runDown(db, retyped, after);
    expect(await db.fetchval("select most from best")).toBe(5);
    await runUp(db, retyped, after);

    const third = version({ price: "bigInt", most: count, materialized: true });
    const redefined = changes(later, third.all);
    expect(told(redefined)).toEqual([
      "drop view best",
      "drop view shelves",
      "create materialized view shelves",
      "create view best",
    ]);
    const last = await runUp(db, redefined, later);
    expect(await db.fetchval("select most from best")).toBe(2);
    expect(nameFor(redefined)).toBe("create_shelves_and_create_best");

    const gone = changes(last, [third.Book]);
    expect(told(gone)).toEqual(["drop view best", "drop view shelves"]);
    expect(await runUp(db, gone, last)).toEqual(stateOf(metas([third.Book])));
    expect(await tables(db)).toEqual(["books"]);
    await runDown(db, gone, last);
    expect(await db.fetchval("select most from best")).toBe(2);
  });
});

it("A migration file holds the definition of a view with its indexes", () => {
  const { Book, Shelf } = version({ materialized: true });
  expect(
    writeMigration({ operations: changes(stateOf(metas([Book])), [Book, Shelf]) }),
  ).toBe(`import { migration, op } from "stoa/migrations";

export default migration({
  operations: [
    op.createView("shelves", {
      as: 'SELECT source."shelf"::text AS "shelf", source."most"::bigint AS "most" FROM (SELECT t0."shelf", max(t0."price") FROM "books" t0 GROUP BY t0."shelf") AS source ("shelf", "most")',
      materialized: true,
      indexes: { shelves_shelf_key: { on: ["shelf"], unique: true } },
    }),
  ],
});
`);
});

it("Operations of views are checked before anything is sent", () => {
  const view = op.createView("v", { as: "select 1 as id" });
  const state = view.apply(emptyState);
  expect(() => view.apply(state)).toThrow("there is already a table or view 'v'");
  expect(() => op.dropView("w").apply(state)).toThrow("there is no view 'w'; did you mean 'v'?");
  expect(op.dropView("v").apply(state)).toEqual(emptyState);
  expect(() => op.createView("v", {} as never)).toThrow("'as'");
  expect(() => op.createView("v", { as: "select 1", indexes: { i: { on: ["id"] } } })).toThrow(
    "only a materialized view has indexes",
  );
});

it("A view that is dropped is a risk, and one that is made again is none", () => {
  const view = op.createView("v", { as: "select 1 as id", materialized: true, indexes: { i: { on: ["id"] } } });
  const before = view.apply(emptyState);
  const risks = (...operations: Operation[]) => lint({ name: "m", operations }, before).map(({ rule }) => rule);
  expect(risks(op.dropView("v"))).toEqual(["dropView"]);
  expect(risks(op.dropView("v"), view)).toEqual([]);
});

it("Squashing keeps views where they are", () => {
  const id = { type: "integer" };
  const operations = [
    op.createTable("t", { columns: { id } }),
    op.createView("v", { as: "select id from t" }),
    op.dropView("v"),
    op.addColumn("t", "more", { ...id, nullable: true }),
    op.createView("v", { as: "select id, more from t" }),
  ];
  const squashed = optimize(operations);
  const after = (list: readonly Operation[]) => list.reduce((state, each) => each.apply(state), emptyState);
  expect(after(squashed)).toEqual(after(operations));
  expect(told(squashed).at(-1)).toBe("create view v");
});
