import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { bundleOf } from "../../scripts/chaos/compile.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const programs = new Map<string, string>();
let folder: string | undefined;

/**
 * Makes JavaScript of a program in TypeScript and of the sources that it uses; returns the path. Such a program starts with a
 * fifth of the CPU time that a loader of TypeScript takes, and each worker of it again. The frames of its stacks name the
 * compiled files.
 */
export function compiled(file: string): string {
  const known = programs.get(file);
  if (known !== undefined) return known;
  const outdir = join(temporaryFolder(), String(programs.size));
  buildSync({ ...bundleOf(file, outdir), tsconfig: join(root, "tsconfig.json") });
  // A program that is one file looks for the native transport beside itself.
  symlinkSync(join(root, "native"), join(outdir, "native"));
  const path = join(outdir, `${parse(file).name}.mjs`);
  programs.set(file, path);
  return path;
}

function temporaryFolder(): string {
  if (folder !== undefined) return folder;
  const made = mkdtempSync(join(tmpdir(), "stoa-programs-"));
  symlinkSync(join(root, "node_modules"), join(made, "node_modules"));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  folder = made;
  return made;
}
