import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  crowdedFolders,
  featuresOutsideList,
  importsBeyondContract,
  importsRunningUp,
} from "../../scripts/check-floors.mjs";

const floors = [["ground"], ["left", "right"], ["ground/attic"], ["roof"]];
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

  it("A folder in a room has a floor of its own when the list names it", async () => {
    const files = { "ground/attic/a.ts": 'import "../../left/a.js";', "left/a.ts": 'import "../ground/attic/a.js";' };
    expect(await check(files)).toEqual(["left/a.ts -> ground/attic/a.ts"]);
  });

  it("The application imports features in its list of them only", async () => {
    await check({
      "app/features.ts": 'import "../batteries/cors.js";',
      "app/host.ts": 'import "../feature/host.js"; const load = () => import("../engines/db.js");',
      "batteries/cors.ts": "",
      "engines/db.ts": "",
      "feature/host.ts": "",
    });
    expect(featuresOutsideList(folder)).toEqual([
      "app/host.ts -> engines/db.ts: only app/features.ts imports features",
    ]);
    expect(featuresOutsideList(join(import.meta.dirname, "../../src"))).toEqual([]);
  });

  it("A folder with too many files of its own is named", async () => {
    await check({ "left/a.ts": "", "left/b.ts": "", "left/inner/c.ts": "" });
    expect(crowdedFolders(folder, 2)).toEqual([]);
    expect(crowdedFolders(folder, 1)).toEqual(["left has 2 files of its own: divide it, 1 are the most"]);
  });
});

describe("the check of the contract of features", () => {
  const files = {
    "entry/feature.ts":
      'export { feature } from "../feature/feature.js"; export { inner as outer } from "../kit/a.js";',
    "batteries/one/feature.ts":
      'import { feature } from "../../feature/feature.js"; import { inner } from "../../kit/a.js";',
    "batteries/two/feature.ts": 'import { stateOf } from "../one/feature.js"; import { part } from "./part.js";',
  };

  it("A feature may import what an entry exports, what another feature exports, and its own folder", async () => {
    await check(files);
    expect(importsBeyondContract(folder, {})).toEqual([]);
  });

  it("A feature that imports what no entry exports is found, unless there is a reason", async () => {
    await check({ ...files, "batteries/two/feature.ts": 'import type { Hidden } from "../../kit/hidden.js";' });
    expect(importsBeyondContract(folder, {})).toEqual([
      "batteries/two/feature.ts -> Hidden of kit/hidden.ts: export it from an entry, or give the reason here",
    ]);
    expect(importsBeyondContract(folder, { "kit/hidden.ts": "it is hidden" })).toEqual([]);
  });

  it("An exception that no feature needs is found", async () => {
    await check(files);
    expect(importsBeyondContract(folder, { "kit/old.ts": "once" })).toEqual([
      "the exception kit/old.ts is not needed any more",
    ]);
  });
});
