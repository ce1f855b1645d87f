import { beforeEach, expect, it } from "vitest";
import {
  CheckViolation,
  DataError,
  ForeignKeyViolation,
  NotNullViolation,
  ParameterTypeError,
  UniqueViolation,
} from "../../src/engines/db/errors.js";
import { sql } from "../../src/engines/db/sql/sql.js";
import { DoesNotExist, F, FieldError, listOptions, MultipleObjectsReturned, now, upper } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Note, seed, Tag } from "./bookshop.js";
import { describeDatabases, truncate } from "./databases.js";

describeDatabases("writing", service("postgres"), bookshop, (db) => {
  beforeEach(async () => {
    await truncate(db(), bookshop);
    await seed();
  });

  it("A misspelt option is refused, and nothing is written", async () => {
    const { objects } = Book;
    const rows = [{ title: "New", authorId: 1, price: 3n }];
    const book = await objects.get({ id: 1 });
    const calls: [message: string, call: () => unknown][] = [
      [
        "'onConflit' in bulkCreate(); did you mean 'onConflict'?",
        () => objects.bulkCreate(rows, { onConflit: "ignore" } as never),
      ],
      [
        "'batchsize' in bulkUpdate(); did you mean 'batchSize'?",
        () => objects.bulkUpdate([book], ["title"], { batchsize: 1 } as never),
      ],
      [
        "'feilds' in save(); did you mean 'fields'?",
        () => Object.assign(book, { title: "New" }).save({ feilds: ["title"] } as never),
      ],
      ["'skipLoked' in forUpdate(); did you mean 'skipLocked'?", () => objects.forUpdate({ skipLoked: true } as never)],
      ["'maxSizes' in pageFrom(); did you mean 'maxSize'?", () => objects.pageFrom({}, { maxSizes: 4 } as never)],
      ["'filter' in listOptions(); did you mean 'filters'?", () => listOptions(Book, { filter: ["id"] } as never)],
      ["'befor' in keyset(); did you mean 'before'?", () => objects.keyset({ size: 1, befor: "x" } as never)],
      ["'bacth' in iterator(); did you mean 'batch'?", () => objects.iterator({ bacth: 1 } as never)],
      ["'analize' in explain(); did you mean 'analyze'?", () => objects.explain({ analize: true } as never)],
      ["'usign' in raw(); did you mean 'using'?", () => Book.raw("select 1", [], { usign: db() } as never)],
      ["'null' in desc(); did you mean 'nulls'?", () => F("title").desc({ null: "last" } as never)],
      [
        "'selct' in leftJoin(); did you mean 'select'?",
        () => objects.leftJoin(Author.objects, { on: { id: "id" }, selct: {} } as never),
      ],
    ];
    for (const [message, call] of calls) {
      await expect((async () => call())(), message).rejects.toThrow(`unknown option ${message}`);
    }
    expect(await objects.filter({ title: "New" }).count()).toBe(0);
  });

  it("create() inserts a row and fills the instance with the database's values", async () => {
    const book = await Book.objects.create({ title: "The Telling", authorId: 1, price: 3n });
    expect(book).toBeInstanceOf(Book);
    expect({ ...book }).toEqual({
      id: 7,
      title: "The Telling",
      authorId: 1,
      year: null,
      price: "3.00",
      stock: 0,
      status: "draft",
      keywords: [],
      published: null,
    });
    expect(book.pk).toBe(7);
    const fresh = new Book({ title: "New" });
    fresh.authorId = 2;
    fresh.year = 2020;
    expect(await fresh.save()).toBe(fresh);
    expect((await Book.objects.get({ title: "New" })).label).toBe("New (2020)");
    const loud = await Tag.objects.create({ name: upper(F("name")) as never }).catch((error: unknown) => error);
    expect(loud).toBeInstanceOf(Error);
  });

  it("save() updates only the changed columns", async () => {
    const first = await Book.objects.get({ id: 1 });
    const second = await Book.objects.get({ id: 1 });
    first.title = "Earthsea";
    second.year = 1969;
    await first.save();
    await second.save();
    const both = await Book.objects.get({ id: 1 });
    expect([both.title, both.year]).toEqual(["Earthsea", 1969]);
    expect(second.title).toBe("Earthsea");
    both.stock = 99;
    both.title = "not written";
    await both.save({ fields: ["stock"] });
    expect(await Book.objects.filter({ id: 1 }).values("title", "stock")).toEqual([{ title: "Earthsea", stock: 99 }]);
    await expect(both.save({ fields: ["titel"] })).rejects.toThrow(FieldError);
    both.keywords.push("in place");
    await both.save();
    expect((await Book.objects.get({ id: 1 })).keywords).toContain("in place");
  });

  it("save() takes null for no options", async () => {
    const book = await Book.objects.get({ id: 1 });
    await Object.assign(book, { title: "New" }).save(null as never);
    expect(await Book.objects.filter({ title: "New" }).flat("id")).toEqual([1]);
  });

  it("save() finds a row by the key it had when its key was changed", async () => {
    const tag = await Tag.objects.create({ name: "unused" });
    tag.id = 77;
    await tag.save();
    expect((await Tag.objects.get({ name: "unused" })).id).toBe(77);
    expect(await tag.books.count()).toBe(0);
  });

  it("refresh() reads a row again", async () => {
    const book = await Book.objects.get({ id: 1 });
    await Book.objects.filter({ id: 1 }).update({ year: 5 });
    expect((await book.refresh()).year).toBe(5);
    await Book.objects.filter({ id: 1 }).delete();
    await expect(book.refresh()).rejects.toThrow(Book.DoesNotExist);
    book.year = 6;
    await expect(book.save()).rejects.toThrow(DoesNotExist);
  });

  it("save() does not write columns that were not loaded", async () => {
    const book = await Book.objects.only("title").get({ id: 1 });
    expect("year" in book).toBe(false);
    book.title = "Only";
    await book.save();
    expect(await Book.objects.filter({ id: 1 }).values("title", "year")).toEqual([{ title: "Only", year: 1968 }]);
    const rest = await Book.objects.defer("keywords", "price").get({ id: 2 });
    expect(Object.keys(rest)).not.toContain("price");
    expect(rest.label).toBe("The Dispossessed (1974)");
  });

  it("update() changes many rows with one statement, with expressions", async () => {
    expect(await Book.objects.filter({ author: 1 }).update({ stock: F("stock").plus(10), title: upper("title") })).toBe(
      3,
    );
    expect(await Book.objects.filter({ id: 1 }).values("stock", "title")).toEqual([
      { stock: 13, title: "A WIZARD OF EARTHSEA" },
    ]);
    expect(await Book.objects.filter({ author__name: "Iain Banks" }).update({ year: null })).toBe(2);
    expect(await Book.objects.orderBy("-id").limit(2).update({ stock: 0 })).toBe(2);
    expect(await Book.objects.filter({ stock: 0 }).count()).toBe(2);
    const changed = await Book.objects.filter({ author: 2 }).updateReturning({ published: now() });
    expect(changed.map((book) => book.published instanceof Date)).toEqual([true, true]);
    expect(await Book.objects.update({})).toBe(6);
    await expect(Book.objects.update({ title: F("author__name") })).rejects.toThrow(FieldError);
    expect(await Book.objects.none().update({ stock: 1 })).toBe(0);
  });

  it("delete() removes rows", async () => {
    const book = await Book.objects.get({ id: 1 });
    await book.delete();
    expect(await Book.objects.filter({ id: 1 }).exists()).toBe(false);
    await expect(book.delete()).rejects.toThrow(FieldError);
    expect(await Book.objects.filter({ author__name: "Iain Banks" }).delete()).toBe(2);
    expect(await Book.objects.orderBy("id").limit(1).delete()).toBe(1);
    expect(await Book.objects.count()).toBe(2);
    await expect(new Book({ title: "x" }).delete()).rejects.toThrow(FieldError);
  });

  it("get() returns the one matching row, or throws the reason", async () => {
    await expect(Book.objects.get({ id: 99 })).rejects.toThrow(Book.DoesNotExist);
    await expect(Book.objects.get({ id: 99 })).rejects.toThrow("Book matching the query does not exist");
    await expect(Book.objects.get({ id: 99 })).rejects.not.toThrow(Author.DoesNotExist);
    await expect(Book.objects.get({ year: 2008 })).rejects.toThrow(Book.MultipleObjectsReturned);
    await expect(Book.objects.get({ year: 2008 })).rejects.toThrow(MultipleObjectsReturned);
    expect(await Book.objects.getOrNull({ id: 99 })).toBeNull();
    expect((await Book.objects.first())?.id).toBe(1);
    expect((await Book.objects.last())?.id).toBe(6);
    expect((await Book.objects.orderBy("title").last())?.title).toBe("The Dispossessed");
    await expect(Book.objects.orderBy("title").limit(2).last()).rejects.toThrow("a limited queryset has no last()");
    await expect(Book.objects.orderBy("title").offset(2).last()).rejects.toThrow("a limited queryset has no last()");
    expect(await Book.objects.filter({ id: 99 }).first()).toBeNull();
    expect([...(await Book.objects.inBulk([1, 3, 99])).keys()]).toEqual([1, 3]);
    await expect(Book.objects.inBulk(["x"], "title")).rejects.toThrow(/not unique/);
  });

  it("bulkCreate() inserts many rows, with defaults for missing values", async () => {
    const made = await Tag.objects.bulkCreate(Array.from({ length: 12_000 }, (_, index) => ({ name: `tag ${index}` })));
    expect(made[11_999]?.name).toBe("tag 11999");
    expect(new Set(made.map((tag) => tag.id)).size).toBe(12_000);
    const books = await Book.objects.bulkCreate([
      { title: 'quo"te', author: 1, keywords: ["a,b", 'c"d', "{e}", "\\", "NULL", ""] },
      { title: "back\\slash", author: 1, year: 2001 },
      new Book({ title: "instance", author: 2 } as never),
    ]);
    expect(books.map((book) => [book.title, book.year, book.stock])).toEqual([
      ['quo"te', null, 0],
      ["back\\slash", 2001, 0],
      ["instance", null, 0],
    ]);
    expect((await Book.objects.get({ title: 'quo"te' })).keywords).toEqual(["a,b", 'c"d', "{e}", "\\", "NULL", ""]);
    expect(await Book.objects.bulkCreate([])).toEqual([]);
    await expect(Tag.objects.bulkCreate([{ name: "x".repeat(41) }])).rejects.toThrow(DataError);
  });

  it("bulkCreate() inserts at most 'batchSize' rows with one statement", async () => {
    const names = ["one", "two", "three", "x".repeat(41), "five"].map((name) => ({ name }));
    await expect(Tag.objects.bulkCreate(names, { batchSize: 2 })).rejects.toThrow(DataError);
    expect(await Tag.objects.filter({ name__in: ["one", "two", "three", "five"] }).count()).toBe(2);
    const options = { batchSize: 2 };
    const made = await Tag.objects.bulkCreate([{ name: "six" }, { name: "seven" }, { name: "eight" }], options);
    expect(made.map(({ name }) => name)).toEqual(["six", "seven", "eight"]);
    expect(await Tag.objects.filter({ id__in: made.map(({ id }) => id) }).count()).toBe(3);
  });

  it("bulkCreate() handles conflicts as its option says", async () => {
    await expect(Tag.objects.bulkCreate([{ name: "sf" }])).rejects.toThrow(UniqueViolation);
    const added = await Tag.objects.bulkCreate([{ name: "sf" }, { name: "new" }], { onConflict: "ignore" });
    expect(added.map((tag) => tag.name)).toEqual(["new"]);
    const rows = [
      { title: "Lavinia", author: 1, year: 2009, stock: 50 },
      { title: "Changing Planes", author: 1, year: 2003, stock: 1 },
    ];
    const written = await Book.objects.bulkCreate(rows, {
      onConflict: "update",
      conflictFields: ["author", "title"],
      updateFields: ["stock"],
    });
    expect(written.map((book) => [book.title, book.year, book.stock])).toEqual([
      ["Lavinia", 2008, 50],
      ["Changing Planes", 2003, 1],
    ]);
    await Book.objects.bulkCreate(rows, { onConflict: "update", conflictFields: ["author", "title"] });
    expect((await Book.objects.get({ title: "Lavinia" })).year).toBe(2009);
    await expect(Book.objects.bulkCreate(rows, { onConflict: "update" })).rejects.toThrow(/conflictFields/);
  });

  it("bulkUpdate() updates many instances with one statement", async () => {
    const books = await Book.objects.orderBy("id");
    books.forEach((book, index) => {
      book.stock = index * 10;
      book.year = index % 2 ? null : 2000 + index;
      book.published = new Date(Date.UTC(2000, 0, index + 1));
    });
    expect(await Book.objects.bulkUpdate(books, ["stock", "year", "published"])).toBe(6);
    const after = await Book.objects.orderBy("id").valuesList("stock", "year", "published");
    expect(after[2]).toEqual([20, 2002, new Date("2000-01-03")]);
    expect(after[1]).toEqual([10, null, new Date("2000-01-02")]);
    books[0]!.keywords = ["x", "y"];
    expect(await Book.objects.bulkUpdate(books, ["keywords", "status"])).toBe(6);
    expect((await Book.objects.get({ id: 1 })).keywords).toEqual(["x", "y"]);
    await expect(Book.objects.bulkUpdate(books, ["id"])).rejects.toThrow(FieldError);
    await expect(Book.objects.bulkUpdate(books, [])).rejects.toThrow(/at least one field/);
  });

  it("Errors of the database keep their class, table and constraint", async () => {
    await expect(Tag.objects.create({ name: "sf" })).rejects.toMatchObject({
      name: "UniqueViolation",
      sqlstate: "23505",
      table: "tags",
      constraint: "tags_name_key",
    });
    await expect(Book.objects.create({ title: "x", author: 99 })).rejects.toThrow(ForeignKeyViolation);
    await expect(Book.objects.create({ title: "x", author: 1, stock: -1 })).rejects.toThrow(CheckViolation);
    await expect(Book.objects.create({ author: 1 } as never)).rejects.toThrow(NotNullViolation);
    await expect(Book.objects.create({ title: 5, author: 1 } as never)).rejects.toThrow(ParameterTypeError);
    expect(() => new Book({ title: "x", tags: [] } as never)).toThrow(/other side of a relation/);
  });

  it("Hooks run before and after saving and deleting a single instance", async () => {
    const calls: string[] = [];
    const stop = [
      Tag.on("beforeSave", (tag, { created }) => {
        tag.name = tag.name.trim();
        calls.push(`before ${created}`);
      }),
      Tag.on("afterSave", async (tag) => calls.push(`after ${tag.id > 0}`)),
      Tag.on("beforeDelete", () => calls.push("deleting")),
      Tag.on("afterDelete", () => calls.push("deleted")),
    ];
    const tag = await Tag.objects.create({ name: "  spaced " });
    expect(tag.name).toBe("spaced");
    tag.name = "x";
    await tag.save();
    await tag.delete();
    expect(calls).toEqual(["before true", "after true", "before false", "after true", "deleting", "deleted"]);
    for (const each of stop) each();
    await Tag.objects.create({ name: "quiet" });
    expect(calls).toHaveLength(6);
    expect(() => Tag.on("beforeLunch" as never, () => {})).toThrow(/not a hook/);
  });

  it("Columns for the times of creation and change are kept automatically", async () => {
    const note = await Note.objects.create({ text: "a" });
    expect(note.createdAt).toBeInstanceOf(Date);
    const { createdAt, updatedAt } = note;
    await db().execute("update notes set updated_at = '2000-01-01', created_at = '2000-01-01'");
    await note.refresh();
    note.text = "b";
    await note.save();
    expect(note.updatedAt.getTime()).toBeGreaterThanOrEqual(updatedAt.getTime());
    expect(note.createdAt).toEqual(new Date("2000-01-01"));
    expect(createdAt.getTime()).toBeGreaterThan(0);
    await db().execute("update notes set updated_at = '2000-01-01'");
    await Note.objects.update({ text: "c" });
    expect((await Note.objects.get({ id: 1 })).updatedAt.getFullYear()).toBeGreaterThan(2020);
  });

  it("A model with soft deletion marks rows as deleted", async () => {
    const [first, second] = await Note.objects.bulkCreate([{ text: "a" }, { text: "b" }, { text: "c" }]);
    await first!.delete();
    expect(first!.deletedAt).toBeInstanceOf(Date);
    await Note.objects.filter({ text: "b" }).delete();
    expect(await Note.objects.flat("text")).toEqual(["c"]);
    expect(await Note.objects.withDeleted().count()).toBe(3);
    expect(await Note.objects.onlyDeleted().orderBy("id").flat("text")).toEqual(["a", "b"]);
    await first!.restore();
    expect(await Note.objects.count()).toBe(2);
    expect(await Note.objects.filter({ text: "b" }).restore()).toBe(1);
    await second!.hardDelete();
    expect(await Note.objects.withDeleted().count()).toBe(2);
    expect(await Note.objects.filter({ text: "c" }).hardDelete()).toBe(1);
    await expect(Book.objects.restore()).rejects.toThrow(FieldError);
  });

  it("raw() makes models of the application's own SQL", async () => {
    const books = await Book.raw(sql`select *, stock * 2 as double from books where year > ${2000} order by title`);
    expect(books.map((book) => [book.label, (book as unknown as { double: number }).double])).toEqual([
      ["Lavinia (2008)", 10],
      ["Matter (2008)", 2],
    ]);
    expect((await books[0]!.author).name).toBe("Ursula K. Le Guin");
    books[0]!.stock = 6;
    await books[0]!.save();
    expect((await Book.objects.get({ title: "Lavinia" })).stock).toBe(6);
    await db().transaction(async (tx) => {
      await tx.execute("update books set stock = 77 where id = 1");
      expect(await Book.raw("select * from books where id = 1", [], { using: tx })).toMatchObject([{ stock: 77 }]);
    });
    await expect(Book.raw("select title from books")).rejects.toThrow(/primary key/);
    expect(await Book.raw("select id, title from books where id = $1", [1])).toMatchObject([
      { id: 1, title: "A Wizard of Earthsea" },
    ]);
  });

  it("forUpdate() locks rows in a transaction", async () => {
    await db().transaction(async (tx) => {
      const locked = await Book.objects.using(tx).filter({ id: 1 }).forUpdate().get();
      expect(locked.id).toBe(1);
      expect(
        await Book.objects.using(tx).selectRelated("author").filter({ id: 1 }).forUpdate({ skipLocked: true }).count(),
      ).toBe(1);
    });
    expect(Book.objects.forUpdate({ nowait: true }).toSql().text).toMatch(/FOR UPDATE OF t0 NOWAIT$/);
    expect(Book.objects.forUpdate({ skipLocked: true, strength: "no key update" }).toSql().text).toMatch(
      /FOR NO KEY UPDATE OF t0 SKIP LOCKED$/,
    );
    expect(() => Book.objects.forUpdate({ nowait: true, skipLocked: true })).toThrow(/not both/);
  });
});
