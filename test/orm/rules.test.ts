import { App } from "stoa";
import { beforeEach, describe, expect, it } from "vitest";
import { ParameterValueError } from "../../src/engines/db/errors.js";
import { F, field, Model, nested, partial } from "../../src/entry/orm.js";
import { modelSchema } from "../../src/orm/body/model-schema.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

const onWeekday = (moment: Date | string): string | undefined =>
  moment instanceof Date && moment.getUTCDay() % 6 !== 0 ? undefined : "Input should be on a weekday";

class Shop extends Model("rule_shops", {
  id: field.auto(),
  name: field.char({ maxLength: 20, minLength: 2 }),
  get items() {
    return field.reverse(() => Item, "shop");
  },
}) {}

class Item extends Model("rule_items", {
  id: field.auto(),
  shop: field.foreignKey(() => Shop, { null: true }),
  code: field.text({ pattern: /^[A-Z]{2}-\d+$/ }),
  stock: field.int({ min: 0, max: 100, default: 0 }),
  price: field.decimal({ precision: 20, scale: 2, min: "0.01", max: 10, default: "1" }),
  weight: field.float({ max: 0.5, null: true }),
  serial: field.bigInt({ min: 1n, null: true }),
  sold: field.datetime({ validate: onWeekday, null: true }),
  sizes: field.array(field.smallInt({ min: 1 }), {
    default: [],
    validate: (list) => (list.length > 2 ? "List should have at most 2 items" : undefined),
  }),
  info: field.json<{ kind?: string }>({
    default: {},
    validate: ({ kind }) => (kind === "" ? "kind should not be empty" : undefined),
  }),
}) {}

class Country extends Model("rule_countries", { code: field.text({ primaryKey: true, minLength: 2 }) }) {}

class City extends Model("rule_cities", { id: field.auto(), country: field.foreignKey(() => Country) }) {}

const issue = (loc: (string | number)[], type: string, msg: string) => ({ loc, type, msg });
/** A value of each field that its rules refuse: as JSON, and the issue. */
const refused = [
  ["code", "xx-1", "string_pattern_mismatch", "String should match pattern '^[A-Z]{2}-\\d+$'"],
  ["stock", -1, "greater_than_equal", "Input should be greater than or equal to 0"],
  ["stock", 101, "less_than_equal", "Input should be less than or equal to 100"],
  ["price", "0.00", "greater_than_equal", "Input should be greater than or equal to 0.01"],
  ["price", "10.01", "less_than_equal", "Input should be less than or equal to 10"],
  ["weight", 0.6, "less_than_equal", "Input should be less than or equal to 0.5"],
  ["serial", "-9007199254740993", "greater_than_equal", "Input should be greater than or equal to 1"],
  ["sold", "2024-06-01T12:00:00Z", "value_error", "Input should be on a weekday"],
  ["sizes", [1, 2, 3], "value_error", "List should have at most 2 items"],
  ["info", { kind: "" }, "value_error", "kind should not be empty"],
] as const;

describe("rules in bodies and schemas", () => {
  const app = new App();
  app.post("/items", { body: Item }, (_request, { body }) => Object.keys(body));
  app.patch("/items", { body: partial(Item) }, (_request, { body }) => Object.keys(body));
  app.post("/shops", { body: nested(Shop, "items") }, (_request, { body }) => Object.keys(body));
  const send = async (method: string, path: string, body: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const response = await app.request(path, { method, body: JSON.stringify(body), headers });
    return response.status === 400 ? ((await response.json()) as { detail: unknown }).detail : response.status;
  };

  it.each(refused)("A body whose %s is %j gets 400 with the place and the rule", async (name, value, type, msg) => {
    const expected = [issue([name], type, msg)];
    expect(await send("POST", "/items", { code: "AB-1", [name]: value })).toEqual(expected);
    expect(await send("PATCH", "/items", { [name]: value })).toEqual(expected);
  });

  it("Values at the edge of their rules, and null, are accepted", async () => {
    const edges = { stock: 100, price: "0.01", weight: 0.5, serial: "1", sold: "2024-06-03T12:00:00Z", sizes: [1, 1] };
    expect(await send("POST", "/items", { code: "AB-1", ...edges })).toBe(200);
    expect(await send("POST", "/items", { code: "AB-1", price: 10, weight: null, serial: null, sold: null })).toBe(200);
  });

  it("Rules hold for items of a list and for related rows, each at its place", async () => {
    expect(await send("PATCH", "/items", { sizes: [1, 0] })).toEqual([
      issue(["sizes", 1], "greater_than_equal", "Input should be greater than or equal to 1"),
    ]);
    expect(await send("POST", "/shops", { name: "a", items: [{ code: "AB-1" }, { code: "" }] })).toEqual([
      issue(["name"], "string_too_short", "String should have at least 2 characters"),
      issue(["items", 1, "code"], "string_pattern_mismatch", "String should match pattern '^[A-Z]{2}-\\d+$'"),
    ]);
  });

  it("The JSON schema of a model has the rules that JSON schemas know", () => {
    const { properties } = modelSchema(Item.meta, "input").schema as { properties: Record<string, object> };
    expect(properties["code"]).toEqual({ type: "string", pattern: "^[A-Z]{2}-\\d+$" });
    expect(properties["stock"]).toMatchObject({ minimum: 0, maximum: 100 });
    expect(properties["weight"]).toMatchObject({ type: ["number", "null"], maximum: 0.5 });
    expect(properties["sizes"]).toMatchObject({ items: { minimum: 1 } });
    const shop = modelSchema(Shop.meta, "input").schema as { properties: Record<string, object> };
    expect(shop.properties["name"]).toEqual({ type: "string", minLength: 2, maxLength: 20 });
    const folded = Model("folded", { id: field.auto(), name: field.text({ pattern: /^a/i }) });
    expect(modelSchema(folded.meta, "input").schema).toMatchObject({ properties: { name: { type: "string" } } });
    expect(JSON.stringify(modelSchema(folded.meta, "input"))).not.toContain("pattern");
  });

  it("Rules that contradict each other, defaults that break them, and wrong options are errors", () => {
    expect(() => field.int({ min: 2, max: 1 })).toThrow("option 'min' (2) is greater than 'max' (1)");
    expect(() => field.int({ min: 2, default: 1 })).toThrow(
      "option 'default': Input should be greater than or equal to 2",
    );
    expect(() => field.text({ pattern: /a/g })).toThrow("option 'pattern' cannot have the flags g and y");
    expect(() => field.text({ pattern: "a" as never })).toThrow("a regular expression");
    expect(() => field.int({ min: "many" as never })).toThrow("option 'min'");
    expect(() => field.text({ minLength: 0 })).toThrow("option 'minLength'");
    expect(() => field.text({ validate: true as never })).toThrow("option 'validate'");
    // The rejection is handled, or it would be an error of this run.
    const later = (() => Promise.reject(new Error("later"))) as never;
    expect(() => field.text({ default: "a", validate: later })).toThrow("'validate' returns what is wrong as text");
    // @ts-expect-error text has no order
    expect(() => field.text({ min: 1 })).toThrow("'min'");
  });
});

describeDatabases("rules of fields", service("postgres"), [Shop, Item, Country, City], (db) => {
  beforeEach(() => truncate(db(), [Shop, Item, Country, City]));

  it("No way to write accepts a value that the rules refuse, and nothing is written", async () => {
    const item = await Item.objects.create({ code: "AB-1" });
    for (const [name, value, , msg] of refused) {
      const values = { [name]: value };
      const error = new ParameterValueError(`Item.${name}: ${msg}`);
      await expect(Item.objects.create({ code: "AB-2", ...values })).rejects.toThrow(error);
      await expect(Item.objects.bulkCreate([{ code: "AB-3", ...values }])).rejects.toThrow(error);
      await expect(Item.objects.update(values).then()).rejects.toThrow(error);
      await expect(Item.objects.updateOrCreate({ code: "AB-1" }, values)).rejects.toThrow(error);
      Object.assign(item, values);
      await expect(item.save()).rejects.toThrow(error);
      await expect(Item.objects.bulkUpdate([item], [name])).rejects.toThrow(error);
      await item.refresh();
    }
    await expect(Item.objects.update({ info__kind: "" }).then()).rejects.toThrow(
      "Item.info has rules: update its whole value, not a key inside of it",
    );
    await expect(Shop.objects.create({ name: "ab", items: [{ code: "AB-2" }, { code: "" }] })).rejects.toThrow(
      "items[1].code: Item.code: String should match pattern",
    );
    expect([await Shop.objects.count(), await Item.objects.valuesList("code")]).toEqual([0, [["AB-1"]]]);
  });

  it("Rules do not hold for conditions and expressions, nor for the other columns of a row", async () => {
    const item = await Item.objects.create({ code: "AB-1", stock: 1 });
    expect(await Item.objects.filter({ stock__gt: -5, code__ne: "" }).count()).toBe(1);
    await Item.objects.update({ stock: F("stock").minus(5) });
    await item.refresh();
    item.code = "AB-2";
    await item.save();
    expect(await Item.objects.values("code", "stock")).toEqual([{ code: "AB-2", stock: -4 }]);
  });

  it("Rules do not hold for items that are null, nor for the key of a row that exists", async () => {
    const { sizes } = await Item.objects.create({ code: "AB-1", sizes: [1, null as never] });
    expect(sizes).toEqual([1, null]);
    await expect(Country.objects.create({ code: "x" })).rejects.toThrow("at least 2 characters");
    await db().execute("INSERT INTO rule_countries VALUES ('x')");
    await City.objects.create({ country: "x" });
    expect(await City.objects.valuesList("country")).toEqual([["x"]]);
  });

  it("A decimal is compared exactly, whatever its length", async () => {
    class Balance extends Model("rule_balances", {
      id: field.auto(),
      sum: field.decimal({ max: "9007199254740993.1" }),
    }) {}
    const write = (sum: string): unknown => new Balance({ sum }).save();
    await expect(write("9007199254740993.2")).rejects.toThrow("less than or equal to 9007199254740993.1");
    await expect(write("NaN")).rejects.toThrow("less than or equal to");
    // Accepted: what is missing is the table.
    await expect(write("9007199254740993.1")).rejects.toThrow("rule_balances");
    await expect(write("-1e30")).rejects.toThrow("rule_balances");
  });
});
