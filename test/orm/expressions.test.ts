import { beforeAll, expect, it } from "vitest";
import { sql } from "../../src/engines/db/sql/sql.js";
import {
  arrayAgg,
  avg,
  castTo,
  coalesce,
  concat,
  count,
  exists,
  extract,
  F,
  FieldError,
  fn,
  lag,
  length,
  lower,
  max,
  min,
  now,
  outer,
  Q,
  rank,
  raw,
  rowNumber,
  stringAgg,
  subquery,
  sum,
  test,
  truncate,
  upper,
  value,
  when,
} from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, seed } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

describeDatabases("expressions", service("postgres"), bookshop, () => {
  beforeAll(seed);

  it("Expressions annotate rows", async () => {
    const book = await Book.objects
      .annotate({
        loud: upper("title"),
        next: F("year").plus(1),
        letters: length("title"),
        who: F("author__name"),
        dear: F("price").times(2),
      })
      .get({ loud: "MATTER" });
    expect(book).toBeInstanceOf(Book);
    expect([book.loud, book.next, book.letters, book.who, book.dear]).toEqual([
      "MATTER",
      2009,
      6,
      "Iain Banks",
      "22.00",
    ]);
    expect(JSON.parse(JSON.stringify(book))).toMatchObject({ loud: "MATTER", next: 2009, dear: "22.00" });
    expect(
      (
        await Book.objects
          .annotate({ letters: length("title") })
          .filter({ letters__gt: 16 })
          .orderBy("-letters")
      )[0]!.title,
    ).toBe("A Wizard of Earthsea");
  });

  it("Aggregates count related rows without multiplying them", async () => {
    const rows = await Author.objects
      .annotate({
        bookCount: count("books"),
        oldest: min("books__year"),
        stock: sum("books__stock"),
        proteges: count("books", { distinct: true }),
      })
      .orderBy("-bookCount", "name");
    expect(rows.map((row) => [row.name, row.bookCount, row.oldest, row.stock, row.proteges])).toEqual([
      ["Ursula K. Le Guin", 3, 1968, 8, 3],
      ["Iain Banks", 2, 1987, 8, 2],
      ["Octavia Butler", 1, null, 2, 1],
    ]);
    const many = await Author.objects
      .annotate({ n: count("books") })
      .filter({ n__gte: 2 })
      .flat("name");
    expect(many.sort()).toEqual(["Iain Banks", "Ursula K. Le Guin"]);
    const recent = await Author.objects
      .annotate({ n: count("books").filter({ year__gt: 2000 }) })
      .orderBy("id")
      .flat("n");
    expect(recent).toEqual([1, 1, 0]);
    const through = await Book.objects
      .annotate({ n: count("tags") })
      .orderBy("id")
      .flat("n");
    expect(through).toEqual([2, 2, 0, 1, 1, 0]);
  });

  it("Sums and averages of fields without numbers are refused, by the field's name and type", async () => {
    const sums = (name: string): Promise<unknown> => Book.objects.aggregate({ total: sum(name as "price") });
    await expect(sums("title")).rejects.toThrow('sum needs numbers, and "title" is of type varchar(200)');
    await expect(sums("published")).rejects.toThrow(FieldError);
    await expect(sums("author__name")).rejects.toThrow('sum needs numbers, and "author__name" is of type varchar(100)');
    await expect(Book.objects.aggregate({ mean: avg("title" as "price") })).rejects.toThrow("avg needs numbers");
    await expect(Author.objects.annotate({ n: sum("books__title" as "id") })).rejects.toThrow(
      '"books__title" is of type',
    );
    await expect(Book.objects.aggregate({ total: sum(F("title")) })).rejects.toThrow(FieldError);
    expect(
      await Book.objects.filter({ id: 1 }).aggregate({ n: sum("title__length"), x: sum(length("title")) }),
    ).toEqual({
      n: 20,
      x: 20,
    });
  });

  it("Aggregates compute over all rows", async () => {
    const totals = await Book.objects.aggregate({
      n: count(),
      dated: count("year"),
      total: sum("price"),
      mean: avg("year"),
      oldest: min("year"),
      titles: stringAgg("title", "|", { orderBy: ["title"] }),
    });
    expect(totals).toEqual({
      n: 6,
      dated: 5,
      total: "58.74",
      mean: 1989,
      oldest: 1968,
      titles: "A Wizard of Earthsea|Consider Phlebas|Kindred|Lavinia|Matter|The Dispossessed",
    });
    expect(
      await Book.objects.filter({ year: 1 }).aggregate({ n: count(), total: sum("price"), top: max("year") }),
    ).toEqual({ n: 0, total: null, top: null });
    expect(
      await Book.objects
        .orderBy("year")
        .limit(2)
        .aggregate({ top: max("year") }),
    ).toEqual({ top: 1974 });
    expect(await Author.objects.aggregate({ n: count("books"), authors: count("id", { distinct: true }) })).toEqual({
      n: 6,
      authors: 3,
    });
  });

  it("Rows are grouped by values, and groups can be filtered", async () => {
    const groups = await Book.objects
      .values("status")
      .annotate({ n: count("id"), copies: sum("stock") })
      .orderBy("-n", "status");
    expect(groups).toEqual([
      { status: "published", n: 3, copies: 13 },
      { status: "draft", n: 2, copies: 5 },
      { status: "sold_out", n: 1, copies: 0 },
    ]);
    expect(
      await Book.objects
        .values("author__name")
        .annotate({ n: count() })
        .filter({ n__gt: 1, author__name__startswith: "I" }),
    ).toEqual([{ author__name: "Iain Banks", n: 2 }]);
    expect(
      await Author.objects
        .values("name")
        .annotate({ n: count("books") })
        .filter({ n: 3 }),
    ).toEqual([{ name: "Ursula K. Le Guin", n: 3 }]);
    expect(
      await Book.objects
        .values("year")
        .annotate({ titles: arrayAgg("title", { orderBy: ["title"] }) })
        .filter({ year: 2008 }),
    ).toEqual([{ year: 2008, titles: ["Lavinia", "Matter"] }]);
    expect(await Book.objects.values("status").annotate({ n: count() }).count()).toBe(3);
    await expect(Book.objects.annotate({ n: count("id") })).rejects.toThrow(FieldError);
  });

  it("Window functions compute over partitions and orders", async () => {
    const rows = await Book.objects
      .filter({ year__isnull: false })
      .annotate({
        place: rowNumber().over({ partitionBy: ["author"], orderBy: ["-year"] }),
        rank: rank().over({ orderBy: ["year"] }),
        before: lag("year").over({ orderBy: ["year", "id"] }),
        running: sum("stock").over({ orderBy: ["id"], frame: "rows between unbounded preceding and current row" }),
      })
      .orderBy("id");
    expect(rows.map((row) => [row.place, row.rank, row.before, row.running])).toEqual([
      [3, 1, null, 3],
      [2, 2, 1968, 3],
      [1, 4, 1987, 8],
      [2, 3, 1974, 15],
      [1, 4, 2008, 16],
    ]);
  });

  it("Expressions choose, coalesce, cast and concatenate", async () => {
    const rows = await Book.objects
      .annotate({
        shelf: when({ stock: 0 }, "none")
          .when(Q({ stock__lt: 3 }), "few")
          .otherwise("many"),
        when: coalesce("year", 0),
        text: castTo("year", "text"),
        named: concat("title", value(" by "), "author__name"),
        old: test({ year__lt: 1980 }),
        low: lower(F("title")),
      })
      .orderBy("id")
      .values("shelf", "when", "text", "old");
    expect(rows.map((row) => row.shelf)).toEqual(["many", "none", "many", "many", "few", "few"]);
    expect(rows.at(-1)).toEqual({ shelf: "few", when: 0, text: null, old: null });
    expect(rows[0]).toEqual({ shelf: "many", when: 1968, text: "1968", old: true });
  });

  it("Expressions extract parts of dates and truncate dates", async () => {
    await Book.objects.filter({ title: "Matter" }).update({ published: "2008-02-03T04:05:06Z" });
    const book = await Book.objects
      .annotate({
        y: extract("year", "published"),
        m: truncate("month", "published"),
        later: test({ published__lt: now() }),
      })
      .get({ title: "Matter" });
    expect([book.y, book.m, book.later]).toEqual([2008, new Date("2008-02-01T00:00:00Z"), true]);
  });

  it("Subqueries read other tables", async () => {
    const newest = Book.objects
      .filter({ author: outer("id") })
      .orderBy("-year", "id")
      .values("title")
      .limit(1);
    const authors = await Author.objects
      .annotate({
        newest: subquery<string>(newest),
        tagged: exists(Book.objects.filter({ author: outer("id"), tags__name: "fantasy" })),
      })
      .orderBy("id");
    expect(authors.map((author) => [author.newest, author.tagged])).toEqual([
      ["Lavinia", true],
      ["Matter", false],
      ["Kindred", false],
    ]);
    expect(
      await Author.objects.filter(exists(Book.objects.filter({ author: outer("id"), stock: 0 }))).flat("name"),
    ).toEqual(["Ursula K. Le Guin"]);
    expect(() => Book.objects.annotate({ n: outer("id") }).toSql()).toThrow(FieldError);
  });

  it("Raw SQL of the application is an expression, with parameters", async () => {
    const books = await Book.objects
      .annotate({ n: raw<number>(sql`${40} + ${2}::int`), half: fn<number>("mod", "year", value(10)) })
      .get({ title: "Matter" });
    expect([books.n, books.half]).toEqual([42, 8]);
    expect(await Book.objects.filter(raw<boolean>(sql`stock > ${6}`)).flat("title")).toEqual(["Consider Phlebas"]);
  });

  it("Rows are ordered by fields and expressions", async () => {
    const order = async (...keys: string[]): Promise<number[]> => Book.objects.orderBy(...(keys as never[])).flat("id");
    expect(await order("-year", "title")).toEqual([6, 3, 5, 4, 2, 1]);
    expect(await Book.objects.orderBy(F("year").desc({ nulls: "last" }), "title").flat("id")).toEqual([
      3, 5, 4, 2, 1, 6,
    ]);
    expect(await order("author__name", "-id")).toEqual([5, 4, 6, 3, 2, 1]);
    expect(await Book.objects.orderBy("-year", "title").reverse().flat("id")).toEqual([1, 2, 4, 5, 3, 6]);
    expect(await order("?")).toHaveLength(6);
    expect(await Book.objects.distinct("author").orderBy("author", "-year").flat("title")).toEqual([
      "Lavinia",
      "Matter",
      "Kindred",
    ]);
    const newest = Book.objects.distinct("author").orderBy("author", "-year");
    expect(await Book.objects.filter({ id__in: newest }).orderBy("author").flat("title")).toEqual([
      "Lavinia",
      "Matter",
      "Kindred",
    ]);
    expect((await Book.objects.values("year").distinct().orderBy("year")).map((row) => row.year)).toEqual([
      1968,
      1974,
      1987,
      2008,
      null,
    ]);
  });

  it("Querysets are combined by union and the other set operations", async () => {
    const old = Book.objects.filter({ year__lt: 1980 });
    const first = Book.objects.filter({ id__lte: 3 });
    expect((await old.union(first).orderBy("-title")).map((book) => book.title)).toEqual([
      "The Dispossessed",
      "Lavinia",
      "A Wizard of Earthsea",
    ]);
    expect(await old.unionAll(first).count()).toBe(5);
    expect((await first.difference(old)).map((book) => book.label)).toEqual(["Lavinia (2008)"]);
    expect((await first.intersection(old).orderBy("id").limit(1)).map((book) => book.id)).toEqual([1]);
    expect(JSON.parse((await first.difference(old).json()).text)).toMatchObject([{ title: "Lavinia" }]);
    expect(() => old.union(first).filter({ id: 1 })).toThrow(FieldError);
  });
});
