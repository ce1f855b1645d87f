import { describe, expect, it } from "vitest";
import {
  allowsRange,
  evaluateConditions,
  isEntityTag,
  matchesStrongly,
  matchesWeakly,
  type Validators,
} from "../../src/http/fields/conditional.js";

const modified = Date.UTC(2024, 0, 1, 12, 0, 0);
const before = "Mon, 01 Jan 2024 11:59:59 GMT";
const same = "Mon, 01 Jan 2024 12:00:00 GMT";
const after = "Mon, 01 Jan 2024 12:00:01 GMT";
const strong: Validators = { etag: '"v1"', lastModified: modified };
const weak: Validators = { etag: 'W/"v1"', lastModified: modified };
const none: Validators = { etag: undefined, lastModified: undefined };

function evaluate(fields: Record<string, string>, validators = strong, method = "GET"): string {
  return evaluateConditions(method, (name) => fields[name], validators);
}

describe("the conditions of a request", () => {
  it.each<[Record<string, string>, string, Validators?, string?]>([
    [{}, "send"],
    [{ "if-none-match": '"v1"' }, "unchanged"],
    [{ "if-none-match": '"v0"' }, "send"],
    [{ "if-none-match": '"v0", "v1"' }, "unchanged"],
    [{ "if-none-match": '"v0","v1" ,"v2"' }, "unchanged"],
    [{ "if-none-match": 'W/"v1"' }, "unchanged"],
    [{ "if-none-match": '"v1"' }, "unchanged", weak],
    [{ "if-none-match": "*" }, "unchanged"],
    [{ "if-none-match": "v1" }, "send"],
    [{ "if-none-match": "" }, "send"],
    [{ "if-none-match": 'garbage, "v1"' }, "send"],
    [{ "if-none-match": '"v1"' }, "send", none],
    [{ "if-none-match": '"v1"' }, "unchanged", strong, "HEAD"],
    [{ "if-none-match": '"v1"' }, "failed", strong, "PUT"],
    [{ "if-none-match": "*" }, "failed", strong, "PUT"],
    [{ "if-modified-since": same }, "unchanged"],
    [{ "if-modified-since": after }, "unchanged"],
    [{ "if-modified-since": before }, "send"],
    [{ "if-modified-since": "garbage" }, "send"],
    [{ "if-modified-since": "1" }, "send"],
    [{ "if-modified-since": same }, "send", none],
    [{ "if-modified-since": same }, "send", strong, "POST"],
    [{ "if-none-match": '"v0"', "if-modified-since": same }, "send"],
    [{ "if-none-match": '"v1"', "if-modified-since": before }, "unchanged"],
    [{ "if-match": '"v1"' }, "send"],
    [{ "if-match": '"v0", "v1"' }, "send"],
    [{ "if-match": "*" }, "send"],
    [{ "if-match": '"v0"' }, "failed"],
    [{ "if-match": 'W/"v1"' }, "failed"],
    [{ "if-match": '"v1"' }, "failed", weak],
    [{ "if-match": 'W/"v1"' }, "failed", weak],
    [{ "if-match": "garbage" }, "failed"],
    [{ "if-unmodified-since": same }, "send"],
    [{ "if-unmodified-since": before }, "failed"],
    [{ "if-unmodified-since": "garbage" }, "send"],
    [{ "if-unmodified-since": before }, "send", none],
    [{ "if-match": '"v1"', "if-unmodified-since": before }, "send"],
    [{ "if-match": '"v1"', "if-none-match": '"v1"' }, "unchanged"],
    [{ "if-match": '"v0"', "if-none-match": '"v1"' }, "failed"],
  ])("The conditions %j lead to: %s", (fields, verdict, validators, method) => {
    expect(evaluate(fields, validators, method)).toBe(verdict);
  });
});

describe("If-Range", () => {
  const later = modified + 1000;

  it.each<[string | undefined, boolean, Validators?]>([
    [undefined, true],
    ['"v1"', true],
    ['"v0"', false],
    ['W/"v1"', false],
    ['W/"v1"', false, weak],
    ['"v1"', false, weak],
    ['"v1", "v2"', false],
    ['"v1"', false, none],
    [same, true],
    [before, false],
    [after, false],
    ["garbage", false],
    ["*", false],
    [same, false, none],
  ])("The If-Range value %s allows a range: %s", (field, allowed, validators = strong) => {
    expect(allowsRange(field, validators, later)).toBe(allowed);
  });

  it("An If-Range date within the second of the change does not allow a range", () => {
    expect(allowsRange(same, strong, modified + 999)).toBe(false);
  });
});

describe("entity tags", () => {
  it("An entity tag can contain commas and bytes above ASCII", () => {
    expect(matchesWeakly('"a,b", "\u00e9"', '"\u00e9"')).toBe(true);
    expect(matchesWeakly('"a,b"', '"a"')).toBe(false);
    expect(matchesStrongly('"a,b"', '"a,b"')).toBe(true);
  });

  it("Long lists of entity tags are compared without delay", () => {
    const list = Array.from({ length: 2000 }, (_, i) => `"${i}"`).join(" , ");
    expect(matchesWeakly(list, '"1999"')).toBe(true);
    expect(matchesWeakly(`${" ".repeat(200_000)}x`, '"1"')).toBe(false);
  });

  it.each([
    ['"a"', true],
    ['W/"a"', true],
    ['""', true],
    ["a", false],
    ['"a", "b"', false],
    ['"a"b"', false],
    ['w/"a"', false],
    ['"a b"', false],
    ['"a\r\n"', false],
  ])("The text %j is an entity tag: %s", (text, valid) => {
    expect(isEntityTag(text)).toBe(valid);
  });
});
