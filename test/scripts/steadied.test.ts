import { describe, expect, it } from "vitest";
import { steadied } from "../../scripts/steadied.mjs";

const file = (name: string, ...tests: string[]) => ({
  name,
  status: tests.includes("failed") ? "failed" : "passed",
  assertionResults: tests.map((status, i) => ({ fullName: `${name} ${i}`, status })),
});
const run = (code: number, ...testResults: ReturnType<typeof file>[]) => ({ code, results: { testResults } });

async function check(first: ReturnType<typeof run>, second: ReturnType<typeof run> | null) {
  const lines: string[] = [];
  const asked: string[][] = [];
  const again = (files: string[]): Promise<ReturnType<typeof run>> => {
    asked.push(files);
    if (second === null) throw new Error("must not run again");
    return Promise.resolve(second);
  };
  const { results, outside } = await steadied(first, again, (line: string) => void lines.push(line));
  const statuses = results.testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status));
  return { statuses, outside, asked, unsteady: lines.filter((line) => line.startsWith("UNSTEADY")) };
}

describe("test files that failed", () => {
  it("Failed test files run once more, and count as passed if they pass then; the log names their tests", async () => {
    const first = run(1, file("a", "passed"), file("b", "passed", "failed"));
    expect(await check(first, run(0, file("b", "passed", "passed")))).toEqual({
      statuses: ["passed", "passed", "passed"],
      outside: false,
      asked: [["b"]],
      unsteady: ["UNSTEADY  b: b 1"],
    });
  });

  it("Test files that fail again count as failed", async () => {
    const { statuses, unsteady } = await check(run(1, file("b", "failed")), run(1, file("b", "failed")));
    expect(statuses).toEqual(["failed"]);
    expect(unsteady).toEqual([]);
  });

  it("Test files that the second run does not report count as failed", async () => {
    expect((await check(run(1, file("b", "failed")), run(1))).statuses).toEqual(["failed"]);
  });

  it("Many failed test files do not run again", async () => {
    const many = Array.from({ length: 6 }, (_, i) => file(`f${i}`, "failed"));
    expect((await check(run(1, ...many), null)).statuses).toEqual(many.map(() => "failed"));
  });

  it("Failed test files do not run again if an error happened outside of tests", async () => {
    expect(await check(run(1, file("a", "passed")), null)).toMatchObject({ outside: true, asked: [] });
  });
});
