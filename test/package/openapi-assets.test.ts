import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";

const root = join(import.meta.dirname, "../..");

describe("the files of the API pages", { timeout: 120_000 }, () => {
  it("The files of the API pages are published with the package, and their licences too", async () => {
    await ensureBuilt();
    const args = ["pack", "--dry-run", "--ignore-scripts", "--json"];
    const { stdout } = await promisify(execFile)("npm", args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string; size: number }[] }];
    const assets = files.filter(({ path }) => path.startsWith("dist/openapi/assets/"));
    const names = assets.map(({ path }) => path.slice("dist/openapi/assets/".length));
    expect(names).toEqual(
      expect.arrayContaining([
        "swagger-ui-dist/LICENSE",
        "swagger-ui-dist/NOTICE",
        "swagger-ui-dist/swagger-ui.css",
        "swagger-ui-dist/swagger-ui-bundle.js",
        "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt",
        "redoc/LICENSE",
        "redoc/bundles/redoc.standalone.js",
        "redoc/bundles/redoc.standalone.js.LICENSE.txt",
        expect.stringMatching(/^redoc\/bundles\/.*\.worker\.js\.LICENSE\.txt$/),
      ]),
    );
    expect(assets.every(({ size }) => size > 0)).toBe(true);
  });
});
