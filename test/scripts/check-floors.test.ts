import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { importsRunningUp } from "../../scripts/check-floors.mjs";

const floors = [["ground"], ["left", "right"], ["roof"]];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-floors-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function check(files: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries({ "ground/a.ts": "", ...files })) {
    await mkdir(join(folder, dirname(name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return importsRunningUp(folder, floors).up;
}

describe("the check of floors", () => {
  it("Imports from rooms below and within a room pass the check of floors", async () => {
    const files = { "roof/a.ts": 'import "../left/a.js"; import "./b.js";', "roof/b.ts": "", "left/a.ts": "" };
    expect(await check(files)).toEqual([]);
  });

  it("The check of floors finds an import from above, also of types and on demand", async () => {
    const files = {
      "left/a.ts": 'import type { A } from "../roof/a.js";',
      "ground/a.ts": 'export const load = () => import("../roof/a.js");',
      "roof/a.ts": "",
    };
    expect(await check(files)).toEqual(["ground/a.ts -> roof/a.ts", "left/a.ts -> roof/a.ts"]);
  });

  it("The check of floors finds an import of a room beside", async () => {
    expect(await check({ "left/a.ts": 'import "../right/a.js";', "right/a.ts": "" })).toEqual([
      "left/a.ts -> right/a.ts",
    ]);
  });

  it("The check of floors finds a room that has no floor", async () => {
    expect(await check({ "shed/a.ts": "" })).toEqual([
      "shed/a.ts stands on no floor: add its room to scripts/check-floors.mjs",
    ]);
  });
});
