import { beforeAll, expect, it } from "vitest";
import { bindDatabase, field, Model, prefetch, Q } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Country, seed, Tag } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

const after = (id: number) => Q({ id__gt: id });
type Condition = ReturnType<typeof after>;

class Day extends Model("days", {
  at: field.datetime({ primaryKey: true }),
  get events() {
    return field.reverse(() => Event, "day");
  },
}) {}

class Event extends Model("day_events", { id: field.auto(), day: field.foreignKey(() => Day) }) {}

const models = [...bookshop, Day, Event];

describeDatabases("a limit for each owner in prefetch()", service("postgres"), models, (db) => {
  beforeAll(async () => {
    bindDatabase(db());
    await seed();
    for (const book of await Book.objects.all()) await book.related("tags").set([1, 2, 3]);
  });

  it("Each row gets its own first related rows, in the order of their query", async () => {
    const newest = Book.objects.orderBy("-year").limit(2);
    const authors = await Author.objects.orderBy("id").prefetchRelated(prefetch("books", newest));
    expect(authors.map((author) => author.books.map((book) => book.title))).toEqual([
      ["Lavinia", "The Dispossessed"],
      ["Matter", "Consider Phlebas"],
      ["Kindred"],
    ]);
    const second = prefetch("books", Book.objects.orderBy("-year").filter({ year__gt: 1970 }).offset(1));
    const rest = await Author.objects.orderBy("id").prefetchRelated(second);
    expect(rest.map((author) => author.books.map((book) => book.title))).toEqual([
      ["The Dispossessed"],
      ["Consider Phlebas"],
      [],
    ]);
  });

  it("The same statement is used with other values and other limits, for rows and for JSON", async () => {
    const titles = async (after: number, count: number): Promise<string[][]> => {
      const books = prefetch("books", Book.objects.filter({ year__gt: after }).orderBy("-year").limit(count));
      const authors = Author.objects.filter({ id__gt: 0 }).orderBy("id").prefetchRelated(books);
      const found = (await authors).map((author) => author.books.map((book) => book.title));
      const json = (await authors.json()).value() as { books: { title: string }[] }[];
      expect(json.map((author) => author.books.map((book) => book.title))).toEqual(found);
      return found;
    };
    // More limits than are written into the statements that are kept.
    for (let count = 3; count < 15; count++) expect((await titles(2007, count)).flat()).toEqual(["Lavinia", "Matter"]);
    for (let round = 0; round < 2; round++) {
      expect(await titles(0, 1)).toEqual([["Lavinia"], ["Matter"], []]);
      expect(await titles(0, 2)).toEqual([["Lavinia", "The Dispossessed"], ["Matter", "Consider Phlebas"], []]);
      expect(await titles(1980, 2)).toEqual([["Lavinia"], ["Matter", "Consider Phlebas"], []]);
    }
  });

  it("A limit for each owner can be combined with distinct()", async () => {
    const oneEach = Book.objects.distinct("status").orderBy("status", "-year").limit(1);
    const authors = await Author.objects.orderBy("id").prefetchRelated(prefetch("books", oneEach));
    expect(authors.map((author) => author.books.length)).toEqual([1, 1, 1]);
  });

  it("A limit for each owner can be combined with distinct() without an order", async () => {
    const oneEach = Book.objects.distinct("status").limit(1);
    const authors = await Author.objects.orderBy("id").prefetchRelated(prefetch("books", oneEach));
    expect(authors.map((author) => author.books.length)).toEqual([1, 1, 1]);
  });

  it("Owners with equal keys that are different objects get their rows once", async () => {
    await Day.objects.create({ at: new Date(0) });
    await Event.objects.bulkCreate([1, 2, 3].map(() => ({ dayId: new Date(0) })));
    const twice = Day.objects.unionAll(Day.objects.all());
    const days = await twice.prefetchRelated(prefetch("events", Event.objects.orderBy("id").limit(2)));
    expect(days.map(({ events }) => events.length)).toEqual([2, 2]);
  });

  it("A union with a limit for each owner is refused, and one as a part of JSON", async () => {
    const union = Book.objects.filter({ year: 2008 }).union(Book.objects.filter({ year: 1974 }));
    await expect(Author.objects.prefetchRelated(prefetch("books", union.limit(1)))).rejects.toThrow(
      "a limit for each owner cannot be combined with a union",
    );
    const tags = Tag.objects.filter({ id: 1 }).union(Tag.objects.filter({ id: 2 }));
    await expect(Book.objects.prefetchRelated(prefetch("tags", tags.limit(1)))).rejects.toThrow(
      "a limit for each owner cannot be combined with a union",
    );
    await expect(Author.objects.prefetchRelated(prefetch("books", union)).json()).rejects.toThrow(
      "the query for books is a union, which cannot be part of JSON",
    );
  });

  it("A condition that stands at two places does not lend its value to others of the same shape", async () => {
    const titles = async (outer: Condition, inner: Condition): Promise<string[]> => {
      const books = prefetch("books", Book.objects.filter(inner).orderBy("id"));
      const json = (await Author.objects.filter(outer).prefetchRelated(books).json()).value();
      return (json as { books: { title: string }[] }[]).flatMap((author) => author.books.map(({ title }) => title));
    };
    const same = after(0);
    expect(await titles(same, same)).not.toEqual([]);
    expect(await titles(after(0), after(1_000_000))).toEqual([]);
    const dated = await Book.objects.filter({ year__gt: 0 }).count();
    const [year, id] = [Q({ year__gt: 0 }), Q({ id__gt: 0 })];
    expect(await Book.objects.filter(year.or(id.and(year))).count()).toBe(dated);
    const [never, any] = [Q({ year__gt: 1_000_000 }), Q({ year__gt: 0 })];
    expect(await Book.objects.filter(never.or(id.and(any))).count()).toBe(dated);
  });

  it("Nested lists in JSON have no white space between their rows", async () => {
    const books = prefetch("books", Book.objects.only("title").orderBy("-year"));
    const { text } = await Author.objects.only("name").orderBy("id").limit(1).prefetchRelated(books).json();
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
  });

  it("The limit holds for each owner across a join table, and in JSON", async () => {
    const names = prefetch("tags", Tag.objects.orderBy("-name").limit(2));
    const all = await Tag.objects.orderBy("-name").flat("name");
    const books = await Book.objects.orderBy("id").prefetchRelated(names);
    expect(books).toHaveLength(6);
    for (const book of books) expect(book.tags.map((tag) => tag.name)).toEqual(all.slice(0, 2));
    const json = (await Book.objects.orderBy("id").limit(1).prefetchRelated(names).json()).value() as object[];
    expect(json).toMatchObject([{ tags: all.slice(0, 2).map((name) => ({ name })) }]);
  });

  it("A limit for a relation to one is refused", async () => {
    const one = prefetch("country", Country.objects.limit(1));
    await expect(Author.objects.prefetchRelated(one)).rejects.toThrow("but there is at most one row");
  });
});
