import { describe, expect, it } from "vitest";
import { formatTimestamp, isoText, parseTimestamp } from "../../../../src/engines/db/values/timestamps.js";
import fc from "../../../support/properties.js";

describe("timestamps", () => {
  it.each([
    ["2024-05-01 12:34:56", "2024-05-01T12:34:56.000Z"],
    ["2024-05-01 12:34:56.7", "2024-05-01T12:34:56.700Z"],
    ["2024-05-01 12:34:56.078999+00", "2024-05-01T12:34:56.078Z"],
    ["2024-05-01 00:30:00+05:30", "2024-04-30T19:00:00.000Z"],
    ["2024-05-01 00:30:00-08", "2024-05-01T08:30:00.000Z"],
    ["1880-01-01 00:00:00+00:17:30", "1879-12-31T23:42:30.000Z"],
    ["0001-01-01 00:00:00", "0001-01-01T00:00:00.000Z"],
    ["0099-12-31 23:59:59.999+00", "0099-12-31T23:59:59.999Z"],
    ["0001-12-31 00:00:00 BC", "0000-12-31T00:00:00.000Z"],
    ["0005-02-29 00:00:00+00 BC", "-000004-02-29T00:00:00.000Z"],
    ["12024-01-01 00:00:00", "+012024-01-01T00:00:00.000Z"],
  ])("The timestamp %s is parsed to the right moment", (text, iso) => {
    expect((parseTimestamp(text) as Date).toISOString()).toBe(iso);
  });

  it("Infinity is read as a number, and invalid text as an invalid date", () => {
    expect(parseTimestamp("infinity")).toBe(Number.POSITIVE_INFINITY);
    expect(parseTimestamp("-infinity")).toBe(Number.NEGATIVE_INFINITY);
    expect(parseTimestamp("x")).toEqual(new Date(Number.NaN));
  });

  it("A formatted timestamp is parsed to the same date", () => {
    const date = fc.date({ min: new Date(Date.UTC(-4712, 0, 1)), max: new Date(8.64e15), noInvalidDate: true });
    fc.assert(
      fc.property(date, (value) => {
        expect(parseTimestamp(formatTimestamp(value).replace("T", " "))).toEqual(value);
      }),
    );
  });

  it("isoText() writes the same JSON as a Date", () => {
    fc.assert(
      fc.property(fc.date(), (value) => {
        expect(isoText(value)).toBe(value.toJSON());
      }),
    );
    const around = [0, -1, 1, 86_399_999, 86_400_000, -86_400_000, -86_400_001, Date.UTC(2024, 1, 29, 23, 59, 59, 999)];
    const ends = [-62_167_219_200_000, -62_167_219_200_001, 253_402_300_799_999, 253_402_300_800_000, 8.64e15];
    for (const time of [...around, ...ends, Number.NaN]) {
      const date = new Date(time);
      expect(isoText(date)).toBe(date.toJSON());
    }
  });
});
