import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { root } from "./process.mjs";

/** The folder of the API pages' files in the built package; src/batteries/openapi/assets.ts reads them there. */
export const assetFolder = join("openapi", "assets");

/** The folder of the GraphQL playground's files; src/apis/graphql/playground/playground.ts reads them there. */
export const playgroundFolder = join("graphql", "assets");

/** The folder of the console's script; src/console/page.ts reads it there. */
export const consoleFolder = "console";

/** The file in each of these folders that holds the texts; src/kit/pages/page-files.ts reads it. */
const archive = "files.br";

/** The files of the playground, and the exports of @graphql-yoga/render-graphiql that hold their text. */
const playgroundFiles = {
  "editor.worker.js": "editorWorkerService",
  "json.worker.js": "jsonWorker",
  "graphql.worker.js": "graphqlWorker",
  "graphiql.js": "js",
  "graphiql.css": "css",
};

/** The files that are served, and the licences of all that is in them. */
const served = [
  "swagger-ui-dist/swagger-ui.css",
  "swagger-ui-dist/swagger-ui-bundle.js",
  "redoc/bundles/redoc.standalone.js",
];
const licences = [
  "swagger-ui-dist/LICENSE",
  "swagger-ui-dist/NOTICE",
  "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt",
  "redoc/LICENSE",
];

/** The script contains its worker as text; the worker has its own licence list, named by a hash. */
const redocLicences = /(?:^redoc\.standalone|\.worker)\.js\.LICENSE\.txt$/;

/**
 * Copies the API pages' files into the build, so that users of the package need not install the packages they come from.
 * What is served is compressed: it is most of the package, and most applications never read it.
 */
export async function copyAssets() {
  const target = join(root, "dist", assetFolder);
  rmSync(target, { recursive: true, force: true });
  const more = readdirSync(join(root, "node_modules/redoc/bundles")).filter((name) => redocLicences.test(name));
  for (const file of [...licences, ...more.map((name) => `redoc/bundles/${name}`)]) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, "node_modules", file), join(target, file));
  }
  const texts = served.map((file) => [basename(file), readFileSync(join(root, "node_modules", file), "utf8")]);
  writeFileSync(join(target, archive), compressed(texts));
  mkdirSync(join(root, "dist", consoleFolder), { recursive: true });
  cpSync(join(root, "src/console/client.js"), join(root, "dist", consoleFolder, "client.js"));
  await copyPlayground();
}

async function copyPlayground() {
  const source = join(root, "node_modules/@graphql-yoga/render-graphiql");
  const target = join(root, "dist", playgroundFolder);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const texts = await import(pathToFileURL(join(source, "esm/graphiql.js")).href);
  // Loaded here: this module is loaded before the packages are installed.
  const { transformSync } = await import("esbuild");
  const minified = (text) => transformSync(text, { minify: true, legalComments: "inline" }).code;
  const files = Object.entries(playgroundFiles).map(([file, name]) => {
    const text = texts[name];
    return [file, file.endsWith(".worker.js") ? minified(text) : text.replace(webFonts, "")];
  });
  writeFileSync(join(target, archive), compressed(files));
  cpSync(join(source, "LICENSE"), join(target, "LICENSE"));
}

/** Roboto and Fira Code: a tenth of the package. The page has fonts of the system after them in its lists. */
const webFonts = /@font-face\{[^}]*data:font\/woff[^}]*\}/g;

/**
 * Files as JSON in Brotli's smallest form. All in one: the workers of the playground contain the same editor, so a tenth is
 * saved. It takes seconds, so results are kept.
 */
function compressed(files) {
  const text = JSON.stringify(Object.fromEntries(files));
  const kept = join(root, "node_modules/.cache/stoa-assets", createHash("sha256").update(text).digest("hex"));
  if (existsSync(kept)) return readFileSync(kept);
  const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_SIZE_HINT]: text.length };
  const bytes = brotliCompressSync(text, { params });
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, bytes);
  return bytes;
}

export function assetsAreCopied() {
  const files = [join(assetFolder, archive), join(playgroundFolder, archive), join(consoleFolder, "client.js")];
  return files.every((file) => existsSync(join(root, "dist", file)));
}
