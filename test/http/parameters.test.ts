import { describe, expect, it } from "vitest";
import { parseParameters } from "../../src/http/fields/parameters.js";

function read(text: string): [string, ...[string, string][]] | undefined {
  const parsed = parseParameters(text);
  return parsed && [parsed.value, ...parsed.parameters];
}

describe("a field value with parameters", () => {
  it.each<[string, [string, ...[string, string][]]]>([
    ["text/plain", ["text/plain"]],
    [" Text/Plain ;", ["text/plain"]],
    ["a; B=C; d=e", ["a", ["b", "C"], ["d", "e"]]],
    ["a;b=c;;d=e ; ", ["a", ["b", "c"], ["d", "e"]]],
    ['a; b="c d"; e=""', ["a", ["b", "c d"], ["e", ""]]],
    ['a; b="c;d=e,\\"f\\\\"', ["a", ["b", 'c;d=e,"f\\']]],
    ['a; b="C:\\dir\\x"', ["a", ["b", "C:\\dir\\x"]]],
    ["a; b=c=d:e/f?", ["a", ["b", "c=d:e/f?"]]],
    ["a; filename*=UTF-8''x", ["a", ["filename*", "UTF-8''x"]]],
    ["", [""]],
  ])("The field value %j is read with its parameters", (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it.each([
    "a; b",
    "a; b=",
    "a; =c",
    "a; b=c d",
    "a; b c=d",
    'a; b="c',
    'a; b="c"d',
    'a; b="c\\"',
    "a; b=c, a; b=d",
    "a; b=c; B=d",
    'a; b=c"d"',
    "a; b = c",
    "a; b=\u0001",
  ])("The field value %j is refused", (text) => {
    expect(read(text)).toBeUndefined();
  });

  it("A field value of any length is read without delay", () => {
    const blanks = " ".repeat(200_000);
    expect(read(`a;${blanks}b=c${blanks};${blanks}x`)).toBeUndefined();
    expect(read(`a; b="${"\\".repeat(200_000)}`)).toBeUndefined();
  });
});
