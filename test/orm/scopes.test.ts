import { beforeAll, expect, it } from "vitest";
import { count, F, FieldError, field, Model, QuerySet, rowNumber } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, seed } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

class ReportSet extends QuerySet<Report> {
  published() {
    return this.filter({ status: "published" });
  }

  since(year: number) {
    return this.filter({ year__gte: year }).orderBy("year", "id");
  }

  async titles(): Promise<string[]> {
    return this.flat("title").toArray();
  }
}

class Report extends Model("reports", {
  id: field.auto(),
  title: field.text(),
  status: field.enum(["draft", "published"], { default: "draft" }),
  year: field.int(),
}) {
  static override get objects() {
    return ReportSet.of(Report);
  }

  get label(): string {
    return `${this.title} (${this.year})`;
  }
}

describeDatabases("querysets of one's own", service("postgres"), [...bookshop, Report], () => {
  beforeAll(async () => {
    await seed();
    await Report.objects.bulkCreate([
      { title: "a", status: "published", year: 2001 },
      { title: "b", status: "draft", year: 2002 },
      { title: "c", status: "published", year: 2003 },
      { title: "d", status: "published", year: 1999 },
    ]);
  });

  it("Methods of a queryset class are called in any order, before and after others", async () => {
    const labels = async (rows: PromiseLike<readonly { label: string }[]>): Promise<string[]> =>
      (await rows).map(({ label }) => label);
    expect(await labels(Report.objects.published().since(2000))).toEqual(["a (2001)", "c (2003)"]);
    expect(await labels(Report.objects.since(2000).published())).toEqual(["a (2001)", "c (2003)"]);
    expect(await labels(Report.objects.exclude({ title: "a" }).since(2000).reverse().limit(5).all())).toEqual([
      "c (2003)",
      "b (2002)",
    ]);
    expect(await Report.objects.filter({ year__lt: 2002 }).published().since(2000).count()).toBe(1);
    expect(await Report.objects.published().since(2002).titles()).toEqual(["c"]);
    expect(
      await Report.objects
        .filter({ id: 1 })
        .union(Report.objects.filter({ id: 2 }))
        .count(),
    ).toBe(2);
    expect(Report.objects.published()).toBeInstanceOf(ReportSet);
  });

  it("Methods of a queryset class stay when the type of the rows changes", async () => {
    const rows = await Report.objects
      .annotate({ next: F("year").plus(1) })
      .published()
      .filter({ next__gt: 2000 })
      .since(2000)
      .values("title", "next")
      .published();
    expect(rows).toEqual([
      { title: "a", next: 2002 },
      { title: "c", next: 2004 },
    ]);
    const only = await Report.objects.only("title").since(2003);
    expect(Object.keys(only[0]!)).toEqual(["id", "title"]);
    const first = Report.objects.annotate({ place: rowNumber().over({ orderBy: ["-year"] }) }).filter({ place: 1 });
    expect((await first.published()).map(({ place }) => place)).toEqual([1]);
  });

  it("Querysets of a class are subqueries, pages and groups as others are", async () => {
    expect(await Report.objects.filter({ id__in: Report.objects.published().flat("id") }).count()).toBe(3);
    expect((await Report.objects.published().page(1, 2)).total).toBe(3);
    expect(
      await Report.objects.since(2000).values("status").annotate({ n: count() }).orderBy("status").published(),
    ).toEqual([{ status: "published", n: 2 }]);
    expect(await Report.objects.published().update({ title: F("title") })).toBe(3);
  });

  it("A part of a relation is read by its own query, and adds to the relation", async () => {
    const author = await Author.objects.get({ id: 2 });
    const late = author.related("books").filter({ year__gte: 2000 });
    expect((await late).map(({ title }) => title)).toEqual(["Matter"]);
    expect(await author.related("books").orderBy("-year").limit(1).flat("title")).toEqual(["Matter"]);
    const added = await late.create({ title: "Inversions", year: 1998 });
    expect(added.authorId).toBe(2);
    expect(await author.related("books").all().count()).toBe(3);
    await added.delete();
    const book = await Book.objects.get({ id: 1 });
    await expect(book.related("tags").filter({ name: "sf" }).clear()).rejects.toThrow(FieldError);
    await expect(book.related("tags").filter({ name: "sf" }).set([])).rejects.toThrow(/not on a part of it/);
    expect(await book.related("tags").count()).toBe(2);
  });
});
