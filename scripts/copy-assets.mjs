import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./process.mjs";

/** The folder of the API pages' files in the built package; src/batteries/openapi/assets.ts reads them there. */
export const assetFolder = join("openapi", "assets");

/** The folder of the GraphQL playground's files; src/apis/graphql/playground/assets.ts reads them there. */
export const playgroundFolder = join("graphql", "assets");

/** The files of the playground, and the exports of @graphql-yoga/render-graphiql that hold their text. */
const playgroundFiles = {
  "graphiql.css": "css",
  "graphiql.js": "js",
  "editor.worker.js": "editorWorkerService",
  "json.worker.js": "jsonWorker",
  "graphql.worker.js": "graphqlWorker",
};

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
export async function copyAssets() {
  const target = join(root, "dist", assetFolder);
  rmSync(target, { recursive: true, force: true });
  const licences = readdirSync(join(root, "node_modules/redoc/bundles")).filter((name) => redocLicences.test(name));
  for (const file of [...files, ...licences.map((name) => `redoc/bundles/${name}`)]) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, "node_modules", file), join(target, file));
  }
  await copyPlayground();
}

async function copyPlayground() {
  const source = join(root, "node_modules/@graphql-yoga/render-graphiql");
  const target = join(root, "dist", playgroundFolder);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const texts = await import(pathToFileURL(join(source, "esm/graphiql.js")).href);
  for (const [file, name] of Object.entries(playgroundFiles)) writeFileSync(join(target, file), texts[name]);
  cpSync(join(source, "LICENSE"), join(target, "LICENSE"));
}

export function assetsAreCopied() {
  const playground = Object.keys(playgroundFiles).map((file) => join(playgroundFolder, file));
  return [...files.map((file) => join(assetFolder, file)), ...playground].every((file) =>
    existsSync(join(root, "dist", file)),
  );
}
