import { expect, it } from "vitest";
import { Batch } from "../../../src/patterns/storage/batch.js";

it("Items that do not fit into one text are written one by one, and only the one that fits nowhere fails", async () => {
  const written: number[][] = [];
  const batch = new Batch<number, number>(async (items) => {
    written.push([...items]);
    if (items.length > 1 || items[0] === 2) throw new RangeError("Invalid string length");
    return items;
  });
  const results = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(written).toEqual([[1, 2, 3], [1], [2], [3]]);
});

it("An error that is not that of one item fails all items of the statement, and later ones are written", async () => {
  let away = true;
  const batch = new Batch<number, number>(async (items) => {
    if (away) throw new Error("the connection is lost");
    return items;
  });
  const results = await Promise.allSettled([1, 2].map((item) => batch.add(item)));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  away = false;
  expect(await batch.add(3)).toBe(3);
});
