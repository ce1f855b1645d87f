import { expect, it, vi } from "vitest";
import { Batch } from "../../src/durable/batch.js";
import { DatabaseError } from "../../src/engines/db/errors.js";

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

it.each([new Error("the connection is lost"), new DatabaseError("the server ends", { sqlstate: "57P01" })])(
  "An error that is not that of one item fails all items of the statement, and later ones are written: %s",
  async (error) => {
    let statements = 0;
    const batch = new Batch<number, number>(async (items) => {
      if (++statements === 1) throw error;
      return items;
    });
    const results = await Promise.allSettled([1, 2].map((item) => batch.add(item)));
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(statements).toBe(1);
    expect(await batch.add(3)).toBe(3);
  },
);

it("No statement begins while another one is under way, and the items that come meanwhile share the next one", async () => {
  const written: number[][] = [];
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const batch = new Batch<number, number>(async (items) => {
    written.push([...items]);
    await gate;
    return items;
  });
  const all = [batch.add(1)];
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  for (const item of [2, 3, 4]) {
    for (let turns = 0; turns < 5; turns++) await turn();
    all.push(batch.add(item));
  }
  for (let turns = 0; turns < 5; turns++) await turn();
  expect(written).toEqual([[1]]);
  open();
  expect(await Promise.all(all)).toEqual([1, 2, 3, 4]);
  expect(written).toEqual([[1], [2, 3, 4]]);
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
