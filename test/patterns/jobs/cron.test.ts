import { describe, expect, it } from "vitest";
import { every, parseCron } from "../../../src/patterns/jobs/cron.js";

describe("schedules", () => {
  const next = (text: string, after: string): string => parseCron(text).next(new Date(after)).toISOString();

  it.each([
    ["* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00.000Z"],
    ["*/15 * * * *", "2026-01-01T00:15:00Z", "2026-01-01T00:30:00.000Z"],
    ["0 4 * * *", "2026-01-01T04:00:00Z", "2026-01-02T04:00:00.000Z"],
    ["30 8-10/2 * * 1-5", "2026-01-02T10:30:00Z", "2026-01-05T08:30:00.000Z"],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00.000Z"],
    ["0 12 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T12:00:00.000Z"],
    ["5,10 23 31 12 *", "2026-12-31T23:05:30Z", "2026-12-31T23:10:00.000Z"],
  ])("The time of %s after %s is %s", (text, after, expected) => {
    expect(next(text, after)).toBe(expected);
  });

  it("Wrong schedules are refused with the field in the message", () => {
    expect(() => parseCron("* * * *")).toThrow("five fields");
    expect(() => parseCron("60 * * * *")).toThrow('"60" is not a minute');
    expect(() => parseCron("* 5-3 * * *")).toThrow('"5-3" is not a hour');
    expect(() => parseCron("* * * * */0")).toThrow("day of the week");
    expect(() => parseCron("0 0 30 2 *")).toThrow("has no time");
    expect(() => parseCron("x * * * *")).toThrow('"x" is not a minute');
  });

  it("A schedule of equal distances keeps to multiples of the distance", () => {
    expect(every(5000).next(new Date(12_345)).getTime()).toBe(15_000);
    expect(every(5000).next(new Date(15_000)).getTime()).toBe(20_000);
  });
});
