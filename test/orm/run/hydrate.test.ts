import { describe, expect, it } from "vitest";
import { field, Model } from "../../../src/entry/orm.js";
import { hydrate } from "../../../src/orm/run/hydrate.js";
import { savedValue, stateOf } from "../../../src/orm/run/state.js";

class Point extends Model("points", { id: field.auto(), x: field.int(), y: field.int() }) {}

const origin = { db: null, strict: false };
const [id, x, y] = Point.meta.columns as [never, never, never];

describe("the saved values of an instance", () => {
  it("The saved values of an instance are found behind other columns of the row", () => {
    const plan = { meta: Point.meta, columns: Point.meta.columns, at: 2, related: [], extras: [] };
    const [point] = hydrate([["other", "columns", 1, 10, 20]], plan, origin);
    const state = stateOf(point!);
    expect([id, x, y].map((column) => savedValue(state, column))).toEqual([1, 10, 20]);
    expect({ ...point }).toEqual({ id: 1, x: 10, y: 20 });
  });

  it("The saved values of an instance with some of its columns are found behind other columns of the row", () => {
    const plan = { meta: Point.meta, columns: [id, y], at: 2, related: [], extras: [] };
    const [point] = hydrate([["other", "columns", 1, 20]], plan, origin);
    const state = stateOf(point!);
    expect([id, x, y].map((column) => savedValue(state, column))).toEqual([1, undefined, 20]);
    expect({ ...point }).toEqual({ id: 1, y: 20 });
  });
});
