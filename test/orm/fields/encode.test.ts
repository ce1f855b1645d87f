import { describe, expect, it } from "vitest";
import { json } from "../../../src/orm/fields/encode.js";

describe("JSON for a column", () => {
  it("JSON for a column can hold the text of an escape beside every kind of value", () => {
    const value = { "\\u0000": [null, 1, true, { deep: null }, "\\ud800"] };
    expect(JSON.parse(json(value))).toEqual(value);
  });

  it.each([
    ["a value", ["x", { a: "\0" }], "U+0000"],
    ["a key", { "\0": null }, "U+0000"],
    ["half a character", [null, "\ud800"], "well-formed"],
  ])("JSON for a column is refused if PostgreSQL would refuse it for %s", (_, value, message) => {
    expect(() => json(value)).toThrow(message);
  });
});
