/**
 * The sources as JavaScript, for tests. Node loads them by itself in a fifth of the CPU time that the module runner of vite
 * takes, and each test file with its own process loads them again.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { root } from "../process.mjs";

const sources = join(root, "src");

/** Beside the sources, so that packages and package.json are found as they are from there. */
export const mirror = join(root, "dist-mirror");

/** The files that say how sources are compiled. */
const settings = [import.meta.filename, join(root, "tsconfig.json"), join(root, "node_modules/esbuild/package.json")];

/** Compiles the sources that were changed since the last time. */
export async function mirrorSources() {
  const wanted = filesIn(sources);
  const names = new Set([...wanted.keys()].map(mirroredName));
  const present = filesIn(mirror);
  for (const name of present.keys()) if (!names.has(name)) rmSync(join(mirror, name), { force: true });
  const since = Math.max(...settings.map((file) => statSync(file).mtimeMs));
  // A compiled file has the time of its source.
  const stale = [...wanted].filter(([name, { modified }]) => {
    const found = present.get(mirroredName(name));
    return found?.modified !== modified || found.changed < since;
  });
  if (stale.length === 0) return;
  // Test files load this module too, and need no compiler.
  const { build, stop } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: stale.map(([name]) => join(sources, name)),
    outdir: mirror,
    outbase: sources,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: "inline",
    sourcesContent: false,
    loader: { ".js": "copy" },
    tsconfig: join(root, "tsconfig.json"),
    logLevel: "silent",
    write: false,
  });
  await stop();
  const times = new Map(stale.map(([name, { modified }]) => [join(mirror, mirroredName(name)), modified]));
  for (const { path, contents } of outputFiles) put(path, contents, times.get(path));
}

/** The compiled file of a source, which may be named as its import does; undefined for any other path. */
export function mirrored(path) {
  if (!path.startsWith(sources + sep)) return undefined;
  const found = join(mirror, mirroredName(relative(sources, path)));
  return existsSync(found) ? found : undefined;
}

function mirroredName(name) {
  return name.replace(/\.ts$/, ".js");
}

/** Runs may be side by side: a file appears whole and with its time. */
function put(path, contents, modified) {
  const temporary = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(temporary, contents);
  utimesSync(temporary, modified / 1000, modified / 1000);
  renameSync(temporary, path);
}

/** The files below a folder with their times in whole milliseconds. */
function filesIn(folder) {
  const files = new Map();
  if (!existsSync(folder)) return files;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    if (!stat?.isFile()) continue;
    files.set(name, { modified: Math.round(stat.mtimeMs), changed: stat.ctimeMs });
  }
  return files;
}
