import { describe, expect, it } from "vitest";
import { NumberText, toNumberText, withDoubles } from "../../../src/orm/body/exact-numbers.js";
import { readJsonBody } from "../../../src/orm/body/json-body.js";
import { modelBodyReader } from "../../../src/orm/body/model-body.js";
import fc, { runs } from "../../support/properties.js";
import { Sample, sample } from "./models.js";

const read = modelBodyReader(Sample.meta, "whole");
const readPartial = modelBodyReader(Sample.meta, "partial");
const order = new Map(Object.keys(sample).map((key, index) => [key, index]));

/** Values that are nearly right more often than chance would make them. */
const value = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt(-(2n ** 70n), 2n ** 70n).map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toJSON()),
  fc.stringMatching(/^[+-]?[\d_.:eTPZ -]{0,30}$/),
  fc.uuid(),
  fc.constantFrom(...Object.values(sample), null, true, "\u0000", "true", "P1D", "12:00"),
  fc.array(fc.oneof(fc.integer(), fc.string(), fc.constant(null))),
);
const body = fc.record(Object.fromEntries(Object.keys(sample).map((key) => [key, value])), { requiredKeys: [] });
const text = (given: unknown): Uint8Array => Buffer.from(JSON.stringify(given));

describe("reading a body", () => {
  it("Any bytes are either read or refused with 400, and never throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const result = read(bytes);
        expect(result.issues === undefined || result.status === 400).toBe(true);
      }),
    );
  });

  it("Each field is reported once, in the order of the model, with loc, msg and type only", () => {
    fc.assert(
      fc.property(body, (given) => {
        const { issues = [] } = read(text(given));
        const fields = issues.map(({ loc }) => order.get(loc[0] as string)!);
        expect(fields).toEqual(fields.toSorted((a, b) => a - b));
        for (const issue of issues) expect(Object.keys(issue).sort()).toEqual(["loc", "msg", "type"]);
        const whole = issues.filter(({ loc }) => loc.length === 1);
        expect(new Set(whole.map(({ loc }) => loc[0])).size).toBe(whole.length);
      }),
    );
  });

  it("The result of a body does not depend on the order of its keys", () => {
    fc.assert(
      fc.property(body, (given) => {
        const turned = Object.fromEntries(Object.entries(given).reverse());
        expect(read(text(turned))).toEqual(read(text(given)));
      }),
    );
  });

  it("No error repeats the input", () => {
    fc.assert(
      fc.property(
        body,
        fc.stringMatching(/^[a-z]{12}[ -~]{8}$/),
        fc.constantFrom(...order.keys()),
        (given, mark, key) => {
          for (const wrong of [mark, [mark], { [mark]: mark }, `2024-01-31T${mark}`, `1${mark}`]) {
            const { issues } = read(text({ ...given, [key]: wrong, [mark]: mark }));
            expect(JSON.stringify(issues ?? [])).not.toContain(mark.slice(0, 12));
          }
        },
      ),
    );
  });

  it("A partial body has the same errors as the whole one, except missing fields", () => {
    fc.assert(
      fc.property(body, (given) => {
        const { issues = [] } = read(text(given));
        const { issues: part = [] } = readPartial(text(given));
        expect(part).toEqual(issues.filter(({ type }) => type !== "missing"));
      }),
    );
  });

  it("A body that was read and written as JSON is read again to the same values", () => {
    const json = (_: string, item: unknown) => (typeof item === "bigint" ? item.toString() : item);
    fc.assert(
      fc.property(body, (given) => {
        const { raw: _, ...rest } = given;
        const first = readPartial(text(rest));
        if (first.issues) return;
        const second = readPartial(Buffer.from(JSON.stringify(first.value, json)));
        expect(second).toEqual(first);
      }),
    );
  });
});

describe("numbers as they were written", () => {
  const whole = fc.bigInt(-(10n ** 40n), 10n ** 40n).map(String);
  const read = (source: string) => readJsonBody(Buffer.from(source), true, 1);

  it("Exact numbers are found everywhere in a document, and all else is read as by JSON.parse", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt(10n ** 16n, 10n ** 20n), (given, number) => {
        const source = `[${number}, ${JSON.stringify(given, null, 1)}]`;
        // A key `__proto__` is refused.
        fc.pre(!source.includes("__proto__"));
        const body = read(source)!;
        expect(withDoubles(body.value, body.source!)).toEqual(JSON.parse(source));
      }),
    );
  });

  it("Exact numbers lose no digit", () => {
    fc.assert(
      fc.property(whole, fc.string(), (number, key) => {
        fc.pre(key !== "__proto__");
        const { value, source } = read(`{${JSON.stringify(key)}: [1, ${number}]}`)!;
        const item = (value as Record<string, unknown[]>)[key]![1];
        const found = source === null ? item : toNumberText(item, source);
        expect(found instanceof NumberText ? found.text : String(BigInt(found as number))).toBe(number);
      }),
    );
  });

  it("A malformed long number, and one in the place of a key, is refused as by JSON.parse", () => {
    const token = fc.string({
      unit: fc.constantFrom("0", "1", "9", "12345678", ".", "e", "E", "-", "+"),
      minLength: 4,
    });
    const start = fc.constantFrom("", "-", "0", "0.", "1");
    const inRun = [`[${"0,".repeat(700)}`, `${",0".repeat(200)}]`];
    const place = fc.constantFrom(
      ["[", "]"],
      ["{", ":1}"],
      ['{"a":', "}"],
      ["[1 ", "]"],
      ["", ""],
      ["[", " ,é]"],
      inRun,
      [`${inRun[0]}1 `, inRun[1]],
    );
    const long = "1234567890123456";
    fc.assert(
      fc.property(start, token, place, fc.boolean(), (first, rest, [before, after], isLong) => {
        const source = `${before}${first}${isLong ? long : ""}${rest}${after}`;
        expect([source, read(source) !== undefined]).toEqual([source, isJson(source)]);
      }),
      { numRuns: runs(5000) },
    );
  });

  it("A text that begins with the first half of a surrogate pair is no number", () => {
    const texts = ["\u{10000}", "\u{10000}1", "\u{10400}1"];
    const { value, source } = read(`["\\ud800\\udc00", "\u{10000}1", "\\ud801\\udc001", 12345678901234567]`)!;
    const found = (value as string[]).map((item) => toNumberText(item, source!));
    expect(found).toEqual([...texts, new NumberText("12345678901234567")]);
  });

  it("Half a surrogate pair is refused, wherever it stands", () => {
    const part = fc.constantFrom("\\ud83d", "\\ude00", "\\uD83D\\uDE00", "\\\\", "\\n", "\\u0041", "ud83d", "x", "😀");
    fc.assert(
      fc.property(fc.array(part), fc.boolean(), (parts, inKey) => {
        const string = `"${parts.join("")}"`;
        const body = read(inKey ? `{${string}:1}` : `[${string}]`);
        expect([string, body !== undefined]).toEqual([string, (JSON.parse(string) as string).isWellFormed()]);
      }),
      { numRuns: runs(2000) },
    );
  });

  it("Integers of 64 bits are read exactly", () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.boolean(), (number, quoted) => {
        const sent = quoted ? `"${number}"` : `${number}`;
        expect(readPartial(Buffer.from(`{"big":${sent},"counts":[${sent}]}`))).toEqual({
          value: { big: number, counts: [number] },
        });
      }),
    );
  });
});

function isJson(source: string): boolean {
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}
