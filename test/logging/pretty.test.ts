import { describe, expect, it } from "vitest";
import { plainFields } from "../../src/logging/plain.js";
import { colourPaint, paintFor, plainPaint, prettyLine } from "../../src/logging/pretty.js";
import { hostileText, unsafeCharacter } from "./hostile.js";

const time = Date.UTC(2026, 0, 31, 12, 30, 5, 7);
const head = "2026-01-31T12:30:05.007Z";

describe("prettyLine", () => {
  it("A pretty line shows time, level, message and fields", () => {
    const fields = plainFields({ n: 1, s: "x", spaced: "a b", list: [1, "a"] });
    expect(prettyLine(time, "info", "ready", fields, plainPaint)).toBe(
      `${head} INFO  ready n=1 s=x spaced="a b" list=[1,"a"]\n`,
    );
  });

  it("A pretty line stays one line and contains no escape sequence of a value", () => {
    const fields = plainFields({ [hostileText]: hostileText, list: [hostileText] });
    const line = prettyLine(time, "info", hostileText, fields, plainPaint);
    expect(line.slice(0, -1)).not.toMatch(unsafeCharacter);
    expect(line).toContain('a\\n{"level":"error","msg":"forged"}\\r\\n\\x1b[31mred');
  });

  it("The frames of an error and its causes are indented below, without lines of a message among them", () => {
    const cause = new RangeError("inner");
    const error = new TypeError(`outer\n${head} INFO  forged\n    at forged (x.js:1:1)`, { cause });
    const lines = prettyLine(time, "error", "failed", plainFields({ error }), plainPaint).trimEnd().split("\n");
    expect(lines[0]).toContain(`error=TypeError: outer\\n${head} INFO  forged\\n`);
    expect(lines.slice(1).every((line) => /^( {4}at | {2}caused by )/.test(line))).toBe(true);
    expect(lines).toContain("  caused by RangeError: inner");
    expect(lines.slice(1).join("\n")).toContain("pretty.test.ts");
    expect(lines.slice(1).join("\n")).not.toContain("forged");
  });

  it("Only the text of the logger itself is coloured", () => {
    const line = prettyLine(time, "error", "m", null, colourPaint);
    expect(line).toBe(`\x1b[2m${head}\x1b[0m \x1b[31mERROR\x1b[0m m\n`);
  });
});

describe("paintFor", () => {
  it("No colours are used without a terminal", () => {
    expect(paintFor(undefined, {})).toBe(plainPaint);
    expect(paintFor(10_000, {})).toBe(plainPaint);
  });

  it("FORCE_COLOR enables colours, and NO_COLOR disables them", () => {
    expect(paintFor(undefined, { FORCE_COLOR: "1" })).toBe(colourPaint);
    expect(paintFor(undefined, { FORCE_COLOR: "0" })).toBe(plainPaint);
    expect(paintFor(undefined, { FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(plainPaint);
    expect(paintFor(undefined, { FORCE_COLOR: "1", NO_COLOR: "" })).toBe(colourPaint);
  });
});
