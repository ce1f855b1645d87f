import { AsyncResource } from "node:async_hooks";
import { beforeEach, expect, it } from "vitest";
import type { PoolDatabase } from "../../src/engines/db/pool/pool-database.js";
import { bindDatabase, field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Tag } from "./bookshop.js";
import { describeDatabases, truncate } from "./databases.js";

class Order extends Model("change_orders", {
  id: field.auto(),
  note: field.text({ default: "" }),
  get lines() {
    return field.reverse(() => Line, "order");
  },
  get remarks() {
    return field.reverse(() => Remark, "order");
  },
}) {}

class Line extends Model(
  "change_lines",
  {
    order: field.foreignKey(() => Order),
    number: field.int(),
    sku: field.text({ minLength: 1 }),
    get notes() {
      return field.reverse(() => Note, "line");
    },
  },
  { primaryKey: ["order", "number"] },
) {}

class Remark extends Model("change_remarks", {
  id: field.auto(),
  text: field.text(),
  order: field.foreignKey(() => Order, { null: true }),
  version: field.version(),
}) {}

class Note extends Model("change_notes", {
  id: field.auto(),
  orderId: field.int(),
  number: field.int(),
  text: field.text(),
  line: field.compositeForeignKey(() => Line, ["orderId", "number"]),
}) {}

const models = [...bookshop, Order, Line, Remark, Note];

describeDatabases("changes of related rows", service("postgres"), models, (db) => {
  beforeEach(() => truncate(db(), models));

  const library = async (): Promise<Author> =>
    Author.objects.create({ name: "Ursula", books: [{ title: "A" }, { title: "B" }, { title: "C" }] });
  const titles = (author: { id: number }) =>
    Book.objects.filter({ author: author.id }).orderBy("title").valuesList("title");

  it("save() creates, updates, upserts and deletes related rows with its own columns", async () => {
    const author = await library();
    author.name = "Ursula K. Le Guin";
    await author.save({
      related: {
        books: {
          delete: [1],
          update: [{ id: 2, title: "B2", year: 1969 }],
          upsert: [
            { id: 3, title: "C2", year: 1974 },
            { title: "D", tags: [{ name: "sf" }] },
          ],
          create: [{ title: "E" }],
        },
      },
    });
    expect(await titles(author)).toEqual([["B2"], ["C2"], ["D"], ["E"]]);
    expect((await Author.objects.get({ id: author.id })).name).toBe("Ursula K. Le Guin");
    expect(await Book.objects.filter({ tags__name: "sf" }).valuesList("title")).toEqual([["D"]]);
    expect((await author.books).map(({ title }) => title).sort()).toEqual(["B2", "C2", "D", "E"]);
  });

  it("save() adds and removes rows by instance and by key, and sets them", async () => {
    const [first, second] = [await Order.objects.create({}), await Order.objects.create({})];
    const remarks = await Remark.objects.bulkCreate([1, 2, 3, 4].map((n) => ({ text: `${n}`, order: second })));
    const of = (order: Order) => Remark.objects.filter({ order }).orderBy("id").valuesList("id");
    await first.save({ related: { remarks: { add: [remarks[0]!, 2, 3] } } });
    expect([await of(first), await of(second)]).toEqual([[[1], [2], [3]], [[4]]]);
    await first.save({ related: { remarks: { remove: [1, await Remark.objects.get({ id: 2 })] } } });
    expect(await of(first)).toEqual([[3]]);
    await first.save({ related: { remarks: { set: [1, 4], create: [{ text: "5" }] } } });
    expect([await of(first), await of(second)]).toEqual([[[1], [4], [5]], []]);

    const book = await Book.objects.create({ title: "A", author: { name: "a" }, tags: [{ name: "x" }, { name: "y" }] });
    const tags = async () => (await Tag.objects.filter({ books: book }).orderBy("name")).map(({ name }) => name);
    const z = await Tag.objects.create({ name: "z" });
    await book.save({
      related: { tags: { add: [z], remove: [1], update: [{ id: 2, name: "y2" }], create: [{ name: "w" }] } },
    });
    expect(await tags()).toEqual(["w", "y2", "z"]);
    await book.save({ related: { tags: { set: [z.id] } } });
    expect(await tags()).toEqual(["z"]);
  });

  it("An upsert with a natural key updates the row of that key, or creates it", async () => {
    const order = await Order.objects.create({ lines: [{ number: 1, sku: "a" }] });
    const upsert = [
      { number: 1, sku: "a2" },
      { number: 2, sku: "b" },
    ];
    await order.save({ related: { lines: { upsert } } });
    expect(await Line.objects.orderBy("number").valuesList("order", "number", "sku")).toEqual([
      [1, 1, "a2"],
      [1, 2, "b"],
    ]);
    await order.save({ related: { lines: { delete: [[order.id, 1]], update: [{ number: 2, sku: "b2" }] } } });
    expect(await Line.objects.valuesList("sku")).toEqual([["b2"]]);
  });

  it("Rows that do not belong to the row are errors that name the place, and nothing is written", async () => {
    const author = await library();
    const other = await Author.objects.create({ name: "Other", books: [{ title: "Z" }] });
    const refused = (books: object) => {
      author.name = "changed";
      return expect(author.save({ related: { books } } as never)).rejects;
    };
    const foreign = "no such Book belongs to this Author";
    await refused({
      update: [
        { id: 1, title: "A2" },
        { id: 4, title: "mine" },
      ],
    }).toThrow(`books.update[1]: ${foreign}`);
    await refused({ upsert: [{ id: 4, title: "mine" }] }).toThrow(`books.upsert[0]: ${foreign}`);
    await refused({ create: [{ title: "D" }], delete: [1, 4] }).toThrow(`books.delete[1]: ${foreign}`);
    await refused({ remove: [4] }).toThrow(`books.remove[0]: ${foreign}`);
    await refused({ remove: [1] }).toThrow("Book.author cannot be null");
    await refused({ add: [99] }).toThrow("books: 1 of the given keys belong to no Book");
    await refused({ update: [{ title: "x" }] }).toThrow("books.update[0] needs the key of the row: id");
    await refused({ update: [{ id: 1, author: other }] }).toThrow("books.update[0].author is set by Author.books");
    await refused({ create: [{ title: "D", authorId: 2 }] }).toThrow("books.create[0].authorId is set by Author.books");
    await refused({ update: [{ id: 1, titel: "x" }] }).toThrow('books.update[0]: Book has no field "titel"');
    await refused({ update: [{ id: 1, title: 5 }] }).toThrow("books.update[0].title: Book.title: expected a string");
    await refused({ create: [{ title: "D" }, { title: 5 }] }).toThrow("books.create[1].title: ");
    await refused({ update: [{ id: 1, title: "B" }] }).toThrow("duplicate key");
    await refused({ delete: [1], update: [{ id: 1, title: "A2" }] }).toThrow(
      "books.update[0] and books.delete[0] are the same Book",
    );
    await refused({ upsert: [{ title: "D" }, { id: 2, title: "x" }], update: [{ id: 2, year: 1 }] }).toThrow(
      "books.upsert[1] and books.update[0] are the same Book",
    );
    await refused({ conect: [1] }).toThrow("books.conect is no change of related rows: use set, add, remove");
    await refused({ add: 1 }).toThrow("books.add takes a list");
    await expect(author.save({ related: { country: {} } } as never)).rejects.toThrow(
      "no relation 'country' to many rows",
    );
    expect([await titles(author), await titles(other)]).toEqual([[["A"], ["B"], ["C"]], [["Z"]]]);
    expect(await Author.objects.orderBy("id").valuesList("name")).toEqual([["Ursula"], ["Other"]]);
    await author.save();
    expect((await Author.objects.get({ id: author.id })).name).toBe("changed");
  });

  it("A reference over several columns cannot lead to another row than the one that is saved", async () => {
    await Order.objects.create({
      lines: [
        { number: 1, sku: "a" },
        { number: 2, sku: "b" },
      ],
    });
    const [mine, other] = await Line.objects.orderBy("number");
    await mine!.save({ related: { notes: { create: [{ text: "x" }] } } });
    const refused = (notes: object) => expect(mine!.save({ related: { notes } } as never)).rejects;
    await refused({ update: [{ id: 1, line: other }] }).toThrow("notes.update[0]: Note.line and Note.number are both");
    await refused({ create: [{ text: "y", line: other }] }).toThrow(
      "notes.create[0]: Note.line and Note.number are both",
    );
    await mine!.save({ related: { notes: { update: [{ id: 1, text: "z" }] } } });
    expect(await Note.objects.valuesList("number", "text")).toEqual([[1, "z"]]);
  });

  it("Rules and versions of related rows hold", async () => {
    const order = await Order.objects.create({ lines: [{ number: 1, sku: "a" }], remarks: [{ text: "x" }] });
    const wrong = order.save({ related: { lines: { upsert: [{ number: 1, sku: "" }] } } });
    await expect(wrong).rejects.toThrow("lines.upsert[0].sku: Line.sku: String should have at least 1 character");
    await order.save({ related: { remarks: { update: [{ id: 1, text: "y" }] } } });
    expect(await Remark.objects.valuesList("text", "version")).toEqual([["y", 2]]);
  });

  it("Rows to change are locked before their hooks run", async () => {
    // It has one connection.
    if (db().engine === "pglite") return;
    const author = await library();
    // Outside of the transaction of the hook.
    const free = AsyncResource.bind(() =>
      db().transaction((tx) => Book.objects.using(tx).orderBy("id").forUpdate({ skipLocked: true }).valuesList("id")),
    );
    let during: unknown;
    const end = Book.on("beforeSave", async () => {
      during = await free();
    });
    try {
      await author.save({ related: { books: { update: [{ id: 2, title: "B2" }] } } });
    } finally {
      end();
    }
    expect([during, await free()]).toEqual([
      [[1], [3]],
      [[1], [2], [3]],
    ]);
  });

  it("Hooks run for related rows that are updated and created", async () => {
    const seen: string[] = [];
    const ends = (["beforeSave", "afterSave"] as const).map((event) =>
      Book.on(event, (book, { created }) => void seen.push(`${event} ${(book as Book).title} ${created}`)),
    );
    try {
      const author = await Author.objects.create({ name: "a" });
      await author.save({ related: { books: { create: [{ title: "A" }] } } });
      await author.save({ related: { books: { update: [{ id: 1, title: "B" }] } } });
    } finally {
      for (const end of ends) end();
    }
    expect(seen).toEqual(["beforeSave A true", "afterSave A true", "beforeSave B false", "afterSave B false"]);
  });

  it("Related rows are written to the database of their owner, and stay there", async () => {
    // Without a default, a row that is written elsewhere is an error.
    bindDatabase(null);
    try {
      const created = new Remark({ text: "a" });
      const order = await Order.objects.using(db()).create({ remarks: [created] });
      const added = new Remark({ text: "b" });
      await order.related("remarks").add(added);
      const saved = new Remark({ text: "c" });
      await order.save({ related: { remarks: { add: [saved] } } });
      for (const remark of [created, added, saved]) {
        remark.text += "!";
        await remark.save();
      }
      expect(await Remark.objects.using(db()).orderBy("id").valuesList("text", "order")).toEqual([
        ["a!", order.id],
        ["b!", order.id],
        ["c!", order.id],
      ]);
    } finally {
      bindDatabase(db());
    }
  });

  it("The number of statements does not grow with the number of rows", async () => {
    const numbers = Array.from({ length: 50 }, (_, index) => index + 1);
    const order = await Order.objects.create({ remarks: numbers.map((n) => ({ text: `${n}` })) });
    let sent = 0;
    (db() as PoolDatabase).measure({ settled: () => void sent++ });
    const update = numbers.map((id) => ({ id, text: `new ${id}` }));
    await order.save({ related: { remarks: { update, create: numbers.map((n) => ({ text: `more ${n}` })) } } });
    // BEGIN, the rows with their lock, UPDATE, SAVEPOINT, INSERT, RELEASE, COMMIT.
    expect(sent).toBeLessThanOrEqual(9);
    expect(await Remark.objects.filter({ text__startswith: "new", order }).count()).toBe(50);
    expect(await Remark.objects.filter({ order }).count()).toBe(100);
  });
});
