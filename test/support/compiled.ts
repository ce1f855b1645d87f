import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { bundleOf } from "../../scripts/chaos/compile.mjs";
import { mark } from "../../scripts/testing/leftovers.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder: string | undefined;

/**
 * Makes JavaScript of a program in TypeScript and of the sources that it uses, once for all processes of `npm test`; returns the
 * path. Such a program starts with a fifth of the CPU time that a loader of TypeScript takes, and each worker of it again. The
 * frames of its stacks name the compiled files.
 */
export function compiled(file: string): string {
  folder ??= makeFolder();
  const made = join(folder, createHash("sha1").update(file).digest("hex"));
  if (!existsSync(made)) make(file, made);
  return join(made, `${parse(file).name}.mjs`);
}

/** Another process may make the same program meanwhile: one of them is kept, whole. */
function make(file: string, place: string): void {
  const own = `${place}.${process.pid}`;
  buildSync({ ...bundleOf(file, own), tsconfig: join(root, "tsconfig.json") });
  // A program that is one file looks for the native transport beside itself.
  symlinkSync(join(root, "native"), join(own, "native"));
  unlessItExists(() => renameSync(own, place));
}

function makeFolder(): string {
  const made = process.env[mark] ? join(tmpdir(), "stoa-programs") : mkdtempSync(join(tmpdir(), "stoa-programs-"));
  mkdirSync(made, { recursive: true });
  unlessItExists(() => symlinkSync(join(root, "node_modules"), join(made, "node_modules")));
  if (!process.env[mark]) process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

function unlessItExists(body: () => void): void {
  try {
    body();
  } catch (error) {
    if (!["EEXIST", "ENOTEMPTY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
