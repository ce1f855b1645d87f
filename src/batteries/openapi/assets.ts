import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { packageFolder } from "../../internal/package-folder.js";
import { missingFile, readOnce } from "../../internal/page-files.js";

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

/** A file of a user interface. */
export const loadAsset = readOnce(async (name: AssetName): Promise<Asset> => {
  const [packageName, path, type] = files[name];
  try {
    const body = await readFile(join(await folderOf(packageName), path), "utf8");
    return { body: body.replaceAll(foreignPicture, "data:,"), type };
  } catch (error) {
    throw missingFile(name, error);
  }
});

/** The copy that is published with this package; when run from its sources, the package itself. */
async function folderOf(packageName: string): Promise<string> {
  const copy = join(packageFolder(), "dist", "openapi", "assets", packageName);
  try {
    await readFile(join(copy, "LICENSE"));
    return copy;
  } catch {
    return dirname(createRequire(import.meta.url).resolve(`${packageName}/package.json`));
  }
}
