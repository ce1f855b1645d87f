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
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"], tsconfig: "tsconfig.json" },
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary", "html"] },
  },
});
