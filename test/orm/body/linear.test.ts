import { describe, expect, it } from "vitest";
import { ParameterRangeError } from "../../../src/engines/db/errors.js";
import { field, Model } from "../../../src/entry/orm.js";
import { intervalCheck } from "../../../src/orm/body/checks/interval.js";
import { columnCheck } from "../../../src/orm/body/column-check.js";
import { Refusal } from "../../../src/orm/body/refusal.js";
import { decimal } from "../../../src/orm/fields/encode.js";
import fc, { runs } from "../../support/properties.js";

/**
 * The time for a text must grow with its length, not with the square of it. A quadratic expression takes longer
 * for these texts than a test may; a linear one takes milliseconds.
 */
const length = 100_000;

describe("long texts", () => {
  class Everything extends Model("everything", {
    id: field.auto(),
    int: field.int(),
    bigInt: field.bigInt(),
    float: field.float(),
    decimal: field.decimal({ precision: 10, scale: 2 }),
    bool: field.bool(),
    uuid: field.uuid(),
    datetime: field.datetime(),
    local: field.datetime({ timezone: false }),
    date: field.date(),
    time: field.time(),
    interval: field.interval(),
    bytes: field.bytes(),
  }) {}
  const pieces = [
    "1",
    "1.D",
    "1.1D",
    "0",
    " ",
    ".",
    "-",
    "_",
    "1_",
    ":",
    "1:",
    "=",
    "A",
    "e",
    "[",
    "1,",
    "T",
    "+",
    "Z",
  ];
  const texts = pieces.flatMap((piece) => {
    const run = piece.repeat(length / piece.length);
    return [run, `${run}x`, `P${run}`, `1${run}x`, `1.${run}x`, `x${run}x`];
  });

  const huge = ["_1", "1D", "1.D"].map((piece) => `P${piece.repeat(2_000_000 / piece.length)}`);

  for (const column of Everything.meta.columns.slice(1)) {
    it(`A text of megabytes in a body is refused for ${column.name}`, () => {
      const { check } = columnCheck(column.type);
      for (const text of huge) {
        expect(check(text, { nulls: false, overflow: false, source: null, limit: 1000 })).toBeInstanceOf(Refusal);
        // Digits, and a great number, which a type without bounds takes.
        check(`1${text.slice(1)}`, { nulls: false, overflow: false, source: null, limit: 1000 });
      }
    });

    it(`A long text in a body is refused in linear time for ${column.name}`, () => {
      const { check } = columnCheck(column.type);
      for (const text of texts) check(text, { nulls: false, overflow: false, source: null, limit: 1000 });
    }, 5_000);

    it(`A long text as a parameter is refused in linear time for ${column.name}`, () => {
      for (const text of texts) {
        try {
          column.type.encode?.(text);
        } catch {
          // Refused: only the time matters here.
        }
      }
    }, 5_000);
  }
});

describe("the linear checks and the earlier expressions", () => {
  it("The linear check of decimals accepts the same texts as the earlier expression", () => {
    const earlier = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,6})?$|^NaN$/;
    const text = fc.string({ unit: fc.constantFrom("0", "7", "12", ".", "e", "E", "+", "-", "NaN", " ", "x") });
    fc.assert(
      fc.property(text, (given) => {
        expect(accepts(() => decimal(given))).toBe(earlier.test(given));
      }),
      { numRuns: runs(5000) },
    );
  });

  it("The linear check of ISO 8601 durations accepts the same texts as the earlier expression", () => {
    const number = "-?\\d+(?:[.,]\\d*)?";
    const form = new RegExp(`^P(?:${number}[YMWD])*(?:T(?:${number}[HMS])*)?$`);
    const earlyFraction = /[.,].*\d[YMWDHMS].*\d/;
    const amount = fc.constantFrom("1", "-2", "30", "1.", "1,5", "0.25", "-1.", "");
    const part = fc.tuple(amount, fc.constantFrom("Y", "M", "W", "D", "H", "S", "T", "")).map((both) => both.join(""));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const text = `P${parts.join("")}`;
        const expected = form.test(text) && /\d/.test(text) && !earlyFraction.test(text);
        expect(
          intervalCheck(text, { nulls: false, overflow: false, source: null, limit: 1000 }) instanceof Refusal,
          text,
        ).toBe(!expected);
      }),
      { numRuns: runs(5000) },
    );
  });
});

function accepts(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch (error) {
    // The expression does not know how many digits a column has.
    return error instanceof ParameterRangeError;
  }
}
