import { symlink } from "node:fs/promises";
import { join, parse } from "node:path";
import { build } from "esbuild";
import { root } from "../process.mjs";

/**
 * Makes one program of a file and the sources that it uses, in the folder of the run; resolves to its path. A process that is
 * killed again and again must start quickly.
 */
export async function compile(file, folder) {
  const outdir = join(folder, "programs");
  await build(bundleOf(file, outdir));
  await symlink(join(root, "node_modules"), join(folder, "node_modules")).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
  return join(outdir, `${parse(file).name}.mjs`);
}

/**
 * Options of esbuild for a program and its sources. Packages are not part of it.
 *
 * @returns {import("esbuild").BuildOptions}
 */
export function bundleOf(file, outdir) {
  return {
    entryPoints: [file],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "error",
  };
}
