import { describe, expect, it } from "vitest";
import { formatArray, parseArray } from "../../../../src/engines/db/values/arrays.js";
import fc from "../../../support/properties.js";

const text = (item: unknown): string | null => item as string | null;

describe("arrays", () => {
  it("A formatted array of any texts is parsed to the same list", () => {
    const items = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constant(null)));
    fc.assert(
      fc.property(items, (list) => {
        expect(parseArray(formatArray(list, text), (item) => item)).toEqual(list);
      }),
    );
  });

  it("Nested arrays are parsed and formatted", () => {
    expect(parseArray("{{1,2},{3,NULL}}", Number)).toEqual([
      [1, 2],
      [3, null],
    ]);
    expect(formatArray([["a"], ["b"]], text)).toBe('{{"a"},{"b"}}');
  });

  it.each(["", "{", "{1", '{"a', "x", "[0:1]="])("The array %j is an error, not an endless loop", (broken) => {
    expect(() => parseArray(broken, Number)).toThrow(SyntaxError);
  });
});
