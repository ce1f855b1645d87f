import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";

const root = join(import.meta.dirname, "../..");

describe("the files of the GraphQL playground", { timeout: 120_000 }, () => {
  it("The files of the GraphQL playground are published with the package, with their licence", async () => {
    await ensureBuilt();
    const args = ["pack", "--dry-run", "--ignore-scripts", "--json"];
    const { stdout } = await promisify(execFile)("npm", args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string; size: number }[] }];
    const folder = "dist/graphql/assets/";
    const assets = files.filter(({ path, size }) => path.startsWith(folder) && size > 0);
    expect(assets.map(({ path }) => path.slice(folder.length)).sort()).toEqual([
      "LICENSE",
      "editor.worker.js",
      "graphiql.css",
      "graphiql.js",
      "graphql.worker.js",
      "json.worker.js",
    ]);
  });
});
