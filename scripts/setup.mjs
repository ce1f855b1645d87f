import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { buildNative } from "../native/build.mjs";
import { assetFolder, assetsAreCopied, consoleFolder, copyAssets, playgroundFolder } from "./copy-assets.mjs";
import { root, runNpm } from "./process.mjs";

const completeLock = "npm-shrinkwrap.json";

/** Installs the packages of a folder when they are missing or are not those of its lock file. */
export async function ensureInstalled(folder = root, log = console.error) {
  // An installation that was killed leaves it.
  rmSync(join(folder, completeLock), { force: true });
  if (isInstalled(folder)) return;
  log("installing packages ...");
  // The tools are development dependencies: needed even where NODE_ENV or the npm configuration leaves them out.
  // Not `npm ci`: it refuses a lock file without the optional binaries of every platform, and npm writes such a lock file
  // where the registry did not have them all. This installs what is locked and changes no file.
  const install = () =>
    runNpm(["install", "--no-save", "--include=dev", "--no-fund", "--no-audit"], { cwd: folder, inherit: true });
  if ((await withPlaces(folder, install)).code === 0 || (await install()).code === 0) return;
  throw new Error(`the packages could not be installed in ${folder}`);
}

/**
 * Runs npm with a lock file that has the place of each archive. The one of the project names no registry, and without places
 * npm reads the list of all versions of every package first, which takes more than half of the time. npm prefers this file to
 * package-lock.json.
 */
async function withPlaces(folder, body) {
  const path = join(folder, completeLock);
  const { output } = await runNpm(["config", "get", "registry"], { cwd: folder });
  const registry = /^https?:\S+$/m.exec(output)?.[0].replace(/\/?$/, "/");
  if (registry === undefined) return body();
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
  for (const [place, entry] of Object.entries(lock.packages)) {
    if (!entry.integrity || entry.resolved) continue;
    const name = entry.name ?? place.split("node_modules/").pop();
    entry.resolved = `${registry}${name}/-/${name.split("/").pop()}-${entry.version}.tgz`;
  }
  try {
    writeFileSync(path, JSON.stringify(lock));
    return await body();
  } finally {
    rmSync(path, { force: true });
  }
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

/**
 * Builds when a source is newer than what was built. A program needs no types, and they take three quarters of the time of a
 * build: `types: false` leaves them out.
 */
export async function ensureBuilt({ types = true, log = console.error } = {}) {
  await ensureNative();
  if (isBuilt(types)) return;
  log("building ...");
  await build({ types });
}

/** Code by the bundler, types by the compiler, and the files that pages need. */
export async function build({ types = true } = {}) {
  const { bundle } = await import("./bundle.mjs");
  const { bundleTypes } = await import("./bundle-types.mjs");
  await ensureNative();
  removeOrphans([...(await bundle()), ...(types ? await bundleTypes() : [])]);
  await copyAssets();
}

/** The native transport, where there is a compiler. Without one, the server runs on node:net. */
async function ensureNative() {
  await buildNative().catch(() => {});
}

function isBuilt(types) {
  const built = join(root, "dist/entry", types ? "index.d.ts" : "index.js");
  if (!existsSync(built) || !assetsAreCopied()) return false;
  const time = statSync(built).mtimeMs;
  // A folder's own time changes when a file in it is deleted or renamed.
  const inputs = ["src", ...readdirSync(join(root, "src"), { recursive: true }).map((name) => join("src", name))];
  return [...inputs, "tsconfig.json", "tsconfig.build.json"].every((name) => statSync(join(root, name)).mtimeMs < time);
}

/** Removes the files of earlier builds. */
function removeOrphans(written) {
  const dist = join(root, "dist");
  const kept = new Set(written.map((name) => join(name)));
  for (const name of readdirSync(dist, { recursive: true })) {
    if ([assetFolder, playgroundFolder, consoleFolder].some((folder) => name.startsWith(folder + sep))) continue;
    if (!kept.has(name) && statSync(join(dist, name)).isFile()) rmSync(join(dist, name));
  }
}

function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}
