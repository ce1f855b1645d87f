import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The checkout whose build is measured: STOA_DIST, else this one. */
const folder = process.env.STOA_DIST ?? fileURLToPath(new URL("../..", import.meta.url));

/** Loads an entry of the built package, as its package.json names it: another revision may have other files. */
export function stoaEntry(name = "") {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return import(pathToFileURL(join(folder, exports[name === "" ? "." : `./${name}`].default)).href);
}
