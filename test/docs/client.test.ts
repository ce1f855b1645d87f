import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { App } from "stoa";
import { serve } from "stoa/testing";
import ts from "typescript";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { clientFile } from "../../src/cli/client/client-file.js";
import { compileFiles } from "../support/compiler.js";
import { modulesOfPage } from "./modules-of-page.js";
import { root } from "./pages.js";

const [app, ...calls] = modulesOfPage(await readFile(join(root, "docs/client.md"), "utf8"));
const logged: unknown[][] = [];
let folder: string;
let server: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-client-page-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const module = (await load(app!.name, app!.code)) as { app: App };
  await write("api.ts", clientFile(await module.app.openapi()));
  server = await serve(module.app);
  vi.spyOn(console, "log").mockImplementation((...line) => void logged.push(line));
  vi.spyOn(console, "assert").mockImplementation((holds) => expect(holds).toBe(true));
});

afterAll(async () => {
  vi.restoreAllMocks();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

it.each(calls.map(({ name }) => name))("The code of the page on clients runs: %s", async (name) => {
  const { code } = calls.find((call) => call.name === name)!;
  await load(name, code.replaceAll("http://127.0.0.1:8000", server.url));
});

it("The code of the page on clients has the results that the page names", () => {
  const { host, port } = server.address as { host: string; port: number };
  const address = `${host}:${port}`;
  expect(logged).toEqual([
    ["This title is taken."],
    ["message", "", "Emma", 950],
    [`http://${address}/books/1/cover`, `ws://${address}/chat/lobby`],
  ]);
});

it("The code of the page on clients compiles against the client of its application", async () => {
  const files = calls.map(({ name }) => name);
  const complaint = await compileFiles(folder, files, {
    target: "ES2022",
    module: "NodeNext",
    lib: ["ES2022", "DOM"],
    types: [],
    skipLibCheck: true,
    strict: true,
    exactOptionalPropertyTypes: true,
  });
  expect(complaint).toBe("");
});

/** Writes a module as it is and as JavaScript, and runs it. */
async function load(name: string, code: string): Promise<unknown> {
  return import(/* @vite-ignore */ await write(name, code));
}

async function write(name: string, code: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, code);
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const script = path.replace(/\.ts$/, ".js");
  await writeFile(script, ts.transpileModule(code, { compilerOptions }).outputText);
  return script;
}
