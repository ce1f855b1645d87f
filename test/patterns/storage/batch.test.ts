import { expect, it, vi } from "vitest";
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

it("Callers that add their next item soon after a result share one statement, whenever each of them began", async () => {
  const sizes: number[] = [];
  let open = (): void => {};
  const first = new Promise<void>((resolve) => (open = resolve));
  const batch = new Batch<number, number>(async (items) => {
    sizes.push(items.length);
    await (sizes.length === 1 ? first : new Promise((resolve) => void setImmediate(resolve)));
    return items;
  });
  const caller = async (): Promise<void> => {
    for (let item = 0; item < 5; item++) {
      await batch.add(item);
      // As long as a step without I/O takes.
      for (let ticks = 0; ticks < 20; ticks++) await null;
    }
  };
  const early = caller();
  await vi.waitFor(() => expect(sizes).toEqual([1]));
  // These come while the statement of the first one is under way.
  const late = [caller(), caller()];
  open();
  await Promise.all([early, ...late]);
  expect(sizes).toEqual([1, 3, 3, 3, 3, 2]);
});
