import assert from "node:assert/strict";
import { App, type Database, sql } from "stoa";
import { bindDatabase, count, createTables, F, field, lower, Model, max, median, raw, truncate } from "stoa/orm";

/** Trees, joins of subqueries, locks, unions, groups by time, and the contract's spelling. */

class Category extends Model("categories", {
  id: field.auto(),
  name: field.text(),
  get parent() {
    return field.foreignKey(() => Category, { null: true });
  },
  get children() {
    return field.reverse(() => Category, "parent");
  },
}) {}

class Product extends Model("products", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  category: field.foreignKey(() => Category, { onDelete: "restrict" }),
  stock: field.int({ default: 0 }),
  price: field.decimal({ precision: 8, scale: 2 }),
  get movements() {
    return field.reverse(() => Movement, "product");
  },
}) {}

class Movement extends Model("movements", {
  id: field.bigAuto(),
  product: field.foreignKey(() => Product),
  quantity: field.int(),
  at: field.datetime(),
}) {}

const app = new App();
app.enable_database("pglite:");
app.on_event("startup", () => fill(app.database));
await app.start();
bindDatabase(app.database);

assert.equal((await Category.objects.filter({ name: "All" }).recursive("children")).length, 3);
const levels = await Category.objects
  .filter({ parent: null })
  .recursive("children", { depth: "level" })
  .orderBy("level");
assert.deepEqual(
  levels.map(({ level }) => level),
  [0, 1, 2],
);
const totals = Movement.objects.values("product").annotate({ n: count(), last: max("at") });
const joined = await Product.objects
  .leftJoin(totals, { on: { id: "product" }, select: { moved: "n", last: "last" } })
  .filter({ moved__gte: 2 });
assert.deepEqual([joined.length, joined[0]?.last?.toISOString()], [1, "2024-04-02T08:00:00.000Z"]);
const days = await Movement.objects
  .annotate({ day: truncate("day", "at", { timeZone: "Europe/Berlin" }) })
  .values("day")
  .annotate({ n: count() })
  .orderBy("day");
assert.deepEqual(
  days.map(({ n }) => n),
  [1, 1],
);
await app.database.transaction(async () => {
  const [cup] = await Product.objects.filter({ name: "Cup" }).forUpdate({ skipLocked: true });
  await Product.objects.filter({ id: cup!.id, stock__gt: 0 }).update({ stock: F("stock").minus(1) });
});
const [cup] = await Product.objects.annotate({ small: lower("name"), size: raw<number>(sql`length(name)`) });
assert.deepEqual([cup?.small, cup?.size, cup?.stock], ["cup", 3, 9]);
const [category] = await Category.objects.filter({ name: "Cups" }).annotate({ typical: median("children__id") });
assert.equal(category?.typical, null);
assert.equal((await Product.objects.filter({ stock: 9 }).union(Product.objects.filter({ stock: 0 }))).length, 1);
const next = await Product.objects.orderBy("id").keyset({ size: 20 });
assert.deepEqual([next.items.length, next.next], [1, null]);

export const refused = () => [
  // @ts-expect-error a product has no such order
  Product.objects.orderBy("prise"),
  // @ts-expect-error a product is not a category
  Product.objects.filter({ category: cup! }),
];

await app.stop();
console.log("warehouse: ok");

async function fill(db: Database): Promise<void> {
  bindDatabase(db);
  await createTables(db, [Category, Product, Movement]);
  const all = await Category.objects.create({ name: "All" });
  const kitchen = await Category.objects.create({ name: "Kitchen", parent: all });
  const category = await Category.objects.create({ name: "Cups", parent: kitchen });
  const product = await Product.objects.create({ name: "Cup", category, price: "4.50", stock: 10 });
  await Movement.objects.bulkCreate([
    { product, quantity: 12, at: "2024-04-01T08:00:00Z" },
    { product, quantity: -2, at: "2024-04-02T08:00:00Z" },
  ]);
}
