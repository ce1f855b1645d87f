import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkTestNames, testNamesIn } from "../../scripts/check-test-names.mjs";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-names-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function problemsOf(...names: string[]): Promise<string[]> {
  await writeFile(join(folder, "a.test.ts"), names.map((name) => `it(${JSON.stringify(name)}, () => {});`).join("\n"));
  return checkTestNames(folder).problems;
}

describe("the check of test names", () => {
  it("Sentences that begin with a capital letter, code, a quote or a placeholder pass the check", async () => {
    const names = [
      "A body is read",
      "Über is a name",
      "fetchval() returns null",
      "sql.join() joins values",
      "request.json() is strict",
      "enable_cors() exists too",
      "isoText is JSON",
      "'/' is the root",
      "%s is refused",
      "$name is refused",
    ];
    expect(await problemsOf(...names)).toEqual([]);
  });

  it.each(["is read whole", "json", "body that is read", "read-write skips a server", "(a) is read", ""])(
    "The check of test names finds a name without a proper beginning: %j",
    async (name) => {
      const problem = `a.test.ts:2: "${name}" begins neither with a capital letter nor with code`;
      expect(await problemsOf("The first is fine", name)).toEqual([problem]);
    },
  );

  it("The check of test names finds names of less than three words, and full stops", async () => {
    expect(await problemsOf("Bodies stream", "A body is read.")).toEqual([
      'a.test.ts:1: "Bodies stream" is not a sentence: it has less than three words',
      'a.test.ts:2: "A body is read." ends with a full stop',
    ]);
  });

  it("The check of test names reads every form of a test, and nothing else", () => {
    const code = `
      describe("a group", () => {
        it("one", () => {});
        test.skipIf(!service)("two", () => {});
        it.each<[string]>([["row"]])(\`three\`, () => {});
        it.each\`row\`("four", () => {});
        it(\`five \${row}\`, { timeout: 1 }, () => {});
        it.concurrent.for(["row"])("six", () => {});
        it(name, () => {});
        /x/.test("text");
        test({ year: 1980 });
      });
      const text = 'it("text", () => {})';
    `;
    expect(testNamesIn(code).map(({ name }) => name)).toEqual(["one", "two", "three", "four", `five \${row}`, "six"]);
  });

  it("The check of test names looks at test files, type tests and shared tests in all folders", async () => {
    await mkdir(join(folder, "deep"));
    for (const name of ["a.test.ts", "deep/b.test-d.ts", "contract.ts", "page.html"]) {
      await writeFile(join(folder, name), 'it("is read", () => {});');
    }
    const { count, problems } = checkTestNames(folder);
    expect([count, problems.map((line) => line.split(":")[0])]).toEqual([
      3,
      ["a.test.ts", "contract.ts", "deep/b.test-d.ts"],
    ]);
  });
});
