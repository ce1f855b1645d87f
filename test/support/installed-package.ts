import { execFile } from "node:child_process";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensurePacked } from "../../scripts/pack.mjs";

export const root = join(import.meta.dirname, "../..");

/** Installs the packed package into a folder. What it and the folder's code import besides comes from this project. */
export async function installPackage(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  await unpackPackage(modules);
  const others = (await readdir(join(root, "node_modules"))).filter((name) => !/^\.|^stoa$/.test(name));
  await Promise.all(others.map((name) => symlink(join(root, "node_modules", name), join(modules, name))));
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
}

/** Unpacks the packed package alone into a folder of modules. */
export async function unpackPackage(modules: string): Promise<void> {
  const tarball = await ensurePacked();
  await mkdir(join(modules, "stoa"), { recursive: true });
  await promisify(execFile)("tar", ["-xzf", tarball, "-C", join(modules, "stoa"), "--strip-components=1"]);
}
