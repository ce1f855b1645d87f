import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { assetFolder, assetsAreCopied, copyAssets, playgroundFolder } from "./copy-assets.mjs";
import { bin, root, runNode, runNpm } from "./process.mjs";

/** Installs the packages of a folder when they are missing or are not those of its lock file. */
export async function ensureInstalled(folder = root, log = console.error) {
  if (isInstalled(folder)) return;
  log("installing packages ...");
  // The tools are development dependencies: needed even where NODE_ENV or the npm configuration leaves them out.
  // Not `npm ci`: it refuses a lock file without the optional binaries of every platform, and npm writes such a lock file
  // where the registry did not have them all. This installs what is locked and changes no file.
  const args = ["install", "--no-save", "--include=dev", "--no-fund", "--no-audit"];
  const { code } = await runNpm(args, { cwd: folder, inherit: true });
  if (code !== 0) throw new Error(`the packages could not be installed in ${folder}`);
}

/** Compares the lock file with the one npm leaves in node_modules: right after `npm ci` and after `npm install`. */
export function isInstalled(folder) {
  const wanted = readLock(join(folder, "package-lock.json"));
  const present = readLock(join(folder, "node_modules", ".package-lock.json"));
  if (!wanted || !present) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    const found = present[path];
    if (!found) return path === "" || entry.optional === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/** Builds when a source is newer than what was built. */
export async function ensureBuilt(log = console.error) {
  if (isBuilt()) return;
  log("building ...");
  await build();
}

/** Types by the compiler, code by the bundler, and the files that pages need. */
export async function build() {
  const { code, output } = await runNode(bin.tsc, ["-p", "tsconfig.build.json", "--noEmitOnError"]);
  if (code !== 0) throw new Error(`the build failed\n${output}`);
  const { bundle } = await import("./bundle.mjs");
  const written = await bundle();
  removeOrphans(written);
  await copyAssets();
}

function isBuilt() {
  const built = join(root, "dist", "index.js");
  if (!existsSync(built) || !assetsAreCopied()) return false;
  const time = statSync(built).mtimeMs;
  // A folder's own time changes when a file in it is deleted or renamed.
  const inputs = ["src", ...readdirSync(join(root, "src"), { recursive: true }).map((name) => join("src", name))];
  return [...inputs, "tsconfig.json", "tsconfig.build.json"].every((name) => statSync(join(root, name)).mtimeMs < time);
}

/** Removes code of an earlier build, and types of a source that is gone: `written` is the code of this one. */
function removeOrphans(written) {
  const dist = join(root, "dist");
  for (const name of readdirSync(dist, { recursive: true })) {
    if (name.startsWith(assetFolder + sep) || name.startsWith(playgroundFolder + sep)) continue;
    const isCode = /\.js(\.map)?$/.test(name);
    const source = name.replace(/\.d\.ts(\.map)?$/, ".ts");
    const isOrphan = isCode ? !written.has(name) : source !== name && !existsSync(join(root, "src", source));
    if (isOrphan) rmSync(join(dist, name));
  }
}

function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}
