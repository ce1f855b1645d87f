import { describe, expect, it } from "vitest";
import { type Duration, inWords, isDuration, milliseconds, seconds } from "../../../src/kit/time/duration.js";

describe("durations", () => {
  it.each<[Duration, number]>([
    [3, 3],
    [0.25, 0.25],
    ["250ms", 0.25],
    ["300ms", 0.3],
    ["3s", 3],
    ["1.5s", 1.5],
    ["5m", 300],
    ["2h", 7200],
    ["1d", 86_400],
    ["0s", 0],
  ])("%s is %d seconds", (duration, expected) => {
    expect(seconds(duration)).toBe(expected);
  });

  it("Milliseconds are whole, so that a timer does not end early", () => {
    expect(milliseconds(2.3)).toBe(2300);
    expect(milliseconds("1.5ms")).toBe(2);
  });

  it("A short time is a millisecond and never 0, which can mean no limit", () => {
    expect([0.0001, "0.2ms", 0].map((time) => milliseconds(time as Duration))).toEqual([1, 1, 0]);
  });

  it.each(["3", "3 s", "s", "-1s", "1w", "1e3s", "١s", "", " 1s", "1s\n", `${"9".repeat(400)}s`])(
    "The text %j is refused",
    (text) => {
      expect(() => seconds(text as Duration)).toThrow(
        'a duration is seconds as a number, or text such as "250ms", "3s", "5m", "2h" or "1d", not ',
      );
    },
  );

  it.each([Number.NaN, Infinity, null, undefined, {}, [3], 3n])("The value %s is refused", (value) => {
    expect(isDuration()(value)).toContain("a duration: seconds as a number");
  });

  it("Bounds are named in the largest unit that fits", () => {
    expect(isDuration(1, 3600)("2h")).toBe("a duration from 1s to 1h");
    expect(isDuration(0.1)(0)).toBe("a duration of at least 100ms");
    expect(isDuration()(-1)).toBe("a duration of at least 0");
    expect(isDuration()(1e12)).toBe("a duration of at most 365250d");
    expect(isDuration(1, 3600)(3600)).toBeUndefined();
    expect(inWords(90)).toBe("90s");
  });
});
