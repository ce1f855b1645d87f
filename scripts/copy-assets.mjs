import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./process.mjs";

/** The folder of the API pages' files in the built package; src/batteries/openapi/assets.ts reads them there. */
export const assetFolder = join("openapi", "assets");

/** The files that are served, and the licences of all that is in them. */
const files = [
  "swagger-ui-dist/LICENSE",
  "swagger-ui-dist/NOTICE",
  "swagger-ui-dist/swagger-ui.css",
  "swagger-ui-dist/swagger-ui-bundle.js",
  "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt",
  "redoc/LICENSE",
  "redoc/bundles/redoc.standalone.js",
];

/** The script contains its worker as text; the worker has a licence list of its own, named by a hash. */
const redocLicences = /(?:^redoc\.standalone|\.worker)\.js\.LICENSE\.txt$/;

/**
 * Copies the API pages' files into the build, so that users of the package need not install the packages they come
 * from.
 */
export function copyAssets() {
  const target = join(root, "dist", assetFolder);
  rmSync(target, { recursive: true, force: true });
  const licences = readdirSync(join(root, "node_modules/redoc/bundles")).filter((name) => redocLicences.test(name));
  for (const file of [...files, ...licences.map((name) => `redoc/bundles/${name}`)]) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, "node_modules", file), join(target, file));
  }
}

export function assetsAreCopied() {
  return files.every((file) => existsSync(join(root, "dist", assetFolder, file)));
}
