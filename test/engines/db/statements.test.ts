import { describe, expect, it } from "vitest";
import { firstKeyword, Statements } from "../../../src/engines/db/statements.js";

describe("the first keyword of a statement", () => {
  it.each([
    ["select 1", "select"],
    ["  \t\n((SELECT 1)", "select"],
    ["-- a comment\n;;insert into t", "insert"],
    ["/* a */ /* b /* nested */ still b */ Update t", "update"],
    ["-- only a comment", ""],
    ["/* without an end select", ""],
    ["/* /* */ select", ""],
    ["", ""],
    ["1", ""],
    ["- 1", ""],
    ["/ 1", ""],
  ])("The first keyword of %j is %j", (text, keyword) => {
    expect(firstKeyword(text)).toBe(keyword);
  });

  it.each([
    ["white space", " "],
    ["brackets", "( "],
    ["comments", "/**/ "],
    ["line comments", "--\n"],
    ["openings of comments", "/*"],
    ["dashes", "-- "],
  ])("The first keyword is searched for in one pass through many %s", (_, part) => {
    // With nested repetitions in an expression, forty of them would not end.
    expect(firstKeyword(`${part.repeat(1_000_000)}1`)).toBe("");
  });
});

describe("the statements of a database", () => {
  it("A statement that is a name of Object.prototype has no effect of its own", () => {
    expect(new Statements().get("constructor").effect).toBeNull();
  });
});
