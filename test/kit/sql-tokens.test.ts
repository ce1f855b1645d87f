import { describe, expect, it } from "vitest";
import { sqlTokens } from "../../src/kit/sql-tokens.js";
import fc from "../support/properties.js";

function read(text: string): string[] {
  return [...sqlTokens(text)].filter(({ kind }) => kind !== "space").map(({ kind, text }) => `${kind} ${text}`);
}

describe("tokens of SQL", () => {
  it.each<[string, string[]]>([
    ["select $1::int", ["word select", "parameter $1", "mark ::", "word int"]],
    ["'it''s' x", ["string 'it''s'", "word x"]],
    ["'a\\' x", ["string 'a\\'", "word x"]],
    [String.raw`E'it\'s' e'''' x`, [String.raw`string E'it\'s'`, "string e''''", "word x"]],
    ["like'%' x", ["word like", "string '%'", "word x"]],
    ["U&'d\\0061' B'01' x'1F' n'a'", ["string U&'d\\0061'", "string B'01'", "string x'1F'", "string n'a'"]],
    ['"a""b" "c d"', ['name "a""b"', 'name "c d"']],
    ["$$ it's $1 $$ x", ["string $$ it's $1 $$", "word x"]],
    ["$a$ $b$ $$ $b$ $a$ x", ["string $a$ $b$ $$ $b$ $a$", "word x"]],
    ["$é$ ' $é$ x", ["string $é$ ' $é$", "word x"]],
    ["a$b$c $1", ["word a$b$c", "parameter $1"]],
    ["$1$2", ["parameter $1", "parameter $2"]],
    ["/* a /* b */ c */ x", ["comment /* a /* b */ c */", "word x"]],
    ["/* ' */ x", ["comment /* ' */", "word x"]],
    ["-- it's /*\nx", ["comment -- it's /*", "word x"]],
    ["-- a\rx", ["comment -- a", "word x"]],
    ["'--' \"/*\" x", ["string '--'", 'name "/*"', "word x"]],
    ["1.5e3 .5 0xff 1_000", ["number 1.5e3", "number .5", "number 0xff", "number 1_000"]],
    ["größe\u00a0b", ["word größe\u00a0b"]],
    ["a.b->>'c'", ["word a", "mark .", "word b", "mark -", "mark >", "mark >", "string 'c'"]],
    ["$ x $", ["mark $", "word x", "mark $"]],
  ])("%j is read as PostgreSQL reads it", (text, tokens) => {
    expect(read(text)).toEqual(tokens);
  });

  it.each(["'a", "E'a\\", "E'a\\'", '"a', "$$a", "$a$ $$", "/* /* */", "--", "'a''", '"a""'])(
    "%j without an end reaches to the end of the text",
    (text) => expect(read(text)).toEqual([expect.stringMatching(/^(string|name|comment) /)]),
  );

  it("The tokens of any text are the text", () => {
    const pieces = [
      "'",
      "''",
      '"',
      "$",
      "$a$",
      "$1",
      "/*",
      "*/",
      "--",
      "\n",
      "\\",
      "E'",
      "::",
      " ",
      "x",
      "1",
      "é",
      "\0",
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 30 }), (parts) => {
        const text = parts.join("");
        let at = 0;
        for (const token of sqlTokens(text)) {
          expect(token.end).toBe(at + token.text.length);
          expect(token.text.length).toBeGreaterThan(0);
          at = token.end;
        }
        expect(at).toBe(text.length);
      }),
    );
  });

  it.each(["'", "''", "E'\\'", '"', "/*", "*/", "$", "$$", "$a", "--", "(", "1.", "\\", "e", "::"])(
    "A million characters of %j are read without a long search and without an overflow",
    (piece) => {
      const text = piece.repeat(1_000_000 / piece.length);
      let length = 0;
      for (const token of sqlTokens(text)) length += token.text.length;
      expect(length).toBe(text.length);
    },
  );
});
