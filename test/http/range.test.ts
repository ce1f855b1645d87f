import { describe, expect, it } from "vitest";
import { parseRange } from "../../src/http/fields/range.js";
import fc from "../support/properties.js";

describe("a Range of a file of 26 bytes", () => {
  it.each<[string, string, [number, number]]>([
    ["from the beginning", "bytes=0-4", [0, 4]],
    ["in the middle", "bytes=10-12", [10, 12]],
    ["of one byte", "bytes=25-25", [25, 25]],
    ["that is open", "bytes=20-", [20, 25]],
    ["that is a suffix", "bytes=-5", [21, 25]],
    ["that is clipped to the end", "bytes=20-99", [20, 25]],
    ["with an end beyond any number", `bytes=20-${"9".repeat(400)}`, [20, 25]],
    ["that is a suffix longer than the file", "bytes=-99", [0, 25]],
    ["of the whole", "bytes=0-25", [0, 25]],
    ["with the unit in capitals", "Bytes=1-2", [1, 2]],
    ["with leading zeros", "bytes=001-002", [1, 2]],
    ["with blanks around", "bytes= 1-2 ", [1, 2]],
  ])("A range %s is accepted", (_, field, [start, end]) => {
    expect(parseRange(field, 26)).toEqual({ start, end });
  });

  it.each(["bytes=26-", "bytes=26-30", "bytes=99-", `bytes=${"9".repeat(400)}-`, "bytes=-0"])(
    "The range %s cannot be satisfied",
    (field) => {
      expect(parseRange(field, 26)).toBe("unsatisfiable");
    },
  );

  it.each([
    "",
    "bytes",
    "bytes=",
    "bytes=-",
    "bytes=a-b",
    "bytes=5-2",
    "bytes=99-30",
    "bytes=1",
    "bytes=+1-2",
    "bytes=-1-2",
    "bytes=0x1-2",
    "bytes=1-2x",
    "bytes=1.5-2",
    "bytes 1-2",
    "items=0-4",
    "lines=0-4",
    "bytes=0-1,3-4",
    "bytes=0-1, -5",
    "bytes=0-0,0-0,0-0,0-0",
    "bytes=\u0661-2",
  ])("The range %s is ignored", (field) => {
    expect(parseRange(field, 26)).toBeUndefined();
  });

  it("A range never exceeds the file", () => {
    const bound = fc.option(fc.nat({ max: 60 }), { nil: "" });
    fc.assert(
      fc.property(bound, bound, fc.nat({ max: 50 }), (first, last, size) => {
        const range = parseRange(`bytes=${first}-${last}`, size);
        if (typeof range !== "object") return;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeGreaterThanOrEqual(range.start);
        expect(range.end).toBeLessThan(size);
      }),
    );
  });
});

describe("a Range of an empty file", () => {
  it("An empty file cannot satisfy a range from its first byte, and ignores a range of its last bytes", () => {
    expect(parseRange("bytes=0-", 0)).toBe("unsatisfiable");
    expect(parseRange("bytes=-5", 0)).toBeUndefined();
  });
});
