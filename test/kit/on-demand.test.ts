import { expect, it } from "vitest";
import { lazily } from "../../src/kit/on-demand.js";

it("A value is made by the first call, for all of them", async () => {
  let calls = 0;
  const value = lazily(async () => ++calls);
  expect(calls).toBe(0);
  expect(await Promise.all([value(), value()])).toEqual([1, 1]);
  expect(await value()).toBe(1);
});

it("An attempt that failed is repeated by the next call", async () => {
  let calls = 0;
  const value = lazily(async () => {
    if (++calls < 3) throw new Error(`attempt ${calls}`);
    return calls;
  });
  const both = [value(), value()];
  for (const one of both) await expect(one).rejects.toThrow("attempt 1");
  await expect(value()).rejects.toThrow("attempt 2");
  expect(await value()).toBe(3);
});
