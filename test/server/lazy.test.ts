import { isAscii } from "node:buffer";
import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";

/** Runs an application of some lines; gives the modules of Node that are loaded when it listens and after a response. */
async function loadedBy(lines: string): Promise<{ started: string[]; responded: string[] }> {
  const script = `
    import { App } from "stoa";
    const app = new App();
    app.get("/", () => "hello");
    ${lines}
    const server = await app.run({ port: 0, host: "127.0.0.1", logs: false, exit: false });
    const loaded = () => process.moduleLoadList.map((name) => name.replace("NativeModule ", ""));
    const started = loaded();
    await new Promise((resolve) => import("node:net").then(({ connect }) =>
      connect(server.address.port, "127.0.0.1").end("GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n").on("data", resolve)));
    console.log(JSON.stringify({ started, responded: loaded() }));
    process.exit();
  `;
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL("../..", import.meta.url) });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

const dist = new URL("../../dist/", import.meta.url);
const large = ["crypto", "tls", "http", "zlib"];

beforeAll(() => ensureBuilt({ log: () => {} }), 120_000);

it("A small application starts and responds without the large modules of Node that it does not need", async () => {
  const { responded } = await loadedBy("");
  expect(responded).toContain("net");
  expect(responded.filter((name) => large.includes(name))).toEqual([]);
});

it("An application with many features and a WebSocket starts without the large modules of Node too", async () => {
  const { started } = await loadedBy(`
    app.enableCompression().enableEtag().enableMetrics().enableRateLimit().enableCaching().enableHealthChecks();
    app.enableSessions({ secret: "x".repeat(32) }).enableCsrf().enableCircuitBreaker().enableOpenapi();
    app.websocket("/ws", () => {});
  `);
  expect(started).toContain("perf_hooks");
  expect(started.filter((name) => large.includes(name))).toEqual([]);
});

it("Modules of Node are not imported as ES modules, which would load their lazy parts", async () => {
  const { started } = await loadedBy("");
  // `fs.ReadStream` brings the first, `buffer.File` the second.
  expect(started).not.toContain("internal/fs/streams");
  expect(started).not.toContain("internal/file");
});

it("A start opens two files of the package, and one more if features are enabled", async () => {
  const core = await openedWith("entry/index.js");
  expect(core).toHaveLength(2);
  const features = (await readdir(new URL("chunks/", dist))).find((name) => /^batteries-.*\.js$/.test(name));
  const opened = await openedWith(`chunks/${features}`);
  expect(opened.filter((name) => !core.includes(name))).toEqual([`chunks/${features}`]);
});

// More code makes every start slower: load what only some applications need on demand. Raise the bound if all need it.
it("A start reads no more code than its bound", async () => {
  const opened = await openedWith("entry/index.js");
  const sizes = await Promise.all(opened.map(async (name) => (await stat(new URL(name, dist))).size));
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(642_000);
});

/** A built file and those that it imports, not on demand. */
async function openedWith(file: string): Promise<string[]> {
  const opened = new Set([file]);
  for (const name of opened) {
    const code = await readFile(new URL(name, dist), "utf8");
    for (const [, path] of code.matchAll(/^(?:import|export) .*from "(\..+)";$/gm)) {
      opened.add(new URL(path!, new URL(name, dist)).href.slice(dist.href.length));
    }
  }
  return [...opened];
}

it("The code of the package is ASCII, which is read faster", async () => {
  const files = (await readdir(dist, { recursive: true })).filter(
    (name) => name.endsWith(".js") && !name.includes("assets"),
  );
  expect(files.length).toBeGreaterThan(10);
  for (const name of files) expect(isAscii(await readFile(new URL(name, dist))), name).toBe(true);
});
