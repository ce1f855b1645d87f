import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { defineConfig, type Plugin } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

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

/**
 * Test files share two processes: to load the sources takes longer than most tests. A file has a process of its own if it is
 * in one of these folders, whose tests start programs, browsers and servers, or if it does something that other files would
 * notice.
 */
const foldersAlone =
  /^(cli|docs|e2e|engines|examples|introspection|migrations|package|patterns|performance|scripts|server|support)\//;
const textAlone = /\bvi\.mock\(|\bmemoryUsage\(|\bprocess\.chdir\(|"node:child_process"|\/program\.js"/;

const testFolder = fileURLToPath(new URL("./test/", import.meta.url));
const shared = readdirSync(testFolder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts") && !foldersAlone.test(name))
  .filter((name) => !textAlone.test(readFileSync(testFolder + name, "utf8")))
  .map((name) => `test/${name}`);

export default defineConfig({
  plugins: [decorators],
  resolve: {
    alias: [
      { find: /^stoa$/, replacement: source("index.ts") },
      { find: /^stoa\/messaging$/, replacement: source("engines/messaging/index.ts") },
      { find: /^stoa\/migrations$/, replacement: source("migrations/index.ts") },
      { find: /^stoa\/(graphql|grpc)$/, replacement: source("apis/$1/index.ts") },
      { find: /^stoa\/(events|saga|jobs|cqrs)$/, replacement: source("patterns/$1/index.ts") },
      { find: /^stoa\/(.+)$/, replacement: source("$1/index.ts") },
    ],
  },
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary", "html"] },
    projects: [
      { extends: true, test: { name: "alone", include: ["test/**/*.test.ts"], exclude: shared } },
      { extends: true, test: { name: "shared", include: shared, isolate: false } },
      {
        extends: true,
        test: {
          name: "types",
          typecheck: { enabled: true, only: true, include: ["test/types/**/*.test-d.ts"], tsconfig: "tsconfig.json" },
        },
      },
    ],
  },
});
