import { beforeAll, expect, it } from "vitest";
import { avg, count, FieldError, max, outer, sum } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Country, Note, seed, Tag } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

describeDatabases("joins without a relation", service("postgres"), bookshop, () => {
  beforeAll(seed);

  const stats = Book.objects.values("author").annotate({ n: count(), newest: max("year"), left: sum("stock") });

  it("innerJoin() adds values of groups to rows", async () => {
    const authors = Author.objects.innerJoin(stats, {
      on: { id: "author" },
      select: { bookCount: "n", newest: "newest" },
    });
    const rows = await authors.orderBy("-bookCount", "id");
    expect(rows.map(({ shout, bookCount, newest }) => [shout, bookCount, newest])).toEqual([
      ["URSULA K. LE GUIN", 3, 2008],
      ["IAIN BANKS", 2, 2008],
      ["OCTAVIA BUTLER", 1, null],
    ]);
    expect(await authors.filter({ bookCount__gte: 2, name__startswith: "I" }).flat("name")).toEqual(["Iain Banks"]);
    expect(await authors.count()).toBe(3);
    expect(await authors.filter({ newest: null }).exists()).toBe(true);
    expect(await authors.aggregate({ most: max("bookCount"), mean: avg("bookCount") })).toEqual({ most: 3, mean: 2 });
    expect((await authors.orderBy("id").json()).value()).toMatchObject([
      { bookCount: 3 },
      { bookCount: 2 },
      { bookCount: 1 },
    ]);
    expect((await authors.orderBy("-bookCount").keyset({ size: 1 })).items[0]!.id).toBe(1);
  });

  it("leftJoin() keeps rows without another one", async () => {
    const late = stats.filter({ n__gte: 2 });
    const rows = await Author.objects.leftJoin(late, { on: { id: "author" }, select: { n: "n" } }).orderBy("id");
    expect(rows.map(({ n }) => n)).toEqual([3, 2, null]);
    const none = Author.objects.leftJoin(late, { on: { id: "author" }, select: { n: "n" } }).filter({ n: null });
    expect(await none.flat("name")).toEqual(["Octavia Butler"]);
  });

  it("Rows of any model are joined by fields with the same type, also of related rows", async () => {
    await Note.objects.bulkCreate([{ text: "us" }, { text: "us" }, { text: "fr" }]);
    const notes = Note.objects.orderBy("id");
    const joined = Author.objects.innerJoin(notes, { on: { country__code: "text" }, select: { note: "id" } });
    expect(await joined.orderBy("note").valuesList("name", "note")).toEqual([
      ["Ursula K. Le Guin", 1n],
      ["Ursula K. Le Guin", 2n],
    ]);
    const limited = Country.objects.innerJoin(Note.objects.orderBy("-id").limit(2), { on: { code: "text" } });
    expect(await limited.flat("code")).toEqual(["us"]);
  });

  it("Several joins, one after the other, keep their values apart", async () => {
    const tagged = Tag.objects.values("name").annotate({ uses: count("books") });
    const rows = Author.objects
      .innerJoin(stats, { on: { id: "author" }, select: { n: "n" } })
      .leftJoin(tagged.filter({ uses: 3 }), { on: { n: "uses" }, select: { tag: "name" } })
      .annotate({ own: count("books") })
      .orderBy("id");
    expect(await rows.valuesList("name", "n", "tag", "own")).toEqual([
      ["Ursula K. Le Guin", 3, "sf", 3],
      ["Iain Banks", 2, null, 2],
      ["Octavia Butler", 1, null, 1],
    ]);
  });

  it("A joined queryset is a subquery, and can be written to", async () => {
    const busy = Author.objects.innerJoin(stats.filter({ n__gte: 3 }), { on: { id: "author" } });
    expect(await Book.objects.filter({ author__in: busy }).count()).toBe(3);
    expect(await busy.update({ email: "busy@example.org" })).toBe(1);
    expect(await Author.objects.filter({ email: "busy@example.org" }).flat("id")).toEqual([1]);
  });

  it("Names that do not exist and names that are taken are refused", () => {
    const on = { id: "author" } as const;
    expect(() => Author.objects.innerJoin(stats, { on: { id: "nothing" as never } })).toThrow(/not among the values/);
    expect(() => Author.objects.innerJoin(stats, { on: { nothing: "author" } as never })).toThrow(FieldError);
    expect(() => Author.objects.innerJoin(stats, { on, select: { name: "n" as never } })).toThrow(/name of a field/);
    expect(() => Author.objects.innerJoin(stats, { on, select: { x: "nothing" as never } })).toThrow(/not among/);
    expect(() => Author.objects.innerJoin(Book.objects.all(), { on: { id: "titel" as never } })).toThrow(FieldError);
    expect(() => Author.objects.innerJoin(stats, { on: {} })).toThrow(/at least one pair/);
    expect(() => Author.objects.innerJoin(stats, { on: { books: "author" } as never })).toThrow(/many rows/);
    expect(() => Author.objects.values("id").innerJoin(stats, { on })).toThrow(FieldError);
    expect(() =>
      Author.objects.innerJoin(Book.objects.filter({ author: outer("id") }), { on: { id: "author" } }).toSql(),
    ).toThrow(/outside of a subquery/);
  });
});
