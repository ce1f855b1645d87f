/**
 * Builds the native transport: `node native/build.mjs`, or `npx stoa build-native` where Stoa is installed. It needs Linux, a
 * C compiler (`cc`, or the one that CC names) and the headers of Node.js. Takes a second. CFLAGS adds flags.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const sources = ["wire.c", "uring.h"].map((name) => join(here, name));

/** The file that src/server/native/addon.ts looks for. */
export const target = join(here, "build", `wire-${process.platform}-${process.arch}.node`);

/** Resolves to the path of the addon; rejects with a reason. Builds nothing if the file is newer than its sources. */
export async function buildNative({
  out = target,
  flags = [],
  again = false,
  compiler = [process.env.CC || "cc"],
} = {}) {
  if (process.platform !== "linux") throw new Error(`the native transport needs Linux; this is ${process.platform}`);
  if (!again && existsSync(out) && isNewer(out)) return out;
  const headers = findHeaders();
  if (headers === undefined) {
    throw new Error("the headers of Node.js (node_api.h, uv.h) were not found; npx node-gyp install downloads them");
  }
  mkdirSync(dirname(out), { recursive: true });
  // Renamed when it is whole: another process may build or load it at the same time.
  const unfinished = `${out}.${process.pid}`;
  const given = process.env.CFLAGS?.split(" ").filter(Boolean) ?? [];
  const usual = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-fvisibility=hidden", "-fstack-protector-strong"];
  const [program, ...before] = compiler;
  const all = [...before, ...usual, ...given, ...flags, "-shared", "-fPIC", `-I${headers}`];
  try {
    await compile(program, [...all, sources[0], "-o", unfinished]);
    renameSync(unfinished, out);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return out;
}

/** True for an addon that is newer than its sources. */
export function isNewer(addon) {
  return sources.every((source) => statSync(addon).mtimeMs > statSync(source).mtimeMs);
}

function compile(compiler, args) {
  return new Promise((resolve, reject) => {
    execFile(compiler, args, { timeout: 600_000 }, (error, _, output) => {
      if (error === null) resolve();
      else if (error.code === "ENOENT") reject(new Error(`no C compiler: ${compiler} was not found`));
      else reject(new Error(`${compiler} failed: ${output.trim() || error.message}`));
    });
  });
}

/** Beside the program, as Node.js is distributed, or where node-gyp keeps them. */
function findHeaders() {
  const version = process.versions.node;
  const folders = [
    join(dirname(process.execPath), "../include/node"),
    "/usr/include/node",
    "/usr/local/include/node",
    join(homedir(), ".cache/node-gyp", version, "include/node"),
  ];
  return folders.find((folder) => existsSync(join(folder, "node_api.h")) && existsSync(join(folder, "uv.h")));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await buildNative({ again: true }));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
