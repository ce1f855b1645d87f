import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { root } from "./process.mjs";

/** The folder of the API pages' files in the built package; src/batteries/openapi/serve.ts sends them. */
export const assetFolder = join("openapi", "assets");

/** The folder of the GraphQL playground's files; src/apis/graphql/playground/playground.ts sends them. */
export const playgroundFolder = join("graphql", "assets");

/** The folder of the console's script; src/console/page.ts reads it there. */
export const consoleFolder = "console";

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

/** Redoc's one picture comes from elsewhere; an address that does not load makes it leave the picture out. */
const foreignPicture = "https://cdn.redoc.ly/redoc/logo-mini.svg";

/** Copies the files of the pages into the build, so that users of the package need not install the packages they come from. */
export async function copyAssets() {
  const target = join(root, "dist", assetFolder);
  rmSync(target, { recursive: true, force: true });
  const more = readdirSync(join(root, "node_modules/redoc/bundles")).filter((name) => redocLicences.test(name));
  for (const file of [...licences, ...more.map((name) => `redoc/bundles/${name}`)]) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, "node_modules", file), join(target, file));
  }
  for (const file of served) {
    const text = readFileSync(join(root, "node_modules", file), "utf8");
    writeCompressed(join(target, basename(file)), text.replaceAll(foreignPicture, "data:,"));
  }
  mkdirSync(join(root, "dist", consoleFolder), { recursive: true });
  cpSync(join(root, "src/console/client.js"), join(root, "dist", consoleFolder, "client.js"));
  await copyPlayground();
}

/** Bundles the script of the playground with GraphiQL, and writes the licences of all that is in it. */
async function copyPlayground() {
  const target = join(root, "dist", playgroundFolder);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  // Loaded here: this module is loaded before the packages are installed.
  const { build } = await import("esbuild");
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { graphiql: "src/apis/graphql/playground/client.js" },
    outdir: target,
    bundle: true,
    minify: true,
    target: "es2022",
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    metafile: true,
    write: false,
  });
  for (const { path, text } of outputFiles) writeCompressed(path, text.replace(webFonts, ""));
  const folders = Object.keys(metafile.inputs).map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  writeFileSync(join(target, "LICENSES"), licencesOf([...new Set(folders)].filter(Boolean).sort()));
}

/** The licence of each package, below the names of all packages that have the same text. */
function licencesOf(folders) {
  const names = new Map();
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const file = readdirSync(join(root, folder)).find((file) => /^licen[cs]e/i.test(file));
    const text = file === undefined ? license : readFileSync(join(root, folder, file), "utf8").trim();
    names.set(text, [...(names.get(text) ?? []), `${name} ${version}`]);
  }
  return [...names].map(([text, packages]) => `${packages.join(", ")}\n\n${text}\n`).join("\n\n");
}

/** Roboto and Fira Code: more than all else in the styles. The page has fonts of the system after them in its lists. */
const webFonts = /@font-face\{[^}]*data:font\/woff[^}]*\}/g;

/**
 * Writes a file in Brotli's smallest form, as it is sent to browsers: it is a quarter of the package. That takes seconds, so
 * results are kept.
 */
function writeCompressed(path, text) {
  const kept = join(root, "node_modules/.cache/stoa-assets", createHash("sha256").update(text).digest("hex"));
  if (!existsSync(kept)) {
    const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
    const params = { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_SIZE_HINT]: text.length };
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, brotliCompressSync(text, { params }));
  }
  cpSync(kept, `${path}.br`);
}

export function assetsAreCopied() {
  const files = [
    ...served.map((file) => join(assetFolder, `${basename(file)}.br`)),
    ...["graphiql.css.br", "graphiql.js.br"].map((file) => join(playgroundFolder, file)),
    join(consoleFolder, "client.js"),
  ];
  return files.every((file) => existsSync(join(root, "dist", file)));
}
