import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { root } from "./process.mjs";

/**
 * Builds the code of every entry of the package into few files: loading a hundred small modules takes longer than
 * all else that an application does to start. What is loaded on demand stays apart. Names of classes and functions are
 * kept, because errors and stacks show them. Returns the files written, by their place in `dist`.
 */
export async function bundle() {
  const dist = join(root, "dist");
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries(),
    outdir: dist,
    outbase: join(root, "src"),
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    keepNames: true,
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
    logLevel: "error",
  });
  return new Set(Object.keys(metafile.outputs).map((file) => relative(dist, join(root, file))));
}

/** The source of every file that package.json lets be imported or run. */
function entries() {
  const { exports, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const built = [...Object.values(exports).map((entry) => entry.default ?? entry), ...Object.values(bin)];
  return built
    .filter((file) => file.endsWith(".js"))
    .map((file) => file.replace(/^(\.\/)?dist\/(.*)\.js$/, "src/$2.ts"));
}
