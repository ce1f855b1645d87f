import { beforeAll, expect, it } from "vitest";
import {
  arrayAgg,
  boolAnd,
  boolOr,
  corr,
  F,
  FieldError,
  median,
  mode,
  percentile,
  percentileDisc,
  regrIntercept,
  regrSlope,
  stddev,
  stringAgg,
  test,
  variance,
} from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, seed, Tag } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

describeDatabases("aggregates", service("postgres"), bookshop, () => {
  beforeAll(seed);

  it("Percentiles are interpolated, or values of rows", async () => {
    expect(
      await Book.objects.aggregate({
        middle: median("stock"),
        upper: percentile(0.9, "stock"),
        least: percentile(0, "stock"),
        price: percentile(1, "price"),
        title: percentileDisc(0.5, "title"),
        year: percentileDisc(1, "year"),
        doubled: median(F("stock").times(2)),
      }),
    ).toEqual({ middle: 2.5, upper: 6, least: 0, price: 12, title: "Kindred", year: 2008, doubled: 5 });
  });

  it("mode() is the most frequent value", async () => {
    expect(await Book.objects.aggregate({ year: mode("year"), status: mode("status") })).toEqual({
      year: 2008,
      status: "published",
    });
    expect(await Book.objects.filter({ id: 99 }).aggregate({ year: mode("year"), m: median("stock") })).toEqual({
      year: null,
      m: null,
    });
  });

  it("Percentiles are computed for related rows, for groups and with a filter", async () => {
    const authors = Author.objects.annotate({
      middle: median("books__stock"),
      late: median("books__stock").filter({ year__gte: 2000 }),
      usual: mode("books__status"),
    });
    expect(await authors.orderBy("id").valuesList("middle", "late", "usual")).toEqual([
      [3, 5, "draft"],
      [4, 1, "published"],
      [2, null, "draft"],
    ]);
    expect(await authors.filter({ middle__gt: 2 }).orderBy("-middle").flat("name")).toEqual([
      "Iain Banks",
      "Ursula K. Le Guin",
    ]);
    const groups = Book.objects
      .values("author__name")
      .annotate({ middle: median("stock"), top: percentileDisc(1, "title") });
    expect(await groups.filter({ middle__gte: 3 }).orderBy("middle")).toEqual([
      { author__name: "Ursula K. Le Guin", middle: 3, top: "The Dispossessed" },
      { author__name: "Iain Banks", middle: 4, top: "Matter" },
    ]);
  });

  it("Deviation and variance are those of a sample or of all rows", async () => {
    const { one, all, square, whole } = await Book.objects.aggregate({
      one: stddev("stock"),
      all: stddev("stock", { population: true }),
      square: variance("stock"),
      whole: variance("stock", { population: true }),
    });
    expect(one).toBeCloseTo(2.6077, 3);
    expect(all).toBeCloseTo(2.3805, 3);
    expect(square).toBeCloseTo(6.8, 9);
    expect(whole).toBeCloseTo(5.6667, 3);
  });

  it("Correlation and regression take two fields, also of related rows", async () => {
    const line = {
      r: corr(F("stock").times(2).plus(1), "stock"),
      slope: regrSlope(F("stock").times(2).plus(1), "stock"),
      at: regrIntercept(F("stock").times(2).plus(1), "stock"),
    };
    expect(await Book.objects.aggregate(line)).toEqual({ r: 1, slope: 2, at: 1 });
    const [ursula] = await Author.objects.filter({ id: 1 }).annotate({ r: corr("books__stock", "books__year") });
    expect(ursula!.r).toBeCloseTo(0.6, 0);
  });

  it("arrayAgg() and stringAgg() take an order, distinct values and a filter", async () => {
    const named = Tag.objects.orderBy("id").annotate({
      titles: arrayAgg("books__title", { orderBy: ["-title"] }).filter({ year__lt: 2000 }),
      authors: stringAgg("books__author__name", ", ", { distinct: true }),
    });
    expect(await named.valuesList("titles", "authors")).toEqual([
      [["A Wizard of Earthsea"], "Ursula K. Le Guin"],
      [["The Dispossessed", "Consider Phlebas"], "Iain Banks, Ursula K. Le Guin"],
      [["The Dispossessed", "A Wizard of Earthsea"], "Ursula K. Le Guin"],
    ]);
  });

  it("boolAnd() and boolOr() combine conditions of rows", async () => {
    expect(
      await Book.objects.aggregate({
        every: boolAnd(test({ stock__gte: 0 })),
        some: boolOr(test({ stock: 0 })),
        none: boolOr(test({ stock: 99 })).filter({ year: 2008 }),
      }),
    ).toEqual({ every: true, some: true, none: false });
  });

  it("Fractions outside of 0 to 1 and windows of percentiles are refused", () => {
    for (const wrong of [-0.1, 1.1, Number.NaN, "0.5", null])
      expect(() => percentile(wrong as number, "stock")).toThrow(/from 0 to 1/);
    expect(() => median("stock").over({ partitionBy: ["author"] })).toThrow(FieldError);
  });
});
