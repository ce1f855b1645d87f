import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { defineConfig, type Plugin } from "vitest/config";
import { assetsAreCopied, copyAssets } from "./scripts/copy-assets.mjs";
import { LongFirst } from "./scripts/testing/long-first.mjs";
import { mirrored, mirrorSources } from "./scripts/testing/mirror.mjs";

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** Coverage counts lines of the sources, and a watcher follows them: both need sources that vite has loaded. */
const isNative = process.argv.includes("run") && !process.argv.some((argument) => argument.startsWith("--coverage"));
await mirrorSources();
// Sources send the files of pages from the build too.
if (!assetsAreCopied()) await copyAssets();

/** Standard decorators, which the bundled transformer leaves as they are and Node cannot read yet. */
const decorators: Plugin = {
  name: "decorators",
  enforce: "pre",
  transform(code, id) {
    if (!/decorators?\.test\.ts$/.test(id)) return null;
    const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, sourceMap: true };
    const { outputText, sourceMapText } = ts.transpileModule(code, { compilerOptions: options, fileName: id });
    return { code: outputText, map: sourceMapText ?? null };
  },
};

/** Lets Node load the sources, as JavaScript. */
const native: Plugin = {
  name: "native",
  enforce: "pre",
  resolveId(id, importer) {
    const path = id.startsWith("file:") ? fileURLToPath(id) : id;
    return mirrored(path.startsWith(".") && importer ? resolve(dirname(importer), path) : path);
  },
};

/**
 * Test files share processes: to load the sources takes longer than most tests. Files that start programs, browsers and
 * installed packages share processes with each other, where no other file counts what they leave behind. A file runs alone
 * in a process if it does something that other files would notice, or would notice what they do.
 */
const foldersOfPrograms = /^(cli|docs|e2e|examples|package|performance|scripts|support)\//;
const textOfPrograms = /"node:child_process"|\/program\.js"/;
const textAlone =
  /\bmemoryUsage\(|\bprocess\.chdir\(|\bcallersAreWatched\(|\bcreateSharedMemory\b|"@opentelemetry\/api"/;

/** Only modules that vite has loaded can be replaced, or can import the TypeScript that a test writes. */
const textReplacing = /\bvi\.mock\(/;
const textWriting = /"\.\/project\.js"/;

const testFolder = fileURLToPath(new URL("./test/", import.meta.url));
const testFiles = {
  alone: [] as string[],
  programs: [] as string[],
  shared: [] as string[],
  replacing: [] as string[],
  writing: [] as string[],
};
for (const name of readdirSync(testFolder, { recursive: true, encoding: "utf8" })) {
  if (name.endsWith(".test.ts")) testFiles[projectOf(name)].push(`test/${name}`);
}

function projectOf(name: string): keyof typeof testFiles {
  const text = readFileSync(testFolder + name, "utf8");
  if (textReplacing.test(text)) return "replacing";
  if (textWriting.test(text)) return "writing";
  if (textAlone.test(text)) return "alone";
  return foldersOfPrograms.test(name) || textOfPrograms.test(text) ? "programs" : "shared";
}

const plugins = isNative ? [native] : [];

export default defineConfig({
  plugins: [decorators],
  resolve: {
    // Node looks for .js first. With another order the sources and the tests would load two forms of one package.
    extensions: [".js", ".mjs", ".ts", ".json"],
    alias: [
      // Exactly the file that Node takes for the sources: the other form of the package does not know its schemas.
      { find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") },
      { find: /^stoa$/, replacement: source("entry/index.ts") },
      { find: /^stoa\/(.+)$/, replacement: source("entry/$1.ts") },
    ],
  },
  test: {
    // Only a fault reaches these: a machine that is busy or slow does not.
    testTimeout: process.env["STOA_LONG"] === "1" ? 900_000 : 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 150_000 } },
    setupFiles: ["test/support/patience.ts"],
    // A PostgreSQL on a busy machine takes longer than the default of 5 s to accept a connection.
    // The SDK of SQS says in each process that it will leave Node 20.
    env: { PGCONNECT_TIMEOUT: "60", AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" },
    // More than the cores of a small machine: many tests wait for a process or a broker most of the time.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary", "html"] },
    server: { deps: { external: [/\/dist-mirror\//] } },
    projects: [
      { extends: true, plugins, test: { name: "alone", include: [...testFiles.alone, "examples/*/test/*.test.ts"] } },
      { extends: true, plugins, test: { name: "programs", include: testFiles.programs, isolate: false } },
      { extends: true, test: { name: "writing", include: testFiles.writing, isolate: false } },
      { extends: true, test: { name: "replacing", include: testFiles.replacing } },
      { extends: true, plugins, test: { name: "shared", include: testFiles.shared, isolate: false } },
      {
        extends: true,
        test: {
          name: "types",
          typecheck: {
            enabled: true,
            only: true,
            include: ["test/types/**/*.test-d.ts"],
            tsconfig: "tsconfig.json",
            checker: fileURLToPath(new URL("./scripts/testing/type-checker.mjs", import.meta.url)),
            // On a busy machine the start of a process takes its time.
            spawnTimeout: 120_000,
          },
        },
      },
    ],
  },
});
