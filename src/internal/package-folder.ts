import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

let folder: string | undefined;

/** Where this package lies: its code runs from sources or built into fewer files, so their own places tell nothing. */
export function packageFolder(): string {
  return (folder ??= find());
}

function find(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve("stoa/package.json"));
  } catch {
    // Somebody has built the package into a file of their own.
    return dirname(fileURLToPath(import.meta.url));
  }
}
