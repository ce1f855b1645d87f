import { describe, expect, it } from "vitest";
import { Answerer } from "../../src/cli/migrate/answers.js";
import type { Terminal } from "../../src/cli/terminal.js";
import type { Question, QuestionSubject } from "../../src/migrations/autodetector.js";

const column = (from: string, to: string, table = "books"): Question =>
  asked({ kind: "renameColumn", table, from, to });
const fill = asked({ kind: "fill", table: "books", column: "year", type: "integer", reason: "added" });
const gone = asked({ kind: "replaceEnumValue", enum: "status", value: "old", values: ["new", "other"] });

function asked(subject: QuestionSubject): Question {
  return { ...subject, key: JSON.stringify(subject), text: "Well?" } as Question;
}

/** Somebody who types these lines. */
function typing(...lines: string[]): Terminal & { readonly shown: string[] } {
  const shown: string[] = [];
  return {
    shown,
    interactive: true,
    print: (text) => shown.push(text),
    note: (text) => shown.push(text),
    async ask(question, read) {
      for (;;) {
        shown.push(question);
        try {
          return read(lines.shift()!);
        } catch (error) {
          shown.push((error as Error).message);
        }
      }
    },
  };
}

const nobody: Terminal = { ...typing(), interactive: false };

describe("answers by options", () => {
  it("The option --rename answers what was renamed, and so what was not", async () => {
    const answerer = new Answerer({ rename: ["books.name=title", "authors=writers"] }, nobody);
    expect(await answerer.answer(column("name", "title"))).toBe(true);
    expect(await answerer.answer(column("name", "label"))).toBe(false);
    expect(await answerer.answer(column("subtitle", "title"))).toBe(false);
    expect(await answerer.answer(asked({ kind: "renameTable", from: "authors", to: "writers" }))).toBe(true);
    expect(() => answerer.refuseUnused()).not.toThrow();
  });

  it("The options --drop, --fill and --replace answer their questions, and --yes confirms renames", async () => {
    const options = { drop: ["books.name"], fill: ["books.year=coalesce(x = y, '')"], replace: ["status.old=new"] };
    const answerer = new Answerer(options, nobody);
    expect(await answerer.answer(column("name", "title"))).toBe(false);
    expect(await answerer.answer(fill)).toBe("coalesce(x = y, '')");
    expect(await answerer.answer(gone)).toBe("new");
    expect(await new Answerer({ yes: true }, nobody).answer(column("name", "title"))).toBe(true);
  });

  it("A question without a terminal fails with the options that would answer it", async () => {
    const answerer = new Answerer({}, nobody);
    await expect(answerer.answer(column("name", "title"))).rejects.toThrow(
      "Well? Nobody is here to ask: answer with --rename books.name=title or --drop books.name",
    );
    await expect(answerer.answer(fill)).rejects.toThrow(
      '--fill "books.year=SQL", or "books.year=" when the table is empty',
    );
    await expect(answerer.answer(gone)).rejects.toThrow("--replace status.old=new");
    await expect(new Answerer({ input: false }, typing("y")).answer(column("name", "title"))).rejects.toThrow();
    await expect(new Answerer({ yes: true }, nobody).answer(fill)).rejects.toThrow("Nobody is here to ask");
  });

  it("Malformed options, and options that answer no question, are refused", () => {
    expect(() => new Answerer({ rename: ["books.name"] }, nobody)).toThrow(
      '--rename must be two names or values with = between, not "books.name"',
    );
    expect(() => new Answerer({ fill: ["books.yaer=0"] }, nobody).refuseUnused()).toThrow(
      "--fill books.yaer answers no question: nothing like it changed",
    );
  });
});

describe("answers at the terminal", () => {
  it("Questions at the terminal are repeated until the answer is valid", async () => {
    const terminal = typing("maybe", "Y", "", "bad", "other", "no");
    const answerer = new Answerer({}, terminal);
    expect(await answerer.answer(column("name", "title"))).toBe(true);
    expect(await answerer.answer(fill)).toBe("");
    expect(await answerer.answer(gone)).toBe("other");
    expect(await answerer.answer(column("name", "label"))).toBe(false);
    expect(terminal.shown).toContain("answer y or n");
    expect(terminal.shown).toContain('"bad" is none of new, other');
  });
});
