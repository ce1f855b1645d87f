import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compile } from "../support/compiler.js";
import { installPackage, root } from "../support/installed-package.js";
import { printedUrl } from "../support/printed-url.js";
import { codeBlocks } from "./code-in-markdown.js";

const execute = promisify(execFile);
let folder: string;

/** The files of the page, which it names in their first line. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-started-"));
  const page = await readFile(join(root, "docs/getting-started.md"), "utf8");
  for (const block of [...codeBlocks(page, "ts"), ...codeBlocks(page, "json")]) {
    const [first, ...lines] = block.split("\n");
    const path = join(folder, first!.replace("// ", ""));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, lines.join("\n"));
  }
  await installPackage(folder);
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (...args: string[]) => execute(process.execPath, args, { cwd: folder });

describe("the page for getting started", { timeout: 600_000 }, () => {
  it("The application of the page compiles, its tests pass, and it serves in production", async () => {
    expect(await compile(folder)).toBe("");
    const { stdout } = await run("--test", "dist/app.test.js");
    expect(stdout).toMatch(/pass 2/);

    const env = { ...process.env, NODE_ENV: "", STOA_ENV: "", STOA_WORKERS: "1" };
    const server = spawn(process.execPath, ["dist/main.js", "--env", "production", "--port", "0"], {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    try {
      const url = await printedUrl(server);
      const headers = { "content-type": "application/json" };
      const added = await fetch(`${url}/notes`, { method: "POST", headers, body: '{"text": "buy oranges"}' });
      expect([added.status, await added.json()]).toEqual([201, { id: 1, text: "buy oranges" }]);
      expect(await (await fetch(`${url}/notes/1`)).json()).toEqual({ id: 1, text: "buy oranges" });
      expect((await fetch(`${url}/notes/x`)).status).toBe(422);
      expect((await fetch(`${url}/notes/2`)).status).toBe(404);
      for (const path of ["/docs", "/health", "/health/ready", "/health/live"])
        expect((await fetch(url + path)).status, path).toBe(200);
      const ended = new Promise((resolve) => server.on("exit", resolve));
      server.kill("SIGTERM");
      expect(await ended).toBe(0);
    } finally {
      server.kill("SIGKILL");
    }
  });
});
