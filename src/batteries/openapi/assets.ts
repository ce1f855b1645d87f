import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { missingFile, publishedFiles, readOnce } from "../../kit/pages/page-files.js";

/** The packages whose files are copied into the built package, and those files; scripts/copy-assets.mjs does it. */
const files = {
  "swagger-ui.css": ["swagger-ui-dist", "swagger-ui.css", "text/css; charset=utf-8"],
  "swagger-ui-bundle.js": ["swagger-ui-dist", "swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  "redoc.standalone.js": ["redoc", "bundles/redoc.standalone.js", "text/javascript; charset=utf-8"],
} as const;

export type AssetName = keyof typeof files;

export interface Asset {
  readonly body: string;
  /** With its charset: these scripts hold characters that do not parse in another. */
  readonly type: string;
}

/** Redoc's one picture comes from elsewhere; an address that does not load makes it leave the picture out. */
const foreignPicture = "https://cdn.redoc.ly/redoc/logo-mini.svg";

const copies = publishedFiles("openapi/assets");

/** A file of a user interface. */
export const loadAsset = readOnce(async (name: AssetName): Promise<Asset> => {
  const [packageName, path, type] = files[name];
  try {
    const published = await copies().catch(() => null);
    const body = published?.[name] ?? (await fromPackage(packageName, path));
    return { body: body.replaceAll(foreignPicture, "data:,"), type };
  } catch (error) {
    throw missingFile(name, error);
  }
});

/** The file of the package itself, when run from the sources. */
async function fromPackage(packageName: string, path: string): Promise<string> {
  const folder = dirname(createRequire(import.meta.url).resolve(`${packageName}/package.json`));
  return readFile(join(folder, path), "utf8");
}
