import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./process.mjs";

/**
 * Builds the code of every entry of the package into few files: to load hundreds of small modules takes longer than all
 * else that an application does to start. Which modules are loaded on demand is read from the sources: whatever stands in
 * an `import()`. Returns the files written, by their place in `dist`.
 */
export async function bundle() {
  const entries = packageEntries();
  const { core, batteries } = parts(await moduleGraph(entries));
  const build = await rolldown({
    ...input,
    input: entries,
    plugins: [ascii, plainBuiltins, withoutFacades, plainLines],
  });
  const { output } = await build.write({
    dir: join(root, "dist"),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: {
      groups: [
        { name: "core", test: (id) => core.has(id) },
        { name: "batteries", test: (id) => batteries.has(id) },
      ],
    },
    comments: false,
  });
  await build.close();
  return new Set(output.map(({ fileName }) => fileName));
}

const input = {
  cwd: root,
  platform: "node",
  external: (id) => !id.startsWith(".") && !isAbsolute(id),
  checks: { ineffectiveDynamicImport: false },
};

/**
 * The modules of the two files that applications start with.
 * - core: everything that src/entry/index.ts imports, and what the batteries have in common with its parts on demand: that is
 *   small, and a separate file would take longer to open than to read. What only parts on demand have in common is left
 *   to the bundler: few applications load it.
 * - batteries: everything that usual features load at start, that is, with an `import()` in their feature.ts. One file: each
 *   takes longer to find and to open than forty kilobytes to read.
 */
function parts(graph) {
  const core = reached(graph, [join(root, "src/entry/index.ts")]);
  const features = [...core].filter((id) => id.endsWith("/feature.ts") && isUsual(id));
  const batteries = reached(graph, onDemandOf(graph, features).filter(isUsual), core);
  const roots = onDemandOf(graph, core).filter(
    (id) => !batteries.has(id) && !isIn(id, "engines", "migrations", "patterns"),
  );
  for (const id of reached(graph, roots, core)) if (batteries.has(id)) core.add(id);
  for (const id of core) batteries.delete(id);
  return { core, batteries };
}

/** These are large, or few applications use them: they have files of their own, which others do not read. */
function isUsual(id) {
  return !isIn(id, "batteries/telemetry", "batteries/rooms", "engines", "migrations", "patterns");
}

function isIn(id, ...folders) {
  return folders.some((folder) => id.startsWith(join(root, "src", folder, "/")));
}

function onDemandOf(graph, ids) {
  return [...new Set([...ids].flatMap((id) => graph.get(id)?.onDemand ?? []))].filter((id) => graph.has(id));
}

/** The modules that are loaded together with these, without those in `but`. */
function reached(graph, roots, but = new Set()) {
  const found = new Set();
  const visit = (id) => {
    if (found.has(id) || but.has(id) || !graph.has(id)) return;
    found.add(id);
    for (const next of graph.get(id).imports) visit(next);
  };
  for (const id of roots) visit(id);
  return found;
}

/** For each module the modules that it imports, and those that it loads on demand. */
async function moduleGraph(entries) {
  const graph = new Map();
  const collect = {
    name: "collect",
    moduleParsed: ({ id, importedIds, dynamicallyImportedIds }) => {
      graph.set(id, { imports: [...importedIds], onDemand: [...dynamicallyImportedIds] });
    },
  };
  const build = await rolldown({ ...input, input: entries, plugins: [collect] });
  await build.generate({ format: "esm" });
  await build.close();
  return graph;
}

/**
 * Writes characters beyond ASCII as escapes. One of them makes V8 keep and read all of its file with two bytes for each
 * character, and decode the file the slow way: a tenth of the time to load it.
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
 * Takes Node's modules by `require`. An `import` of one reads all its exports to make an ES module of it, also those that
 * are loaded only when they are read: file streams for node:fs, block lists for node:net.
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

function required(_, whole, names, id) {
  const call = `__builtin("${id}")`;
  const statements = [];
  if (whole) statements.push(`const ${whole} = ${call};`);
  if (names) statements.push(`const { ${names.replaceAll(" as ", ": ")} } = ${call};`);
  return statements.join(" ");
}

/**
 * Leaves out files that only pass on names of another file. One is made for each `import()` of a module that was put into
 * a larger file; to open it would cost a start more than it contains.
 */
const withoutFacades = {
  name: "without-facades",
  generateBundle(_, files) {
    const facades = new Map();
    for (const [name, { type, isEntry, code }] of Object.entries(files)) {
      const match = type === "chunk" && !isEntry && facade.exec(code);
      if (!match) continue;
      const members = match[1].split(", ").map((member) => member.split(" as "));
      const object = members.map(([inner, outer = inner]) => `${outer}: m.${inner}`).join(", ");
      facades.set(name.slice(name.lastIndexOf("/") + 1), `import("${match[2]}").then((m) => ({ ${object} }))`);
      delete files[name];
    }
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      file.code = file.code.replace(/import\("\.\/([\w.-]+)"\)/g, (whole, name) => facades.get(name) ?? whole);
    }
  },
};

const facade = /^export \{ ([\w$, ]+) \} from "(\.\/[\w.-]+)";\s*$/;

/** Leaves out what the bundler adds: tabs before lines, and names of files. No line of a text in the sources begins so. */
const plainLines = {
  name: "plain-lines",
  generateBundle(_, files) {
    for (const file of Object.values(files)) if (file.type === "chunk") file.code = file.code.replace(added, "");
  },
};

const added = /^(?:\t+|\/\/ src\/.*\n)/gm;

function escaped(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The source of every file that package.json lets be imported or run, by its name in `dist`. */
export function packageEntries() {
  const { exports, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const built = [...Object.values(exports).map((entry) => entry.default ?? entry), ...Object.values(bin)];
  const names = built.filter((file) => file.endsWith(".js")).map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""));
  return Object.fromEntries(names.map((name) => [name, join(root, "src", `${name}.ts`)]));
}
