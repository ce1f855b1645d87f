import { randomUUID } from "node:crypto";
import { lstat, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

/** Several processes may do this at once: each writes its own file, and the last to rename it wins. */
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

/** A folder of the user for files that can be made again; null if none can be trusted. */
async function cacheFolder(): Promise<string | null> {
  for (const folder of candidates()) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // A folder of another user could hold a database with code of that user.
      if ((await lstat(folder)).uid === (process.getuid?.() ?? 0)) return folder;
    } catch {
      // The next may be writable.
    }
  }
  return null;
}

function candidates(): readonly string[] {
  const { STOA_CACHE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (STOA_CACHE_DIR) return [STOA_CACHE_DIR];
  const temporary = join(tmpdir(), `stoa-cache-${process.getuid?.() ?? "user"}`);
  if (process.platform === "win32" && LOCALAPPDATA) return [join(LOCALAPPDATA, "stoa", "Cache"), temporary];
  if (process.platform === "darwin") return [join(homedir(), "Library", "Caches", "stoa"), temporary];
  return [join(XDG_CACHE_HOME || join(homedir(), ".cache"), "stoa"), temporary];
}
