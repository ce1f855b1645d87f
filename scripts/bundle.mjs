import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./process.mjs";

/**
 * Builds the code of every entry of the package into few files: to load hundreds of small modules takes longer than all
 * else that an application does to start. What every server needs is one file; what is loaded on demand stays apart.
 * Returns the files written, by their place in `dist`.
 */
export async function bundle() {
  const core = await modulesOf(["src/index.ts", ...shared]);
  const build = await rolldown({ ...input, input: entries(), plugins: [ascii, plainBuiltins] });
  const { output } = await build.write({
    dir: join(root, "dist"),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: { groups: [{ name: "core", test: (id) => core.has(id) }] },
    comments: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
  return new Set(output.map(({ fileName }) => fileName));
}

/** Small, and needed by several of what is loaded on demand: a file of its own would take longer to open than to read. */
const shared = [
  "src/internal/escape-html.ts",
  "src/http/accept-encoding.ts",
  "src/internal/package-folder.ts",
  "src/batteries/compression/compressible.ts",
  "src/batteries/openapi/operation-id.ts",
];

const input = {
  cwd: root,
  platform: "node",
  external: (id) => !id.startsWith(".") && !isAbsolute(id),
  checks: { ineffectiveDynamicImport: false },
};

/**
 * Writes what is not ASCII as escapes. One such sign in a file makes V8 hold and read all of it with two bytes for each
 * character, and the file be decoded the slow way: a tenth of the time to load it.
 */
const ascii = {
  name: "ascii",
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type === "chunk") file.code = file.code.replace(/[^\0-\x7f]/g, escaped);
    }
  },
};

/**
 * Takes Node's modules by `require`. An `import` of one reads all it exports to make an ES module of it, also what is only
 * loaded when it is read: file streams for node:fs, block lists for node:net.
 */
const plainBuiltins = {
  name: "plain-builtins",
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk" || file.isEntry) continue;
      const code = file.code.replace(importOfBuiltin, required);
      if (code !== file.code) file.code = `${requireBuiltin}${code}`;
    }
  },
};

const importOfBuiltin = /^import (?:(\w+),? )?(?:\{ (.+) \} )?from "(node:(?!module")[\w/]+)";$/gm;
const requireBuiltin =
  'import { createRequire as __createRequire } from "node:module"; const __builtin = __createRequire(import.meta.url); ';

/** As many lines as before: the source map stays right. */
function required(_, whole, names, id) {
  const call = `__builtin("${id}")`;
  const statements = [];
  if (whole) statements.push(`const ${whole} = ${call};`);
  if (names) statements.push(`const { ${names.replaceAll(" as ", ": ")} } = ${call};`);
  return statements.join(" ");
}

function escaped(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Every module that is loaded with these, not on demand. */
async function modulesOf(files) {
  const build = await rolldown({ ...input, input: files.map((file) => join(root, file)) });
  const { output } = await build.generate({ format: "esm" });
  await build.close();
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const reached = new Set();
  const reach = ({ fileName, imports }) => {
    if (reached.has(fileName)) return;
    reached.add(fileName);
    for (const name of imports) if (chunks.has(name)) reach(chunks.get(name));
  };
  for (const chunk of chunks.values()) if (chunk.isEntry) reach(chunk);
  return new Set([...reached].flatMap((name) => chunks.get(name).moduleIds));
}

/** The source of every file that package.json lets be imported or run, by its name in `dist`. */
function entries() {
  const { exports, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const built = [...Object.values(exports).map((entry) => entry.default ?? entry), ...Object.values(bin)];
  const names = built.filter((file) => file.endsWith(".js")).map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""));
  return Object.fromEntries(names.map((name) => [name, join(root, "src", `${name}.ts`)]));
}
