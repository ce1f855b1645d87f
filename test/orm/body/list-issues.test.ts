import { expect, it } from "vitest";
import { arrayCheck } from "../../../src/orm/body/checks/values.js";
import { Refusal } from "../../../src/orm/body/refusal.js";

it("The check of a list ends at the number of problems that a response lists", () => {
  let checked = 0;
  const wrong = new Refusal("int_type", "Input should be a valid integer");
  const item = (value: unknown) => {
    checked++;
    return value === "x" ? wrong : value;
  };
  const check = arrayCheck({ check: item, onNull: wrong, exact: false }, false);
  const items = Array.from({ length: 100_000 }, (_, index) => (index % 2 === 0 ? "x" : 1));
  const traits = { nulls: false, overflow: false, source: null, limit: 1000 };
  const result = check(items, traits) as Refusal;
  expect(result.items?.size).toBe(1000);
  expect(checked).toBe(1999);
  expect(check([1, 2, 3], traits)).toEqual([1, 2, 3]);
});
