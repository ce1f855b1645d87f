import { beforeEach, expect, it } from "vitest";
import { FieldError, field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

/** The numbers are of the same type as the keys, and differ from them. */
class Shop extends Model("ru_shops", {
  id: field.auto(),
  number: field.int({ unique: true }),
  name: field.text(),
}) {}
class Sale extends Model("ru_sales", {
  id: field.auto(),
  amount: field.int(),
  shop: field.foreignKey(() => Shop, { to: "number", null: true }),
}) {}

const models = [Shop, Sale];

describeDatabases("foreign keys to a unique field", service("postgres"), models, (db) => {
  beforeEach(async () => {
    await truncate(db(), models);
    const [a, b] = await Shop.objects.bulkCreate([
      { number: 2, name: "a" },
      { number: 1, name: "b" },
    ]);
    await Sale.objects.bulkCreate([{ shop: a!, amount: 10 }, { shop: b!, amount: 20 }, { amount: 30 }]);
  });

  const named = (name: string) => Shop.objects.filter({ name });
  const amounts = (rows: typeof Sale.objects) => rows.orderBy("amount").flat("amount").toArray();

  it("A subquery of models gives the values of the unique field", async () => {
    expect(await amounts(Sale.objects.filter({ shop__in: named("a") }))).toEqual([10]);
    expect(await amounts(Sale.objects.exclude({ shop__in: named("a") }))).toEqual([20, 30]);
    expect(await amounts(Sale.objects.filter({ shop: named("b") as never }))).toEqual([20]);
    expect(await amounts(Sale.objects.filter({ shop__in: named("a").none() }))).toEqual([]);
  });

  it("An update takes the value of the unique field from a subquery of models", async () => {
    await Sale.objects.filter({ amount: 30 }).update({ shop: named("a") as never });
    expect((await Sale.objects.get({ amount: 30 })).shopId).toBe(2);
  });

  it("A subquery of another model is refused", async () => {
    const sales = Sale.objects.all() as never;
    await expect(Sale.objects.filter({ shop__in: sales }).count()).rejects.toThrow(
      "Sale.shop leads to Shop, but the query is for Sale",
    );
    await expect(Sale.objects.filter({ amount: 10 }).update({ shop: sales })).rejects.toThrow(FieldError);
  });
});
