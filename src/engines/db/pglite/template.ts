import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { cacheFolder } from "./cache-folder.js";
import type { PgliteModule } from "./pglite-module.js";

/**
 * The files of a freshly initialised database. Making them takes several seconds and much memory, so they are made once
 * per version of PGlite and user, and kept.
 */
export async function freshDatabase(module: PgliteModule): Promise<Blob> {
  const path = await keptPath();
  const kept = path === null ? null : await readFile(path).catch(() => null);
  if (kept !== null && isComplete(kept)) return new Blob([kept]);
  making ??= initialise(module).finally(() => (making = null));
  const made = await making;
  if (path !== null) await keep(path, made);
  return new Blob([made]);
}

/** The template that is being made; several calls in this process wait for the same one. */
let making: Promise<Buffer> | null = null;

/** Removes the kept template, because it did not work. */
export async function forgetFreshDatabase(): Promise<void> {
  const path = await keptPath();
  if (path !== null) await rm(path, { force: true });
}

async function keptPath(): Promise<string | null> {
  const folder = await cacheFolder();
  return folder === null ? null : join(folder, `pglite-${await version()}.tar`);
}

async function initialise({ PGlite }: PgliteModule): Promise<Buffer> {
  const pglite = await PGlite.create({});
  try {
    return Buffer.from(await (await pglite.dumpDataDir("none")).arrayBuffer());
  } finally {
    await pglite.close();
  }
}

/** Several processes may do this at once: each writes a file of its own, and the last to rename it wins. */
async function keep(path: string, content: Buffer): Promise<void> {
  const own = `${path}.${process.pid}.${randomUUID()}`;
  try {
    await writeFile(own, content, { mode: 0o600 });
    await rename(own, path);
  } catch {
    // It only makes the next start slower.
    await rm(own, { force: true }).catch(() => {});
  }
}

/** A tar archive ends with two blocks of zeros. */
function isComplete(tar: Buffer): boolean {
  return tar.length > 1024 && tar.length % 512 === 0 && tar.subarray(-1024).every((byte) => byte === 0);
}

async function version(): Promise<string> {
  // Its package.json is not among its exports; this is the file beside the program that is.
  const program = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const text = await readFile(join(dirname(program), "..", "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
