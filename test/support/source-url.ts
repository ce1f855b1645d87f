import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { mirrored } from "../../scripts/testing/mirror.mjs";

const sources = join(import.meta.dirname, "../../src");

/** The URL of a source as JavaScript, for programs that Node runs without a loader: the module that tests import as well. */
export function sourceUrl(path: string): string {
  const file = mirrored(join(sources, path));
  if (file === undefined) throw new Error(`no source ${path}`);
  return pathToFileURL(file).href;
}
