import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeLlms } from "./llms.mjs";
import { root, runNpm } from "./process.mjs";
import { ensureBuilt } from "./setup.mjs";

const folder = join(root, "node_modules/.cache/stoa-package");

/** The package as users install it: builds and packs what is newer than the last tarball, and returns the path of it. */
export async function ensurePacked() {
  await ensureBuilt();
  const tarball = join(folder, `${newest()}.tgz`);
  if (existsSync(tarball)) return tarball;
  // Test files run side by side: each packs into its own folder, and the last one puts its tarball into place.
  const own = join(folder, String(process.pid));
  mkdirSync(own, { recursive: true });
  writeLlms();
  const args = ["pack", root, "--ignore-scripts", "--silent", "--pack-destination", own];
  const { code, output } = await runNpm(args);
  if (code !== 0) throw new Error(`the package could not be packed\n${output}`);
  for (const name of readdirSync(folder)) if (name.endsWith(".tgz")) rmSync(join(folder, name));
  renameSync(join(own, readdirSync(own)[0]), tarball);
  rmSync(own, { recursive: true });
  return tarball;
}

/** The time of the last change to a file that the package may contain. */
function newest() {
  const names = ["package.json", "README.md", "CHANGELOG.md", "dist/entry/index.js", "docs", "templates"];
  const inside = ["docs", "templates"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
  );
  const files = [...names, ...inside];
  return Math.max(...files.map((name) => Math.floor(statSync(join(root, name)).mtimeMs)));
}
