import { beforeAll, expect, it } from "vitest";
import {
  bindDatabase,
  coalesce,
  count,
  field,
  Model,
  subquery,
  sum,
  truncate,
  value,
  when,
} from "../../src/entry/orm.js";
import { FieldError } from "../../src/orm/errors.js";
import { service } from "../support/service.js";
import { describeDatabases } from "./databases.js";

class Sale extends Model("sales", {
  id: field.auto(),
  shop: field.text({ null: true }),
  amount: field.int(),
  at: field.datetime(),
  local: field.datetime({ timezone: false }),
  took: field.interval(),
  data: field.json<{ kind: string }>(),
}) {}

describeDatabases("grouping by computed values", service("postgres"), [Sale], (db) => {
  beforeAll(async () => {
    bindDatabase(db());
    const sale = (shop: string | null, amount: number, day: string, kind: string) => ({
      shop,
      amount,
      at: `${day}T12:00:00Z`,
      local: `${day}T12:00:00`,
      took: amount > 4 ? "PT2H" : "P1D",
      data: { kind },
    });
    await Sale.objects.bulkCreate([
      sale("north", 1, "2024-02-10", "b"),
      sale(null, 2, "2024-01-20", "a"),
      sale("north", 4, "2024-01-05", "b"),
      sale("south", 8, "2024-02-28", "b"),
    ]);
  });

  it("Groups are ordered by a truncated time", async () => {
    const months = Sale.objects
      .annotate({ d: truncate("month", "at") })
      .values("d")
      .annotate({ n: count(), total: sum("amount") });
    const expected = [
      { d: new Date("2024-01-01T00:00:00Z"), n: 2, total: 6 },
      { d: new Date("2024-02-01T00:00:00Z"), n: 2, total: 9 },
    ];
    expect(await months.orderBy("d")).toEqual(expected);
    expect(await months.orderBy("-d")).toEqual(expected.toReversed());
    expect(await months.orderBy("-total", "d")).toEqual(expected.toReversed());
    expect(await months.filter({ n__gte: 1 }).orderBy("d").count()).toBe(2);
    expect((await months.orderBy("d").json()).value()).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  it("Groups are ordered by coalesce and by a case", async () => {
    const shops = Sale.objects.annotate({ s: coalesce("shop", value("none")) }).values("s");
    expect(await shops.annotate({ n: count() }).orderBy("s")).toEqual([
      { s: "none", n: 1 },
      { s: "north", n: 2 },
      { s: "south", n: 1 },
    ]);
    const sizes = Sale.objects.annotate({ size: when({ amount__gte: 4 }, "large").otherwise("small") }).values("size");
    expect(await sizes.annotate({ n: count() }).orderBy("-size")).toEqual([
      { size: "small", n: 2 },
      { size: "large", n: 2 },
    ]);
    const both = Sale.objects
      .annotate({ s: coalesce("shop", value("none")), size: when({ amount__gte: 4 }, "large").otherwise("small") })
      .values("size", "s")
      .annotate({ n: count() });
    expect(await both.orderBy("s", "-size").flat("s")).toHaveLength(4);
    expect((await both.orderBy("s", "-size")).map(({ s, size }) => [s, size])).toEqual([
      ["none", "small"],
      ["north", "small"],
      ["north", "large"],
      ["south", "large"],
    ]);
  });

  it("distinct() with fields refuses an order that does not begin with them", async () => {
    for (const sales of [
      Sale.objects.distinct("shop").orderBy("-amount"),
      Sale.objects.orderBy("id", "shop").distinct("shop"),
    ])
      await expect(sales.toArray()).rejects.toThrow(
        new FieldError('the order of distinct("shop") must begin with its fields: orderBy("shop", ...)'),
      );
    const both = Sale.objects.distinct("shop", "amount");
    await expect(both.orderBy("amount", "id").toArray()).rejects.toThrow(FieldError);
    expect(await both.orderBy("-amount", "shop", "id").toArray()).not.toEqual([]);
    expect(await both.orderBy("-amount").toArray()).not.toEqual([]);
  });

  it("distinct() keeps the first row of each value, or each value once", async () => {
    const sales = Sale.objects.annotate({ d: truncate("month", "at") });
    expect((await sales.distinct("d").orderBy("d", "-amount")).map((sale) => sale.amount)).toEqual([4, 8]);
    const sizes = Sale.objects.annotate({ size: when({ amount__gte: 4 }, "large").otherwise("small") });
    expect(await sizes.values("size").distinct().orderBy("size")).toEqual([{ size: "large" }, { size: "small" }]);
    expect((await sizes.distinct("size").orderBy("size", "id")).map((sale) => sale.id)).toEqual([3, 1]);
  });

  it("Groups are ordered by a key of JSON, by a subquery, and by columns that are selected in another form", async () => {
    const kinds = Sale.objects.values("data__kind" as never).annotate({ n: count() });
    expect((await kinds.orderBy("data__kind" as never)).map(({ n }) => n)).toEqual([1, 3]);
    const first = subquery<number>(Sale.objects.orderBy("id").limit(1).values("id"));
    expect(await Sale.objects.annotate({ first }).values("first").annotate({ n: count() }).orderBy("first")).toEqual([
      { first: 1, n: 4 },
    ]);
    const took = Sale.objects.values("took").annotate({ n: count() }).orderBy("took");
    expect(await took).toEqual([
      { took: "PT2H", n: 1 },
      { took: "P1D", n: 3 },
    ]);
    expect((await took.json()).value()).toEqual(await took);
    const months = Sale.objects
      .annotate({ m: truncate("month", "local") })
      .values("m")
      .annotate({ n: count() });
    expect((await months.orderBy("-m")).map(({ n }) => n)).toEqual([2, 2]);
  });

  it("Rows are grouped by a constant", async () => {
    const all = Sale.objects.annotate({ one: value(1), yes: value(true) }).values("one", "yes");
    expect(await all.annotate({ n: count() })).toEqual([{ one: 1, yes: true, n: 4 }]);
  });
});
