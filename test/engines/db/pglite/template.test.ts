import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PgliteModule } from "../../../../src/engines/db/pglite/pglite-module.js";
import { forgetFreshDatabase, freshDatabase } from "../../../../src/engines/db/pglite/template.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-template-"));
  vi.stubEnv("STOA_CACHE_DIR", folder);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** An archive of one block, with the two blocks of zeros at its end. */
const archive = Buffer.concat([Buffer.alloc(512, "x"), Buffer.alloc(1024)]);

/** PGlite, as far as a template needs it. */
function counting(): { module: PgliteModule; made: () => number } {
  let made = 0;
  const PGlite = {
    async create() {
      made++;
      return { dumpDataDir: async () => new Blob([archive]), close: async () => {} };
    },
  };
  return { module: { PGlite } as unknown as PgliteModule, made: () => made };
}

it("A fresh database is made once and kept for the next start", async () => {
  const { module, made } = counting();
  for (let start = 0; start < 2; start++) {
    expect(Buffer.from(await (await freshDatabase(module)).arrayBuffer())).toEqual(archive);
  }
  expect(made()).toBe(1);
  await forgetFreshDatabase();
  expect(await readdir(folder)).toEqual([]);
});

it.each([
  ["cut off", archive.subarray(0, 700)],
  ["without its end", Buffer.concat([archive.subarray(0, 1024), Buffer.alloc(512, "x")])],
  ["empty", Buffer.alloc(1024)],
])("A kept database that is %s is made again", async (_, broken) => {
  const { module, made } = counting();
  await freshDatabase(module);
  const [name] = await readdir(folder);
  await writeFile(join(folder, name!), broken);
  expect(Buffer.from(await (await freshDatabase(module)).arrayBuffer())).toEqual(archive);
  expect(made()).toBe(2);
});
