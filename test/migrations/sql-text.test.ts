import { describe, expect, it } from "vitest";
import {
  holdsText,
  mentions,
  renameColumnIn,
  renameTextIn,
  renameTypeIn,
} from "../../src/migrations/files/sql-text.js";

describe("an expression", () => {
  it.each([
    ["year > 0", "year", true],
    ['"year" > 0', "year", true],
    ["YEAR > 0", "year", true],
    ["books.year > 0", "year", true],
    ['"Year" > 0', "year", false],
    ["years > 0", "year", false],
    ["title <> 'year'", "year", false],
    ["title <> E'it\\'s year'", "year", false],
    ["title <> 'it''s' || year", "year", true],
    ["title <> $$year$$", "year", false],
    ["title <> $a$ year $$ $a$", "year", false],
    ["true -- year", "year", false],
    ["true /* year */", "year", false],
    ["lower(title) = lower", "lower", true],
    ["lower (title) = ''", "lower", false],
    ["created::date > '2020-01-01'", "date", false],
    ["created > date '2020-01-01'", "date", false],
    ["cast(created AS date) > now()", "date", false],
    ["date > now()", "date", true],
    ['title COLLATE "C" > ""', "C", false],
    ["(address).city = 'x'", "city", false],
    ["CASE WHEN true THEN 1 END = 1", "end", false],
    ['"end" > 1', "end", true],
    ["position > 1", "position", true],
    ["größe > 1", "größe", true],
  ])("The expression %s is searched for the column %s: %s", (sql, column, expected) => {
    expect(mentions(sql, column)).toBe(expected);
  });

  it("A renamed column has its new name in an expression, in quotes if needed", () => {
    expect(renameColumnIn(`year > 0 AND "year" < 9 AND title <> 'year'`, "year", "printed")).toBe(
      `printed > 0 AND "printed" < 9 AND title <> 'year'`,
    );
    expect(renameColumnIn("year > 0", "year", "The Year")).toBe('"The Year" > 0');
    expect(renameColumnIn("year > 0", "year", "user")).toBe('"user" > 0');
  });

  it("A renamed type has its new name in casts", () => {
    expect(renameTypeIn(`'a'::status || status::"status"[] || x::status2`, "status", "State")).toBe(
      `'a'::"State" || status::"State"[] || x::status2`,
    );
  });

  it("A renamed text value has its new text in an expression", () => {
    expect(renameTextIn("x = 'a' OR x = 'aa' OR x = 'it''s'", "it's", "a'b")).toBe("x = 'a' OR x = 'aa' OR x = 'a''b'");
    expect(holdsText("'it''s'::status", "it's")).toBe(true);
    expect(holdsText("'it''s'::status", "it")).toBe(false);
  });

  it("A name in a nested comment is no column, and a type before a dollar-quoted literal is none", () => {
    expect(mentions("a > 0 /* x /* y */ b */", "b")).toBe(false);
    expect(mentions("day > date $$2024-02-29$$", "date")).toBe(false);
  });
});
