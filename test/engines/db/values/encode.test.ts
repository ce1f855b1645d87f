import { afterEach, describe, expect, it, vi } from "vitest";
import { ParameterRangeError } from "../../../../src/engines/db/errors.js";
import { encodeParameters } from "../../../../src/engines/db/values/encode.js";
import { oid } from "../../../../src/engines/db/values/oids.js";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("an integer as text", () => {
  it.each([
    ["9223372036854775807", oid.int8],
    ["-9223372036854775808", oid.int8],
    [" +2147483647 ", oid.int4],
    [`-${"0".repeat(1000)}32768`, oid.int2],
    ["0", oid.int4],
    ["-0", oid.int4],
    ["0000", oid.int4],
  ])("The integer %s is accepted as text", (text, type) => {
    expect(encodeParameters([text], [type])).toEqual([text]);
  });

  it.each([
    ["9223372036854775808", oid.int8],
    ["-9223372036854775809", oid.int8],
    ["2147483648", oid.int4],
    ["-32769", oid.int2],
    ["-1", oid.oid],
    ["1".repeat(20), oid.int8],
  ])("The integer %s is out of range", (text, type) => {
    expect(() => encodeParameters([text], [type])).toThrow(ParameterRangeError);
  });

  it("A long integer is out of range by its length, before it is converted", () => {
    const convert = vi.spyOn(globalThis, "BigInt");
    for (const text of ["9".repeat(10_000_000), `-${"9".repeat(10_000_000)}`]) {
      expect(() => encodeParameters([text], [oid.int8])).toThrow(ParameterRangeError);
    }
    expect(() => encodeParameters([["1", "9".repeat(10_000_000)]], [1016])).toThrow(ParameterRangeError);
    const longest = convert.mock.calls.map(([text]) => String(text).length);
    expect(Math.max(0, ...longest)).toBeLessThan(20);
  });
});

describe("JSON", () => {
  it("JSON with many backslashes is searched for U+0000 in one pass", () => {
    const text = "\\".repeat(500_000);
    expect(() => encodeParameters([{ text: `${text}\\u0000` }], [oid.jsonb])).not.toThrow();
    expect(() => encodeParameters([{ text: `${text}\u0000` }], [oid.jsonb])).toThrow("U+0000");
  });
});
