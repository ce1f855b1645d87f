import { beforeAll, expect, it } from "vitest";
import { avg, bindDatabase, count, F, FieldError, field, Model, max, rowNumber, sum } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, seed } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

class Span extends Model("spans", { id: field.auto(), took: field.interval(), n: field.int() }) {}

describeDatabases("rows that are computed first", service("postgres"), [...bookshop, Span], (db) => {
  beforeAll(async () => {
    bindDatabase(db());
    await seed();
    await Span.objects.bulkCreate([
      { took: "P1D", n: 3 },
      { took: "PT1H", n: 1 },
      { took: "PT1H", n: 2 },
    ]);
  });

  const newest = Book.objects.annotate({ place: rowNumber().over({ partitionBy: ["author"], orderBy: ["-year"] }) });

  it("Values are aggregated over the aggregates of each row", async () => {
    const authors = Author.objects.annotate({ n: count("books") });
    expect(await authors.aggregate({ most: max("n"), mean: avg("n"), all: sum("n") })).toEqual({
      most: 3,
      mean: 2,
      all: 6,
    });
    expect(await authors.filter({ n__gte: 2 }).aggregate({ all: sum("n"), names: count("name") })).toEqual({
      all: 5,
      names: 2,
    });
  });

  it("Values are aggregated over groups, and only over their values", async () => {
    const groups = Book.objects.values("author__name").annotate({ n: count(), copies: sum("stock") });
    expect(await groups.aggregate({ most: max("n"), groups: count("author__name") })).toEqual({ most: 3, groups: 3 });
    expect(await groups.filter({ n__gt: 1 }).aggregate({ groups: count() })).toEqual({ groups: 2 });
    await expect(groups.aggregate({ price: sum("price") })).rejects.toThrow(
      new FieldError('"price" is not among the values of the query'),
    );
  });

  it("An aggregate of an aggregate in annotate() is refused", async () => {
    const query = Book.objects
      .values("author")
      .annotate({ n: count() })
      .annotate({ most: max("n") });
    await expect(query).rejects.toThrow("max of another aggregate needs the groups first: use aggregate()");
  });

  it("Rows are filtered by a window function, which is computed over the rows of the calls before it", async () => {
    expect(await newest.filter({ place: 2 }).orderBy("title").valuesList("title", "place")).toEqual([
      ["Consider Phlebas", 2],
      ["The Dispossessed", 2],
    ]);
    expect(await newest.filter({ place: 1, year__lt: 2000 }).count()).toBe(0);
    expect(await newest.filter({ place: 1 }).filter({ year__gte: 2000 }).count()).toBe(2);
    expect(await newest.exclude({ place: 1 }).filter({ place__lte: 2 }).count()).toBe(2);
    expect(await newest.filter({ place: 1 }).exists()).toBe(true);
    expect(await newest.filter({ place: 1 }).aggregate({ n: count(), last: max("place") })).toEqual({ n: 3, last: 1 });
    const rows = await newest.filter({ place: 1 }).selectRelated("author").orderBy("-author__name").limit(2);
    expect(rows.map((row) => [row.author.name, row.title, row.place])).toEqual([
      ["Ursula K. Le Guin", "Lavinia", 1],
      ["Octavia Butler", "Kindred", 1],
    ]);
    expect((await newest.filter({ place: 1 }).orderBy("id").limit(1).json()).value()).toMatchObject([
      { title: "Lavinia", place: 1 },
    ]);
    expect(
      await Book.objects
        .annotate({ place: rowNumber().over({ orderBy: ["id"] }) })
        .annotate({ next: F("place").plus(1) })
        .filter({ next__lte: 3 })
        .orderBy("id")
        .flat("next"),
    ).toEqual([2, 3]);
  });

  it("Rows are updated and deleted by a window function", async () => {
    await db()
      .transaction(async () => {
        expect(await newest.filter({ place: 1 }).update({ stock: 100 })).toBe(3);
        expect(await Book.objects.filter({ stock: 100 }).orderBy("title").flat("title")).toEqual([
          "Kindred",
          "Lavinia",
          "Matter",
        ]);
        expect(await newest.filter({ place__gt: 1 }).delete()).toBe(3);
        throw new Error("undone");
      })
      .catch((error: Error) => expect(error.message).toBe("undone"));
  });

  it("A filter on a window function is refused together with distinct() and with locks", async () => {
    await expect(newest.filter({ place: 1 }).distinct()).rejects.toThrow(FieldError);
    await expect(db().transaction(() => newest.filter({ place: 1 }).forUpdate().toArray())).rejects.toThrow(FieldError);
  });

  it("Distinct rows are ordered by values that are not selected", async () => {
    const names = await Book.objects.distinct().orderBy("author__name", "id").limit(3);
    expect(names.map((book) => book.id)).toEqual([4, 5, 6]);
    expect(await Book.objects.values("status").distinct().orderBy("-author__name").count()).toBe(3);
    await expect(Book.objects.values("status").distinct().orderBy("-author__name").toArray()).rejects.toThrow(
      FieldError,
    );
    expect(() => Book.objects.distinct().flat("author__name")).toThrow(FieldError);
    expect((await Book.objects.distinct().orderBy("author__name", "id").limit(1).json()).value()).toMatchObject([
      { id: 4 },
    ]);
  });

  it("Intervals are made distinct and ordered", async () => {
    expect(await Span.objects.values("took").distinct().orderBy("took")).toEqual([{ took: "PT1H" }, { took: "P1D" }]);
    expect((await Span.objects.distinct("took").orderBy("took", "n")).map((span) => span.n)).toEqual([1, 3]);
    expect((await Span.objects.distinct().orderBy("-took", "n")).map((span) => span.n)).toEqual([3, 1, 2]);
  });

  it("Rows are ordered, grouped and computed by a part of a date or text", async () => {
    await Book.objects.filter({ title: "Lavinia" }).update({ published: new Date("2008-04-21T10:00:00Z") });
    await Book.objects.filter({ title: "Matter" }).update({ published: new Date("2007-12-31T23:30:00Z") });
    const dated = Book.objects.filter({ published__isnull: false });
    expect(await dated.orderBy("published__year").flat("title")).toEqual(["Matter", "Lavinia"]);
    expect(await dated.orderBy("-published__month").flat("published__month")).toEqual([12, 4]);
    expect(await Book.objects.orderBy("title__length", "-title__lower").limit(2).flat("title")).toEqual([
      "Matter",
      "Lavinia",
    ]);
    expect(await dated.values("published__year").annotate({ n: count() }).orderBy("published__year")).toEqual([
      { published__year: 2007, n: 1 },
      { published__year: 2008, n: 1 },
    ]);
    expect(
      await dated
        .annotate({ next: F("published__year").plus(1) })
        .orderBy("next")
        .flat("next"),
    ).toEqual([2008, 2009]);
    await Book.objects.filter({ title: "Matter" }).update({ published: new Date("2007-12-31T23:30:59.900Z") });
    expect(await Book.objects.filter({ published__second: 59 }).flat("published__second")).toEqual([59]);
    // @ts-expect-error a number has no year
    expect(() => Book.objects.orderBy("stock__year")).toThrow('"stock__year" is not the name of a field');
  });

  it("The filter of an aggregate starts at the related rows, with and without groups", async () => {
    const recent = count("books").filter({ year__gte: 2000 });
    const expected = [
      { name: "Iain Banks", n: 1 },
      { name: "Octavia Butler", n: 0 },
      { name: "Ursula K. Le Guin", n: 1 },
    ];
    expect(await Author.objects.values("name").annotate({ n: recent }).orderBy("name")).toEqual(expected);
    expect(await Author.objects.annotate({ n: recent }).values("name", "n").orderBy("name")).toEqual(expected);
    expect(await Author.objects.aggregate({ n: recent })).toEqual({ n: 2 });
  });
});
