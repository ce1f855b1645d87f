import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../scripts/process.mjs";
import { compile } from "../support/compiler.js";
import { installPackage, root } from "../support/installed-package.js";
import { isLong } from "../support/long.js";
import { printedUrl } from "../support/printed-url.js";

let folder: string;
const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: "", STOA_ENV: "", STOA_WORKERS: "1" };
const production = {
  ...env,
  NODE_ENV: "production",
  DATABASE_URL: "pglite:./production",
  JWT_SECRET: "a secret of the test: 0123456789abcdef",
};

/** The files of the page, which it names in their first line; later ones replace those before. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-tutorial-"));
  const page = await readFile(join(root, "docs/tutorial.md"), "utf8");
  for (const [, name, text] of page.matchAll(/^```\w+\n(?:\/\/|#) ([\w./-]+)\n(.*?)^```$/gms)) {
    const path = join(folder, name!);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text!);
  }
  await installPackage(folder);
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

async function node(args: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { code, output } = await run(process.execPath, args, { cwd: folder, env });
  expect(code, `node ${args.join(" ")}\n${output}`).toBe(0);
  return output;
}

const stoa = "node_modules/stoa/dist/cli/main.js";

describe("the tutorial", { timeout: 600_000 }, () => {
  it.runIf(isLong)(
    "The bookshop is migrated, compiles, passes its tests, and serves from its compiled files",
    async () => {
      expect(await node([stoa, "migrate", "make"], env)).toContain("wrote migrations/0001_initial.ts");
      expect(await node([stoa, "migrate", "up"], env)).toContain("applied 0001_initial");
      expect(await compile(folder)).toBe("");
      expect(await node(["--test", "dist/test/shop.test.js"], env)).toMatch(/pass 3/);
      // An image has neither the sources nor the settings of development.
      for (const name of ["src", "migrations", "stoa.config.ts", ".env.development"]) {
        await rm(join(folder, name), { recursive: true });
      }
      expect(await node([stoa, "migrate", "up"], production)).toContain("applied 0001_initial");
      const server = spawn(process.execPath, ["dist/src/main.js", "--port", "0"], { cwd: folder, env: production });
      try {
        const url = await printedUrl(server);
        const paths = ["/books", "/docs", "/health/ready", "/metrics"];
        const statuses = await Promise.all(paths.map(async (path) => (await fetch(url + path)).status));
        expect(statuses).toEqual([200, 200, 200, 200]);
      } finally {
        server.kill("SIGKILL");
      }
    },
  );
});
