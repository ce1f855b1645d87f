import { expect, it, vi } from "vitest";
import { field, Model, nested } from "../../../src/entry/orm.js";
import * as modelBody from "../../../src/orm/body/model-body.js";
import { bodyValidatorSymbol } from "../../../src/validation/body-validator.js";

vi.mock("../../../src/orm/body/model-body.js", async (original) => {
  const actual = await original<typeof modelBody>();
  return { ...actual, readFields: vi.fn(actual.readFields) };
});

class Shop extends Model("shops", {
  id: field.auto(),
  get items() {
    return field.reverse(() => Item, "shop");
  },
}) {}

class Item extends Model("items", {
  id: field.auto(),
  sizes: field.array(field.int()),
  shop: field.foreignKey(() => Shop),
}) {}

it("The rows of a body are checked only until the response has all issues that it may have", () => {
  const items = Array.from({ length: 900 }, () => ({ sizes: Array.from({ length: 100 }, () => "x") }));
  const body = nested(Shop, "items")[bodyValidatorSymbol](Buffer.from(JSON.stringify({ items })));
  expect((body as unknown as { issues: unknown[] }).issues).toHaveLength(1000);
  // The shop, and ten items with 100 issues each.
  expect(modelBody.readFields).toHaveBeenCalledTimes(11);
});
