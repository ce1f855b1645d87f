/**
 * Makes the packages with the built transport, for a release: `node native/prebuild.mjs [linux-x64-gnu ...]`. They are written
 * to native/prebuilt, and the checksums of their files to native/checksums.json, which the package contains. It needs Zig,
 * which compiles for every target: `zig`, or the program that ZIG names (`pip install ziglang` has one).
 *
 * `npm pack` and `npm publish` call it with `list` and `unlist`: the packages are optional dependencies of the package that
 * is published, and not of the repository, which is installed before they exist.
 */
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildNative, isNewer } from "./build.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** As Zig names them. The version of glibc is the one that Node.js 20 needs. */
const targets = {
  "linux-x64-gnu": "x86_64-linux-gnu.2.28",
  "linux-x64-musl": "x86_64-linux-musl",
  "linux-arm64-gnu": "aarch64-linux-gnu.2.28",
  "linux-arm64-musl": "aarch64-linux-musl",
};

async function prebuild(names) {
  for (const name of names) {
    if (!Object.hasOwn(targets, name)) throw new Error(`no target ${name}: ${Object.keys(targets).join(", ")}`);
  }
  for (const name of names) {
    const out = join(root, "native/build", `${name}.node`);
    const compiler = [process.env.ZIG || "zig", "cc", "-target", targets[name]];
    await buildNative({ out, compiler, flags: ["-Werror", "-s"], again: true });
    console.log(writePackage(root, name, out));
    rmSync(out);
  }
}

/** Writes the package of a target, and its checksum, into a folder of the main package; returns the folder of the package. */
export function writePackage(folder, target, file) {
  const { version, license } = readJson(join(root, "package.json"));
  const [os, cpu, libc] = target.split("-");
  const name = `@stoa/wire-${target}`;
  const made = join(folder, "native/prebuilt", `wire-${target}`);
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  writeJson(join(made, "package.json"), {
    name,
    version,
    description: `The native transport of Stoa, built for ${target}`,
    license,
    os: [os],
    cpu: [cpu],
    libc: [libc === "gnu" ? "glibc" : libc],
    main: "wire.node",
    files: ["wire.node"],
  });
  writeFileSync(
    join(made, "README.md"),
    `The native transport of Stoa, built for ${target}. The package stoa uses it.\n`,
  );
  copyFileSync(join(root, "LICENSE"), join(made, "LICENSE"));
  copyFileSync(file, join(made, "wire.node"));
  const sums = join(folder, "native/checksums.json");
  const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
  writeJson(sums, { ...(existsSync(sums) ? readJson(sums) : {}), [name]: sum });
  return made;
}

/** Names the packages that were made in the package.json of a folder, or none. Throws if they are not those of its sources. */
export function listPackages(folder, listed) {
  const file = join(folder, "package.json");
  const { optionalDependencies: _, ...manifest } = readJson(file);
  const sums = join(folder, "native/checksums.json");
  const names = listed && existsSync(sums) ? Object.keys(readJson(sums)) : [];
  for (const name of names) {
    const made = join(folder, "native/prebuilt", name.slice("@stoa/".length));
    const isFresh = existsSync(made) && readJson(join(made, "package.json")).version === manifest.version;
    if (!isFresh || !isNewer(join(made, "wire.node"))) throw new Error(`${name} is old: run node native/prebuild.mjs`);
  }
  const list = Object.fromEntries(names.map((name) => [name, manifest.version]));
  writeJson(file, names.length === 0 ? manifest : { ...manifest, optionalDependencies: list });
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [first, ...rest] = process.argv.slice(2);
  try {
    if (first === "list" || first === "unlist") listPackages(root, first === "list");
    else await prebuild(first === undefined ? Object.keys(targets) : [first, ...rest]);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
