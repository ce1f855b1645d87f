import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { rolldown } from "rolldown";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ensureBuilt } from "../../scripts/setup.mjs";
import { printedUrl } from "../support/printed-url.js";

const root = join(import.meta.dirname, "../..");

const source = `
import { App } from "stoa";

const app = new App();
if (process.env.PAGES) app.enableOpenapi().enableLivePage();
app.get("/", () => ({ hello: "bundle" }));
app.websocket("/echo", async (socket) => {
  for await (const message of socket) await socket.sendText(message.text);
});
await app.run({ port: 0 });
`;

type Bundler = (entry: string, file: string) => Promise<unknown>;

const bundlers: Record<string, Bundler> = {
  esbuild: (entry, outfile) =>
    build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      // For packages in the old module format, such as ws.
      banner: {
        js: "import { createRequire as nodeRequire } from 'node:module'; const require = nodeRequire(import.meta.url);",
      },
      logLevel: "silent",
    }),
  rolldown: async (entry, file) => {
    const bundle = await rolldown({ input: entry, platform: "node", logLevel: "silent" });
    await bundle.write({ file, format: "esm", codeSplitting: false });
    await bundle.close();
  },
};

let folder: string;
let running: ChildProcess | undefined;

beforeAll(async () => {
  await ensureBuilt();
  folder = await mkdtemp(join(tmpdir(), "stoa-bundle-"));
  // A project that has installed the package, and none of the optional ones.
  const modules = join(folder, "project/node_modules");
  for (const path of ["package.json", "dist"])
    await cp(join(root, path), join(modules, "stoa", path), { recursive: true });
  await cp(join(root, "node_modules/ws"), join(modules, "ws"), { recursive: true });
  await writeFile(join(folder, "project/package.json"), JSON.stringify({ private: true, type: "module" }));
  await writeFile(join(folder, "project/app.ts"), source);
});
afterEach(() => running?.kill("SIGKILL"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The address of a bundle that runs in its folder. */
async function start(file: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, [file], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  running = child;
  return printedUrl(child);
}

async function echo(url: string, text: string): Promise<string> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/echo`);
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  const message = new Promise<string>((resolve, reject) => {
    socket.once("message", (data) => resolve(String(data)));
    socket.once("close", (code) => reject(new Error(`closed with ${code}`)));
  });
  socket.send(text);
  try {
    return await message;
  } finally {
    socket.terminate();
  }
}

const statusOf = async (url: string): Promise<number> => {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.status;
};

describe.each(Object.entries(bundlers))("an application bundled with %s", { timeout: 120_000 }, (name, bundle) => {
  const file = (): string => join(folder, `project/dist/${name}.mjs`);
  beforeAll(() => bundle(join(folder, "project/app.ts"), file()), 120_000);

  it(`The bundle of ${name} serves JSON, WebSockets, the API page and the live page`, async () => {
    const url = await start(file(), { NODE_ENV: "development", PAGES: "1" });
    expect(await (await fetch(url)).json()).toEqual({ hello: "bundle" });
    expect(await echo(url, "in one file")).toBe("in one file");
    for (const path of ["/docs", "/docs/swagger-ui-bundle.js", "/_stoa"])
      expect(await statusOf(url + path), path).toBe(200);
  });

  it(`The bundle of ${name} runs without any package beside it, in two workers`, async () => {
    const alone = join(folder, `alone-${name}`);
    await mkdir(alone, { recursive: true });
    await cp(file(), join(alone, "app.mjs"));
    const url = await start(join(alone, "app.mjs"), { NODE_ENV: "production", WORKERS: "2" });
    expect(await (await fetch(url)).json()).toEqual({ hello: "bundle" });
    expect(await echo(url, "alone")).toBe("alone");
  });
});
