import { afterEach, expect, it, vi } from "vitest";
import { LowMark } from "../../src/durable/low-mark.js";

afterEach(() => void vi.restoreAllMocks());

it("A process whose claims are slow begins them where work is free, and reads all of it again after a while", async () => {
  let now = 1000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const lows: number[] = [];
  let [slow, look] = [0, 100];
  const mark = new LowMark(async () => {
    now += look;
    if (look === 0) throw new Error("the connection is lost");
    return 77;
  });
  const claim = () =>
    mark.claim(async (low) => {
      lows.push(low);
      now += slow;
      return lows.length;
    });
  await claim();
  await claim();
  expect(lows).toEqual([0, 0]);
  slow = 50;
  await claim();
  slow = 1;
  await claim();
  now += 1900;
  await claim();
  now += 200;
  await claim();
  expect(lows.slice(2)).toEqual([0, 77, 77, 0]);
  [slow, look] = [50, 0];
  expect(await claim()).toBe(7);
  await claim();
  expect(lows.slice(6)).toEqual([0, 0]);
});
