import { describe, expect, it } from "vitest";
import { formatHttpDate, parseHttpDate } from "../../src/http/fields/http-date.js";
import fc from "../support/properties.js";

describe("a date in a header field", () => {
  const time = Date.UTC(1994, 10, 6, 8, 49, 37);

  it.each(["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])(
    "An HTTP date is read in the form %j",
    (text) => {
      expect(parseHttpDate(text)).toBe(time);
    },
  );

  it("An HTTP date is written in the preferred form, and read again, up to the year 9999", () => {
    expect(formatHttpDate(time)).toBe("Sun, 06 Nov 1994 08:49:37 GMT");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59) / 1000 }), (seconds) => {
        expect(parseHttpDate(formatHttpDate(seconds * 1000))).toBe(seconds * 1000);
      }),
    );
  });

  it("A year of two digits is read as the nearest one that is not far in the future", () => {
    const year = new Date().getUTCFullYear();
    const digits = (value: number) => String(value % 100).padStart(2, "0");
    const read = (text: string) => new Date(parseHttpDate(`Monday, 01-Jan-${text} 00:00:00 GMT`)!).getUTCFullYear();
    expect(read(digits(year))).toBe(year);
    expect(read(digits(year + 51))).toBe(year - 49);
  });

  it.each([
    "",
    "1",
    "2024",
    "yesterday",
    "1994-11-06T08:49:37Z",
    "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    "sun, 06 nov 1994 08:49:37 gmt",
  ])("The text %j is not an HTTP date", (text) => {
    expect(parseHttpDate(text)).toBeUndefined();
  });
});
