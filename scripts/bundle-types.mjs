import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { packageEntries } from "./bundle.mjs";
import { bin, root, runNode } from "./process.mjs";

/** The file with all types. Those of the entries pass on names of it. */
const shared = "types.d.ts";

/**
 * Writes the types of every entry of the package. The compiler makes a file of each module, and the bundler one of them
 * all: a compiler that reads the package opens a dozen files instead of a thousand. Comments are kept: editors show them.
 * Types are checked by `npm test`, for sources and tests together: here that would take three times as long.
 * Returns the files written, by their place in `dist`.
 */
export async function bundleTypes() {
  // Not in node_modules, whose files the bundler leaves alone.
  const folder = join(root, "dist-types");
  const { code, output } = await runNode(bin.tsc, ["-p", "tsconfig.build.json"]);
  if (code !== 0) throw new Error(`the build failed\n${output}`);
  const entries = Object.keys(packageEntries()).filter((name) => !name.startsWith("cli/"));
  const files = await bundled(folder, entries);
  for (const { fileName, code } of files) {
    mkdirSync(dirname(join(root, "dist", fileName)), { recursive: true });
    writeFileSync(join(root, "dist", fileName), fileName === shared ? withoutAugmentations(code) : code);
  }
  return new Set(files.map(({ fileName }) => fileName));
}

async function bundled(folder, entries) {
  const input = Object.fromEntries(entries.map((name) => [name, join(folder, `${name}.d.ts`)]));
  const isEntry = new Set(Object.values(input));
  const build = await rollup({
    input,
    external: /^[^./]/,
    plugins: [dts()],
    // It tells that modules are augmented that are in the same file: see below.
    onLog: (level, log, handler) => log.message.includes("keeping the original specifier") || handler(level, log),
  });
  const { output } = await build.generate({
    entryFileNames: "[name].d.ts",
    chunkFileNames: shared,
    manualChunks: (id) => (isEntry.has(id) ? undefined : "types"),
    minifyInternalExports: false,
  });
  await build.close();
  return output;
}

/**
 * `declare module "../http/request.js" { interface RequestMembers { ... } }` adds to an interface of another module. In one
 * file it is the same interface, and its members merge without the module around them.
 */
function withoutAugmentations(code) {
  return code.replace(/^declare module "\.[^"]*" \{\n((?: .*\n|\n)*)\}\n/gm, (_, body) => body.replace(/^ {4}/gm, ""));
}
