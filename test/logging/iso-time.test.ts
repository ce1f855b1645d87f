import { describe, expect, it } from "vitest";
import { isoTime } from "../../src/logging/iso-time.js";

describe("isoTime", () => {
  it.each([0, 1, 999, 1000, 1_769_862_605_007, 1_769_862_605_007, 1_769_862_605_999.7, 1_769_862_606_000, -1])(
    "isoTime() writes %d as Date does",
    (time) => {
      expect(isoTime(time)).toBe(new Date(Math.floor(time)).toISOString());
    },
  );
});
