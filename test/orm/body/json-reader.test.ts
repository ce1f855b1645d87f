import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { findForbidden, maxJsonDepth } from "../../../src/http/json/json-scan.js";
import { ListNumbers, NumberText, toNumberText } from "../../../src/orm/body/exact-numbers.js";
import { readJsonBody } from "../../../src/orm/body/json-body.js";
import fc, { runs } from "../../support/properties.js";

/** Numbers at the borders of what a double holds, and of its range. */
const digits = fc.stringMatching(/^[1-9]\d{0,24}$/);
const number = fc
  .tuple(
    fc.constantFrom("", "", "-"),
    fc.oneof(
      fc.nat({ max: 99_999 }).map(String),
      digits,
      fc.tuple(digits, digits).map((parts) => parts.join(".")),
      fc.tuple(digits, fc.constantFrom("e5", "E+20", "e-300", "e299", "e308", "e00005")).map((parts) => parts.join("")),
      fc.constantFrom(
        "0",
        "0.5",
        `1${"0".repeat(307)}`,
        `1${"0".repeat(308)}`,
        "9".repeat(309),
        `${"1".repeat(310)}.5`,
      ),
    ),
  )
  .map((parts) => parts.join(""));
const string = fc
  .array(
    fc.constantFrom(
      "a",
      "7",
      "é",
      "😀",
      "[",
      "}",
      ",",
      '\\"',
      "\\\\",
      "\\n",
      "\\u0041",
      "\\u0000",
      "\\ud83d",
      "\\ude00",
    ),
    {
      maxLength: 4,
    },
  )
  .map((parts) => `"${parts.join("")}"`);
const key = fc.oneof(
  string,
  fc.constantFrom('"a"', '"constructor"', '"prototype"', '"__proto_"', '"__proto__"', '"\\u005f_proto__"'),
);
const blank = fc.constantFrom("", "", " ", "\n    ", "\t");
const scalar = fc.oneof({ weight: 4, arbitrary: number }, string, fc.constantFrom("null", "true", "false"));
/** Alone it is accepted, and in two lists or three it is not. */
const deep = fc.integer({ min: maxJsonDepth - 2, max: maxJsonDepth }).map((n) => "[".repeat(n) + "]".repeat(n));
/** Items of one kind, as many as make a document long: they are read in larger steps. */
const long = fc
  .tuple(
    fc.oneof(number, fc.constant("null")),
    fc.nat({ max: 400 }),
    fc.array(fc.oneof(scalar, deep), { maxLength: 3 }),
    blank,
  )
  .map(
    ([item, count, others, space]) => `[${[...Array<string>(count).fill(item), ...others, item].join(`,${space}`)}]`,
  );
const { document } = fc.letrec<{ document: string }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4, depthIdentifier: "json" },
    scalar,
    long,
    fc
      .tuple(fc.array(tie("document"), { maxLength: 4, depthIdentifier: "json" }), blank)
      .map(([items, space]) => `[${space}${items.join(`${space},`)}${space}]`),
    fc
      .tuple(fc.array(fc.tuple(key, tie("document")), { maxLength: 3, depthIdentifier: "json" }), blank)
      .map(([pairs, space]) => `{${pairs.map(([name, value]) => `${space}${name}:${space}${value}`).join(",")}}`),
    fc
      .tuple(fc.integer({ min: maxJsonDepth - 3, max: maxJsonDepth + 2 }), tie("document"))
      .map(([depth, inner]) => "[".repeat(depth) + inner + "]".repeat(depth)),
  ),
}));
/** One in five has a byte too many or too few. */
const source = fc
  .tuple(document, fc.nat({ max: 4 }), fc.nat(), fc.constantFrom("", ",", "0", "]", '"', "-", ".", "e"))
  .map(([text, damage, place, byte]) => {
    const at = place % (text.length + 1);
    if (damage > 0) return text;
    return `${text.slice(0, at)}${byte}${text.slice(at + (byte === "" ? 1 : 0))}`.toWellFormed();
  });

interface Found {
  depth: boolean;
  key: boolean;
  number: boolean;
  half: boolean;
}

/** The value with a number as `#` and its double, or as `=` and its text if 16 digits and points or more stand before its exponent. */
function reference(text: string): { value: unknown; found: Found } | null {
  const found: Found = { depth: false, key: false, number: false, half: false };
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
  const named = text.replace(tokens, (token) => {
    if (token.startsWith('"')) return `"$${token.slice(1)}`;
    const size = token.replace(/^-|e.*$/gi, "").length;
    if (!Number.isFinite(Number(token))) found.number = true;
    return JSON.stringify(size >= 16 ? `=${token}` : `#${Number(token)}`);
  });
  let count = 0;
  // No key replaces an earlier one: a forbidden part of a value that is replaced counts.
  const unique = text.replace(tokens, (token) => (token.startsWith('"') ? `"${count++}$${token.slice(1)}` : "0"));
  walk(JSON.parse(unique), 0, false, found);
  return { value: JSON.parse(named), found };
}

function walk(value: unknown, depth: number, ofConstructor: boolean, found: Found): void {
  if (typeof value === "string" && !value.isWellFormed()) found.half = true;
  if (typeof value !== "object" || value === null) return;
  if (depth === maxJsonDepth) found.depth = true;
  for (const [name, item] of Object.entries(value)) {
    if (!name.isWellFormed()) found.half = true;
    const own = name.replace(/^\d+\$/, "");
    if (own === "__proto__" || (ofConstructor && own === "prototype")) found.key = true;
    // Only an object has keys, and the rule is about those directly in it.
    walk(item, depth + 1, own === "constructor" && !Array.isArray(item), found);
  }
}

/** The same form of a value that was read. */
function shown(given: unknown, source: Buffer | null): unknown {
  const value = source === null ? given : toNumberText(given, source);
  if (value instanceof NumberText) return `=${value.text}`;
  if (typeof value === "number") return `#${value}`;
  if (typeof value === "string") return `$${value}`;
  if (Array.isArray(value)) {
    const numbers = source === null ? null : new ListNumbers(source);
    return value.map((item) => shown(numbers === null ? item : numbers.next(item), source));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [`$${name}`, shown(item, source)]));
}

describe("the reader of JSON bodies", () => {
  it("The reader agrees with JSON.parse and a walk of the value, and keeps the digits of long numbers", () => {
    const seen = { read: 0, invalid: 0, depth: 0, key: 0, number: 0, half: 0, long: 0 };
    fc.assert(
      fc.property(source, (text) => {
        const bytes = Buffer.from(text);
        const body = readJsonBody(bytes, true, 1);
        const expected = reference(text);
        if (expected === null) {
          seen.invalid++;
          return body === undefined;
        }
        const { depth, key, number, half } = expected.found;
        const forbidden = depth ? "depth" : key ? "key" : number ? "number" : null;
        seen[depth ? "depth" : half ? "half" : (forbidden ?? "read")]++;
        if (text.length > 2000) seen.long++;
        if (findForbidden(bytes, text) !== forbidden) return false;
        if (body === undefined) return depth || key || half;
        if (depth || key || half || body.overflow !== number) return false;
        return isDeepStrictEqual(shown(body.value, body.source), expected.value);
      }),
      { numRuns: runs(2500) },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs(50));
  });

  it("A long list keeps the digits of its numbers beside short numbers, nulls, words and texts", () => {
    const items = Array.from({ length: 5000 }, (_, i) => {
      if (i % 1000 < 400) return "0.1";
      return [
        "12345678901234567891",
        "null",
        "-0.10000000000000000001",
        "7",
        i < 3000 ? "8" : i < 4000 ? "true" : '"9"',
      ][i % 5]!;
    });
    for (const comma of [",", " ,\n  "]) {
      const body = readJsonBody(Buffer.from(`[${items.join(comma)}]`), true, 1)!;
      const numbers = new ListNumbers(body.source!);
      const read = (body.value as unknown[]).map((item) => toNumberText(numbers.next(item), body.source!));
      const written = read.map((item) => (item instanceof NumberText ? item.text : JSON.stringify(item)));
      expect(written).toEqual(items);
    }
  });

  it("Of the long numbers of a long list, few are kept as texts", () => {
    const body = readJsonBody(Buffer.from(`[${Array(5000).fill("12345678901234567891").join(",")}]`), true, 1)!;
    const texts = (body.value as unknown[]).filter((item) => typeof item === "string");
    expect(texts.length).toBeLessThan(100);
  });

  it("Documents of points, which are no numbers, are refused in linear time", () => {
    for (const piece of [".", "1.", "..,", "1.1.1.1.1.1.1.1.1.1.1.1.1,", "1 \n"]) {
      const run = piece.repeat(4_000_000 / piece.length);
      expect(readJsonBody(Buffer.from(`[${run},1]`), true, 1)).toBeUndefined();
    }
  });
});
