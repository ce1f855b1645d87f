import { beforeEach, describe, expect, it } from "vitest";
import { sql } from "../../src/engines/db/sql/sql.js";
import {
  avg,
  count,
  createTables,
  createTablesSql,
  dropTables,
  FieldError,
  field,
  type Manager,
  Model,
  max,
  sum,
  View,
} from "../../src/entry/orm.js";
import { databaseDrift } from "../../src/introspection/index.js";
import { stateOf } from "../../src/orm/schema/state-of-models.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Author extends Model("authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  get books() {
    return field.reverse(() => Book, "author");
  },
  get shelf() {
    return field.reverseOne(() => Shelf, "author");
  },
}) {}

class Book extends Model(
  "books",
  {
    id: field.auto(),
    title: field.text(),
    author: field.foreignKey(() => Author),
    price: field.decimal({ precision: 8, scale: 2 }),
    year: field.int({ null: true }),
  },
  { ordering: ["title"] },
) {}

/** Its queryset leads to Author, and Author leads to it. */
class Shelf extends View(
  "shelves",
  {
    author: field.oneToOne(() => Author, { primaryKey: true }),
    books: field.int(),
    worth: field.decimal({ precision: 10, scale: 2 }),
    newest: field.int({ null: true }),
  },
  {
    as: () => Book.objects.values("author").annotate({ books: count(), worth: sum("price"), newest: max("year") }),
    ordering: ["author"],
  },
) {
  declare static objects: Manager<Shelf>;
  get label() {
    return `${this.books} for ${this.worth}`;
  }
}

/** It reads another view, and is declared before it. */
class Summary extends View(
  "summaries",
  {
    id: field.int({ primaryKey: true }),
    mean: field.decimal({ precision: 10, scale: 2 }),
    name: field.char({ maxLength: 3 }),
  },
  {
    as: sql`select 1::bigint as id, avg(worth) as mean, ${"O'Neill \\ $1"} as name, 'not a field' as more -- of all
      from shop.totals where books >= ${1}`,
    schema: "shop",
  },
) {}

class Total extends View(
  "totals",
  { author: field.foreignKey(() => Author), year: field.int(), books: field.int(), worth: field.float() },
  {
    schema: "shop",
    primaryKey: ["author", "year"],
    indexes: [{ fields: ["-worth"] }],
    materialized: true,
    as: "select author_id, coalesce(year, 0) as year, count(*) as books, sum(price) as worth from books group by 1, 2",
  },
) {}

const models = [Summary, Shelf, Total, Author, Book];

describeDatabases("views", service("postgres"), models, (database) => {
  beforeEach(async () => {
    await truncate(database(), [Author, Book]);
    await Author.objects.bulkCreate([{ name: "Ursula" }, { name: "Iain" }, { name: "Octavia" }]);
    await Book.objects.bulkCreate([
      { title: "Lavinia", author: 1, price: "10.50", year: 2008 },
      { title: "Powers", author: 1, price: "4.00", year: 2007 },
      { title: "Matter", author: 2, price: "8.25" },
    ]);
    await Total.refresh();
  });

  it("Rows of a queryset are rows of a model with the types of its fields", async () => {
    const rows = await Shelf.objects.all();
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { authorId: 1, books: 2, worth: "14.50", newest: 2008 },
      { authorId: 2, books: 1, worth: "8.25", newest: null },
    ]);
    expect(rows[0]!.label).toBe("2 for 14.50");
    expect(rows[0]!.pk).toBe(1);
    expect(JSON.parse(JSON.stringify(await Shelf.objects.get({ author: 2 })))).toEqual({
      authorId: 2,
      books: 1,
      worth: "8.25",
      newest: null,
    });
    await Book.objects.create({ title: "Inversions", author: 2, price: "1", year: 1998 });
    expect((await rows[1]!.refresh()).label).toBe("2 for 9.25");
  });

  it("A view takes part in filters, orders, aggregates and relations of both directions", async () => {
    expect(await Shelf.objects.filter({ author__name__startswith: "U", worth__gt: "9" }).count()).toBe(1);
    expect(await Shelf.objects.orderBy("worth").flat("author__name")).toEqual(["Iain", "Ursula"]);
    expect(await Shelf.objects.aggregate({ mean: avg("books") })).toEqual({ mean: 1.5 });
    expect(await Author.objects.filter({ shelf__books__gte: 2 }).flat("name")).toEqual(["Ursula"]);
    expect(await Author.objects.filter({ shelf__isnull: true }).flat("name")).toEqual(["Octavia"]);
    const authors = await Author.objects.selectRelated("shelf").orderBy("id");
    expect(authors.map(({ shelf }) => shelf?.label)).toEqual(["2 for 14.50", "1 for 8.25", undefined]);
    const loaded = await Shelf.objects.prefetchRelated("author__books").get({ author: 2 });
    expect(loaded.author.books.map(({ title }) => title)).toEqual(["Matter"]);
    const first = await Shelf.objects.keyset({ size: 1 });
    expect((await Shelf.objects.keyset({ size: 1, after: first.next! })).items[0]!.authorId).toBe(2);
    const joined = Author.objects.innerJoin(Total.objects.all(), { on: { id: "author" }, select: { inYear: "books" } });
    expect(await joined.count()).toBe(3);
  });

  it("SQL reads other views, and its values are part of the text", async () => {
    const summary = await Summary.objects.get();
    // A text that is longer than its field says stays whole: a view stores nothing.
    expect({ ...summary }).toEqual({ id: 1, mean: "7.58", name: "O'Neill \\ $1" });
  });

  it("No way to write rows gets as far as the database", async () => {
    const set = Shelf.objects as unknown as Manager<Book>;
    const [shelf] = await Shelf.objects.all();
    const row = shelf as unknown as Book;
    const refused = new FieldError("Shelf is a view: its rows are read only");
    const writes: (() => PromiseLike<unknown>)[] = [
      () => set.create({ author: 1, books: 2 } as never),
      () => set.bulkCreate([{ author: 1, books: 2 } as never]),
      () => set.bulkUpdate([row], ["books" as never]),
      () => set.getOrCreate({ author: 3 }),
      () => set.updateOrCreate({ author: 1 }, { books: 2 } as never),
      () => set.update({ books: 2 } as never),
      () => set.updateReturning({ books: 2 } as never),
      () => set.delete(),
      () => set.hardDelete(),
      () => {
        Object.assign(row, { books: 7 });
        return row.save();
      },
      () => row.delete(),
    ];
    for (const write of writes) await expect(Promise.resolve().then(write)).rejects.toThrow(refused);
    expect(await Book.objects.count()).toBe(3);
  });

  it("A materialized view has its rows until it is refreshed", async () => {
    const worth = () => Total.objects.filter({ author: 2 }).flat("worth");
    await Book.objects.filter({ title: "Matter" }).update({ price: "99" });
    expect(await worth()).toEqual([8.25]);
    await Total.refresh();
    expect(await worth()).toEqual([99]);
    await Book.objects.filter({ title: "Matter" }).update({ price: "100" });
    await Total.refresh({ concurrently: true, using: database() });
    expect(await worth()).toEqual([100]);
    await expect(
      database().transaction(async (tx) => {
        await tx.execute("delete from books");
        await Total.refresh({ using: tx });
        expect(await Total.objects.using(tx).count()).toBe(0);
        throw new Error("undone");
      }),
    ).rejects.toThrow("undone");
    expect(await worth()).toEqual([100]);
    await expect(Total.refresh({ concurently: true } as never)).rejects.toThrow("did you mean 'concurrently'?");
    await expect(Shelf.refresh()).rejects.toThrow("Shelf is not materialized");
  });

  it("Its indexes are those of its key and of its options", async () => {
    const rows = await database().fetch<{ name: string }>(
      "select indexname as name from pg_indexes where tablename = 'totals' order by 1",
    );
    expect(rows.map(({ name }) => name)).toEqual([
      "totals_author_id_idx",
      "totals_author_id_year_key",
      "totals_worth_idx",
    ]);
  });

  it("Drift lists views that are missing or have another definition", async () => {
    const wanted = stateOf(models.map(({ meta }) => meta));
    const drift = () => databaseDrift(database(), wanted);
    expect(await drift()).toEqual([]);
    const undo = new Error("undo");
    const broken = database().transaction(async (tx) => {
      await tx.script(`drop view shop.summaries; drop index shop.totals_worth_idx; create view others as select 1 as one;
        create or replace view shelves as select author_id, 1 as books, 1.5::numeric(10, 2) as worth, 2 as newest from books`);
      expect(await databaseDrift(tx, wanted)).toEqual([
        "view shop.summaries: is missing",
        "view shelves: has another definition",
        "view shop.totals: index totals_worth_idx is missing: (worth desc)",
      ]);
      throw undo;
    });
    await expect(broken).rejects.toBe(undo);
  });

  it("Values of all types in the conditions of a queryset are part of the view", async () => {
    class Kind extends Model("kinds", {
      id: field.auto(),
      at: field.datetime(),
      bytes: field.bytes(),
      tags: field.array(field.text()),
      data: field.json<{ a: string[] }>(),
      on: field.bool(),
    }) {}
    class Chosen extends View(
      "chosen_kinds",
      { id: field.int({ primaryKey: true }), at: field.datetime() },
      {
        as: () =>
          Kind.objects
            .filter({ at__lte: new Date("2024-01-02T03:04:05.678Z"), bytes: new Uint8Array([0, 92, 255]), on: true })
            .filter({ tags__overlap: ["it's", 'a "b"', "\\"], data__contains: { a: ["x"] }, id__in: [1, 2], id__ne: 2 })
            .values("id", "at")
            .orderBy("-id")
            .limit(5),
      },
    ) {}
    await createTables(database(), [Chosen, Kind]);
    const values = { bytes: new Uint8Array([0, 92, 255]), tags: ["\\", "z"], data: { a: ["x", "y"] }, on: true };
    const at = new Date("2024-01-02T03:04:05.678Z");
    await Kind.objects.bulkCreate([
      { ...values, at },
      { ...values, at },
      { ...values, at: new Date("2024-01-02T03:04:05.679Z") },
    ]);
    expect(await Chosen.objects.values()).toEqual([{ id: 1, at }]);
    await dropTables(database(), [Chosen, Kind]);
    expect(await database().fetchval("select to_regclass('chosen_kinds')")).toBeNull();
  });
});

describe("the declaration of a view", () => {
  const id = { id: field.int({ primaryKey: true }) };
  class Note extends Model("notes", { id: field.auto(), text: field.text() }) {}
  const refusals: readonly [string, () => unknown, string][] = [
    ["indexes without rows", () => View("v", id, { indexes: [["id"]] }), "the view v has no rows to index"],
    ["an unknown option", () => View("v", id, { managed: false } as never), "managed"],
    ["a definition of another kind", () => View("v", id, { as: 5 as never }), "'as'"],
    ["several statements", () => sqlOf(id, "select 1 as id; drop table x"), "the view v takes one SELECT"],
    ["a function without a queryset", () => sqlOf(id, () => "select 1"), "'as' of the view v must return a queryset"],
    [
      "a field that is missing",
      () => sqlOf({ ...id, text: field.text() }, () => Note.objects.values("id")),
      "has no 'text'",
    ],
    ["a value that is no field", () => sqlOf(id, () => Note.objects.all()), "has 'text', which is no field of it"],
  ];

  it.each(refusals)("It refuses %s", (_, make, message) => {
    expect(make).toThrow(message);
  });

  it("A view without a definition is left to others, and a key to a view has no constraint", () => {
    class Theirs extends View("theirs", id) {}
    class Mark extends Model("marks", { id: field.auto(), theirs: field.foreignKey(() => Theirs) }) {}
    expect(createTablesSql([Theirs])).toBe("");
    expect(createTablesSql([Theirs, Mark])).not.toMatch(/REFERENCES|VIEW/);
  });

  function sqlOf(fields: object, as: string | (() => unknown)): string {
    return createTablesSql([View("v", fields as typeof id, { as })]);
  }
});
