import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkExpressions, expressionsIn } from "../../scripts/check-expressions.mjs";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-expressions-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function check(code: string, allowed: { file: string; expression: string; reason: string }[] = []) {
  await writeFile(join(folder, "a.ts"), code);
  return checkExpressions(folder, allowed);
}

describe("the check of regular expressions", () => {
  it("Expressions that take linear time pass the check", async () => {
    const code = "export const list = [/ab+/, /^[a-z]+(?:,[a-z]+)*$/i, /[*+{]/, new RegExp('^x{2,}$', 'u')];";
    expect(await check(code)).toEqual({ count: 4, problems: [] });
  });

  it("The check finds quadratic and exponential expressions, with the place and an example", async () => {
    const { problems } = await check("export const a = /\\s+$/;\nexport const b = /^(?:a|a)+$/;");
    expect(problems).toEqual([
      expect.stringMatching(/^a\.ts:1: \/\\s\+\$\/: 2nd degree polynomial, by /),
      expect.stringMatching(/^a\.ts:2: \/\^\(\?:a\|a\)\+\$\/: exponential, by /),
    ]);
  });

  it("The check follows the pieces of an expression to constants of its file", async () => {
    const code = `
      const blank = "\\\\s*";
      const words = ["a", "b"];
      export const spaced = new RegExp(\`\${blank}\${blank}(?:\${words.join("|")})$\`, "i");`;
    expect(expressionsIn(code)).toMatchObject([{ line: 4, source: "\\s*\\s*(?:a|b)$", flags: "i" }]);
    expect((await check(code)).problems).toEqual([expect.stringContaining("degree polynomial")]);
  });

  it("The check finds expressions that are built at run time", async () => {
    const code = "export const find = (text: string) => [new RegExp(text), RegExp('^' + text)];";
    expect((await check(code)).problems).toEqual([
      "a.ts:1: new RegExp(text) is built at run time and has no entry with a reason",
      "a.ts:1: RegExp('^' + text) is built at run time and has no entry with a reason",
    ]);
  });

  it("The check uses the parser, so that text that looks like an expression is ignored", () => {
    expect(expressionsIn("// /(a+)+$/\nexport const half = 4 / 2 / 1, text = '/(a+)+$/';")).toEqual([]);
  });

  it("The check allows expressions with an entry, and finds entries that are no longer needed", async () => {
    const entry = { file: "a.ts", expression: "/\\s+$/", reason: "short" };
    expect((await check("export const a = /\\s+$/;", [entry])).problems).toEqual([]);
    expect((await check("export const a = /\\s$/;", [entry])).problems).toEqual([
      "expression-exceptions.mjs: /\\s+$/ is not in a.ts any more",
    ]);
  });
});
