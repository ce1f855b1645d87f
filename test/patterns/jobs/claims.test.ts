import { afterEach, expect, it, vi } from "vitest";
import { Claims } from "../../../src/patterns/jobs/claims.js";

afterEach(() => void vi.restoreAllMocks());

it("A process whose claims are slow begins them where jobs are free, and reads all of them again after a while", async () => {
  let now = 1000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const lows: number[] = [];
  let [slow, look] = [0, 100];
  const storage = {
    claim: async (_name: string, _limit: number, _inProgress: readonly string[], low: number) => {
      lows.push(low);
      now += slow;
      return [{ id: String(lows.length) }];
    },
    lowest: async () => {
      now += look;
      if (look === 0) throw new Error("the connection is lost");
      return 77;
    },
  };
  const claims = new Claims(storage as never, "work");
  const claim = () => claims.claim(1, []);
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
  expect(await claim()).toEqual([{ id: "7" }]);
  await claim();
  expect(lows.slice(6)).toEqual([0, 0]);
});
