import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { ValueError } from "../../kit/value-error.js";
import { isTypeScript } from "../../migrations/files/import-module.js";
import { type LoadedMigration, loadMigrations } from "../../migrations/files/load.js";

/** The migrations of a folder; none when the folder is not there yet. */
export async function existingMigrations(folder: string): Promise<LoadedMigration[]> {
  const there = await readdir(folder).then(
    () => true,
    () => false,
  );
  return there ? loadMigrations(folder) : [];
}

/** `0003_add_year`: the number after the highest there is, and what the migration is about. */
export function nextName(existing: readonly { readonly name: string }[], subject: string): string {
  const slug = subject
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "");
  if (slug === "")
    throw new ValueError(`${JSON.stringify(subject)} is no name for a migration: use letters and digits`);
  const highest = Math.max(0, ...existing.map(({ name }) => Number.parseInt(name, 10) || 0));
  return `${String(highest + 1).padStart(4, "0")}_${slug}`;
}

/** The extension of new files: that of the last migration, or else that of the modules of the models. */
export async function fileExtension(
  existing: readonly LoadedMigration[],
  folder: string,
  modules: readonly string[],
): Promise<string> {
  const last = existing.at(-1);
  if (last !== undefined) return extname(last.file);
  if (modules.some(isTypeScript)) return ".ts";
  return (await isModulePackage(folder)) ? ".js" : ".mjs";
}

/** Writes a new file; an existing one is never overwritten. */
export async function writeNew(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new ValueError(`${file} exists already: choose another name`);
  }
}

/** True if the nearest package.json declares `.js` files as modules. */
async function isModulePackage(folder: string): Promise<boolean> {
  for (let each = folder; ; each = dirname(each)) {
    const manifest = await readFile(join(each, "package.json"), "utf8").catch(() => null);
    if (manifest !== null) return (JSON.parse(manifest) as { type?: unknown }).type === "module";
    if (dirname(each) === each) return false;
  }
}
