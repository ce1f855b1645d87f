import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { App, createLogger } from "stoa";
import { bindDatabase } from "stoa/orm";
import ts from "typescript";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { makeDatabase } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import type { PageModule } from "./modules-of-page.js";
import { readPages, root } from "./pages.js";

const redis = service("redis");
const postgres = service("postgres");
const allPages = await readPages();
const pages = allPages.filter(({ modules }) => modules.some(({ runs }) => runs));
const started = process.cwd();
const drops: (() => Promise<void>)[] = [];
let folder: string;

const databaseUrl = /"(postgres:\/\/|pglite:)[^"]*"|process\.env\.DATABASE_URL!/;

/** In the place of `describe` and `it`: collects the tests. */
const suite = `export const tests: (() => unknown)[] = [];
const describe = (_title: string, body: () => void) => body();
const it = (_title: string, body: () => unknown) => void tests.push(body);`;

/** A module of a page after it has run. */
interface Ran {
  app?: App;
  tests?: (() => unknown)[];
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-pages-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  for (const name of ["public", "dist", "docs"]) await mkdir(join(folder, name));
  process.chdir(folder);
  vi.stubEnv("JWT_SECRET", "a secret of at least 32 bytes: 0123456789");
  vi.stubEnv("BILLING_KEY", "key-1");
  vi.stubEnv("CSRF_SECRET", "a secret of at least 32 bytes: 0123456789");
  // No port is opened: the application is started below.
  const server = { address: { host: "127.0.0.1", port: 1 }, url: "http://127.0.0.1:1", close: async () => {} };
  vi.spyOn(App.prototype, "run").mockResolvedValue(server as never);
});

afterEach(() => bindDatabase(null));

afterAll(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.chdir(started);
  await Promise.all(drops.map((drop) => drop()));
  await rm(folder, { recursive: true, force: true });
});

it("Code on the pages is marked as ts, so that it is compiled and run", () => {
  const others = allPages.flatMap(({ path, text }) => {
    const fences = text.matchAll(/^ *```(typescript|tsx|mts)\b/gm);
    return [...fences].map(([fence]) => `${path}: ${fence}`);
  });
  expect(others).toEqual([]);
});

it("The pages show the import of every name that their code uses", () => {
  const hidden = allPages.flatMap(({ path, modules }) =>
    modules.flatMap(({ lines, notShown }) => notShown.map((name) => `${path}:${lines.at(-1)}: ${name}`)),
  );
  expect(hidden).toEqual([]);
});

describe.skipIf(!redis || !postgres)("the code of the pages", { timeout: 120_000 }, () => {
  it.each(pages.map(({ path }) => path))("The code of %s runs, and its application starts", async (path) => {
    const { modules } = pages.find((page) => page.path === path)!;
    const place = join(folder, basename(path, ".md"));
    for (const module of modules) await write(join(place, module.name), module);
    for (const { name } of modules.filter(({ runs }) => runs)) await run(join(place, name), `${path}, ${name}`);
  });
});

async function write(path: string, module: PageModule): Promise<void> {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const { outputText } = ts.transpileModule(await runnable(module.code), { compilerOptions });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path.replace(/\.ts$/, ".js"), outputText);
}

/** The code with engines that are here, and with its application and its tests as exports. */
async function runnable(code: string): Promise<string> {
  const replaced = code
    .replace(databaseUrl, databaseUrl.test(code) ? await emptyDatabase() : "")
    .replace(/redis:\/\/127\.0\.0\.1:6379/g, redis!)
    .replace(/enableMessaging\(\)/g, "enableMemoryBroker()")
    .replace(/enableKvstore\(\)/g, `enableKvstore({ url: "${redis}" })`)
    .replace('import { test } from "node:test";', "export const tests: (() => unknown)[] = [];")
    .replace('import { describe, it } from "node:test";', suite)
    .replace(/^test\(".*", (?=async)/gm, "tests.push(");
  return /^const app = new App\(\)/m.test(replaced) ? `${replaced}\nexport { app };` : replaced;
}

async function emptyDatabase(): Promise<string> {
  const { url, drop } = await makeDatabase(postgres!);
  drops.push(drop);
  return `"${url}"`;
}

async function run(path: string, title: string): Promise<void> {
  const { app, tests = [] } = (await import(/* @vite-ignore */ path.replace(/\.ts$/, ".js")).catch((error: Error) => {
    throw new Error(`${title}: ${error.message}`, { cause: error });
  })) as Ran;
  for (const test of tests) await test();
  if (app === undefined) return;
  try {
    app.logger = createLogger({ level: "error" });
    await expect(app.start(), title).resolves.not.toThrow();
  } finally {
    await app.stop();
  }
}
