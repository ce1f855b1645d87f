import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { importCycles } from "../../scripts/check-cycles.mjs";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-cycles-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the check for import cycles", () => {
  it("Files that import each other in one direction pass the check for cycles", async () => {
    const files = {
      "a.ts": 'import type { B } from "./b.js";',
      "b.ts": 'import "node:fs";',
      "c.ts": 'import "./b.js";',
    };
    expect(await check(files)).toEqual({ files: 3, cycles: [] });
  });

  it.each([
    ["type imports", 'import type { B } from "./b.js";', 'import type { A } from "./a.js";'],
    ["re-exports", 'export * from "./b.js";', 'export type { A } from "./a.js";'],
    ["import types", 'export type A = import("./b.js").B;', 'import { A } from "./a.js";'],
    ["dynamic imports", 'export const b = () => import("./b.js");', 'import "./a.js";'],
  ])("The check for cycles finds a cycle of %s", async (_, a, b) => {
    expect((await check({ "a.ts": a, "b.ts": b })).cycles).toEqual([["a.ts", "b.ts", "a.ts"]]);
  });

  it("The check for cycles names every file of a longer cycle", async () => {
    const files = { "a.ts": 'import "./b.js";', "b.ts": 'import "./c.js";', "c.ts": 'import "./b.js";' };
    expect((await check(files)).cycles).toEqual([["b.ts", "c.ts", "b.ts"]]);
  });
});

async function check(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return importCycles(folder);
}
