import { App } from "stoa";
import { excluded, F, field, Model, nested, type PendingWrite, unset } from "stoa/orm";
import { type FactoryModel, type FactoryValues, factory } from "stoa/testing";
import { describe, expectTypeOf, it } from "vitest";
import { Author, Book, type Country, Profile, Tag } from "../orm/bookshop.js";

class City extends Model("cities", {
  id: field.auto(),
  settings: field.json<{ theme?: string; deep?: { on: boolean } }>({ default: {} }),
  open: field.json({ null: true }),
}) {}

describe("the types of writes", () => {
  it("Related rows are checked like the row itself", () => {
    const tag = {} as Tag;
    void Author.objects.create({
      name: "x",
      books: [{ title: "a", tags: [tag, 3, { name: "y" }] }],
      profile: { bio: "z" },
    });
    void Book.objects.create({ title: "x", author: { name: "y", country: { code: "us", name: "z" } } });
    void Author.objects.bulkCreate([{ name: "x", books: [{} as Book] }]);
    // @ts-expect-error A column of a related row has the wrong type.
    void Author.objects.create({ name: "x", books: [{ title: 5 }] });
    // @ts-expect-error A required column of a related row is missing.
    void Author.objects.create({ name: "x", books: [{ year: 5 }] });
    // @ts-expect-error The foreign key is set by the row around it.
    void Author.objects.create({ name: "x", books: [{ title: "a", author: 3 }] });
    // @ts-expect-error A row of another model.
    void Author.objects.create({ name: "x", books: [tag] });
    // @ts-expect-error A country has the name that an author needs, but it is no author.
    void Book.objects.create({ title: "x", author: {} as Country });
    // @ts-expect-error Rows of a foreign key cannot be given by key.
    void Author.objects.create({ name: "x", books: [3] });
    // @ts-expect-error No such relation.
    void Author.objects.create({ name: "x", boks: [] });
  });

  it("Changes of related rows are checked like the rows", () => {
    const [author, book, tag] = [{} as Author, {} as Book, {} as Tag];
    void author.save({
      related: {
        books: {
          update: [{ id: 1, title: "a", status: "draft" }],
          upsert: [
            { title: "b", tags: [tag] },
            { id: 2, year: null },
          ],
          create: [{ title: "c" }],
          add: [book, 3],
          remove: [book],
          delete: [4],
        },
      },
    });
    void book.save({ related: { tags: { set: [tag, 3] } }, fields: ["title"] });
    // @ts-expect-error An update needs the key.
    void author.save({ related: { books: { update: [{ title: "a" }] } } });
    // @ts-expect-error The column has another type.
    void author.save({ related: { books: { update: [{ id: 1, title: 5 }] } } });
    // @ts-expect-error The foreign key is set by the row around it.
    void author.save({ related: { books: { update: [{ id: 1, author: 3 }] } } });
    // @ts-expect-error A required column is missing.
    void author.save({ related: { books: { create: [{ year: 5 }] } } });
    // @ts-expect-error A row of another model.
    void author.save({ related: { books: { add: [tag] } } });
    // @ts-expect-error No such change.
    void author.save({ related: { books: { conect: [1] } } });
    // @ts-expect-error No such relation to many rows.
    void author.save({ related: { country: {} } });
  });

  it("Rules of fields get values of their types", () => {
    void Model("ruled", {
      id: field.auto(),
      name: field.text({ validate: (value) => (value.startsWith("a") ? undefined : "no") }),
      big: field.bigInt({ min: 1, validate: (value) => (value > 2n ? undefined : "no") }),
      price: field.decimal({ max: "9.99", validate: (value) => (value.length < 5 ? undefined : "no") }),
      list: field.array(field.int({ max: 5 }), { validate: (value) => (value.length < 5 ? undefined : "no") }),
      info: field.json<{ a: number }>({ validate: ({ a }) => (a > 1 ? undefined : "no") }),
      at: field.datetime({ validate: (value: Date) => (value.getTime() > 0 ? undefined : "no") }),
    });
    // @ts-expect-error It returns text, or undefined.
    void field.int({ validate: (value) => value > 1 });
    // @ts-expect-error Only text has a length.
    void field.int({ minLength: 1 });
  });

  it("Values of the cache have the types that JSON gives them", async () => {
    const { cache } = new App();
    const value = await cache.fetch("k", { ttl: "1m" }, async () => ({ at: new Date(), n: 1n, list: new Set(["a"]) }));
    expectTypeOf(value).toEqualTypeOf<{ at: string; n: string; list: string[] }>();
    expectTypeOf(await cache.fetch("k", {}, () => null)).toEqualTypeOf<null>();
    // @ts-expect-error No such option.
    void cache.fetch("k", { tll: 5 }, () => 1);
  });

  it("Writes return numbers, rows or fields of rows", () => {
    const write = Book.objects.update({ year: 5 });
    expectTypeOf(write).toExtend<PromiseLike<number>>();
    expectTypeOf(write.returning()).resolves.items.toExtend<Book>();
    expectTypeOf(Book.objects.delete().returning("id", "title")).resolves.toEqualTypeOf<
      { id: number; title: string }[]
    >();
    expectTypeOf(Book.objects.delete()).toExtend<PendingWrite<unknown>>();
    // @ts-expect-error No such field.
    void Book.objects.delete().returning("titel");
  });

  it("Keys of JSON have the types of their values", () => {
    void City.objects.update({ settings__theme: "dark", settings__deep__on: true, open__any__key: [1] });
    void City.objects.update({ settings__theme: unset, settings__deep: { on: false } });
    // @ts-expect-error The theme is text.
    void City.objects.update({ settings__theme: 5 });
    // @ts-expect-error No such key.
    void City.objects.update({ settings__color: "red" });
    // @ts-expect-error A title is no JSON.
    void Book.objects.update({ title__x: "red" });
    void Profile.objects.update({ settings__deep__on: true });
  });

  it("Updates of conflicts are checked", () => {
    const rows = [{ title: "x", author: 1 }];
    const options = { onConflict: "update", conflictFields: ["author", "title"] } as const;
    void Book.objects.bulkCreate(rows, { ...options, update: { stock: F("stock").plus(excluded("stock")) } });
    void Book.objects.bulkCreate(rows, { ...options, conflictWhere: { stock__lt: excluded("stock") } });
    // @ts-expect-error No such field.
    void Book.objects.bulkCreate(rows, { ...options, update: { stok: 5 } });
    // @ts-expect-error The wrong type.
    void Book.objects.bulkCreate(rows, { ...options, conflictWhere: { stock__lt: "x" } });
  });

  it("Bodies with related rows fit create()", () => {
    new App().post("/authors", { body: nested(Author, "books", "books__tags") }, (_request, { body }) => {
      expectTypeOf(body.name).toEqualTypeOf<string>();
      expectTypeOf(body.books![0]!.title).toEqualTypeOf<string>();
      // @ts-expect-error The foreign key of a related row is not sent.
      void body.books![0]!.authorId;
      // @ts-expect-error Not among the relations that are allowed.
      void body.profile;
      return Author.objects.create(body);
    });
    // @ts-expect-error A foreign key of the model itself is no relation to other rows.
    nested(Book, "author");
    // @ts-expect-error No such relation.
    nested(Book, "tagz");
  });

  it("Factories check their values", () => {
    const tags = factory(Tag, (n) => ({ name: `tag ${n}` }));
    expectTypeOf(tags.create()).resolves.toExtend<Tag>();
    // @ts-expect-error The wrong type.
    void tags.create({ name: 5 });
    // @ts-expect-error A required value is missing.
    factory(Tag, () => ({}));
  });

  it("A function of any model makes factories", () => {
    const make = <M>(model: FactoryModel<M>, values: FactoryValues<M>) => factory(model, values);
    expectTypeOf(make(Tag, () => ({ name: "x" })).create()).resolves.toExtend<Tag>();
  });
});
