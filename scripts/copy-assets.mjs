import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
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
  const dist = join(root, "dist");
  const files = new Map([...apiFiles(), ...(await playgroundFiles())]);
  files.set(join(consoleFolder, "client.js"), readFileSync(join(root, "src/console/client.js")));
  for (const [name, bytes] of files) put(join(dist, name), bytes);
  for (const folder of [assetFolder, playgroundFolder]) {
    for (const name of readdirSync(join(dist, folder), { recursive: true })) {
      const path = join(folder, name);
      if (!files.has(path) && statSync(join(dist, path)).isFile()) rmSync(join(dist, path), { force: true });
    }
  }
}

function apiFiles() {
  const packages = join(root, "node_modules");
  const more = readdirSync(join(packages, "redoc/bundles")).filter((name) => redocLicences.test(name));
  return [
    ...[...licences, ...more.map((name) => join("redoc/bundles", name))].map((file) => [
      join(assetFolder, file),
      readFileSync(join(packages, file)),
    ]),
    ...served.map((file) => {
      const text = readFileSync(join(packages, file), "utf8").replaceAll(foreignPicture, "data:,");
      return [join(assetFolder, `${basename(file)}.br`), compressed(text)];
    }),
  ];
}

/** The script of the playground, bundled with GraphiQL, and the licences of all that is in it. */
async function playgroundFiles() {
  // Loaded here: this module is loaded before the packages are installed.
  const { build, stop } = await import("esbuild");
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { graphiql: "src/apis/graphql/playground/client.js" },
    outdir: "dist",
    bundle: true,
    minify: true,
    target: "es2022",
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    metafile: true,
    write: false,
  });
  await stop();
  const folders = Object.keys(metafile.inputs).map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  return [
    ...outputFiles.map(({ path, text }) => [
      join(playgroundFolder, `${basename(path)}.br`),
      compressed(text.replace(webFonts, "")),
    ]),
    [join(playgroundFolder, "LICENSES"), Buffer.from(licencesOf([...new Set(folders)].filter(Boolean).sort()))],
  ];
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

/** A file in Brotli's smallest form, as it is sent to browsers. To make it takes seconds, so results are kept. */
function compressed(text) {
  const kept = join(root, "node_modules/.cache/stoa-assets", createHash("sha256").update(text).digest("hex"));
  if (!existsSync(kept)) {
    const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
    const params = { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_SIZE_HINT]: text.length };
    put(kept, brotliCompressSync(text, { params }));
  }
  return readFileSync(kept);
}

/** Writes a file unless it is there. A test that runs at the same time may read it: it is never absent or half written. */
function put(path, bytes) {
  if (existsSync(path) && readFileSync(path).equals(bytes)) return;
  mkdirSync(dirname(path), { recursive: true });
  const own = `${path}.${process.pid}`;
  writeFileSync(own, bytes);
  renameSync(own, path);
}

export function assetsAreCopied() {
  const files = [
    ...served.map((file) => join(assetFolder, `${basename(file)}.br`)),
    ...["graphiql.css.br", "graphiql.js.br"].map((file) => join(playgroundFolder, file)),
    join(consoleFolder, "client.js"),
  ];
  return files.every((file) => existsSync(join(root, "dist", file)));
}
