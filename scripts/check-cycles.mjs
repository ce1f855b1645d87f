/**
 * Finds import cycles, type imports, `import("./x.js").Type` and `await import("./x.js")` counted.
 *
 *     node scripts/check-cycles.mjs [folder]
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? fileURLToPath(new URL("../src", import.meta.url)));
  const { files, cycles } = importCycles(folder);
  for (const cycle of cycles) console.log(cycle.join(" -> "));
  console.log(`${cycles.length} import ${cycles.length === 1 ? "cycle" : "cycles"} in ${files} files`);
  process.exitCode = cycles.length > 0 ? 1 : 0;
}

/** Each cycle as the paths of its files below the folder, the first one again at the end. */
export function importCycles(folder) {
  const imports = importGraph(folder);
  const cycles = findCycles(imports).map((cycle) => cycle.map((file) => relative(folder, file)));
  return { files: imports.size, cycles };
}

/** For each file below the folder the files that it imports, as absolute paths. */
export function importGraph(folder) {
  const imports = new Map();
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (name.endsWith(".ts")) imports.set(join(folder, name), importsOf(join(folder, name)));
  }
  return imports;
}

function importsOf(file) {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, "utf8"), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => resolve(dirname(file), fileName.replace(/\.js$/, ".ts")))
    .filter((path) => existsSync(path));
}

/** Depth first; an import of a file that is still being visited closes a cycle. */
function findCycles(graph) {
  /** @type {string[][]} */
  const found = [];
  /** @type {string[]} */
  const path = [];
  const done = new Set();
  const visit = (file) => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}
