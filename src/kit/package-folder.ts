import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";

let folder: string | undefined;

/**
 * The folder of this package. The paths of its files do not tell it: the code runs from sources, or bundled into fewer
 * files.
 */
export function packageFolder(): string {
  return (folder ??= find());
}

function find(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve("stoa/package.json"));
  } catch {
    // The package was bundled into a file of the application.
    return dirname(fileURLToPath(import.meta.url));
  }
}

/** True for a file of this package: of its sources, or of a build of them (`dist`, or that of its tests). */
export function isPackageFile(path: string): boolean {
  const start = packageFolder() + sep;
  return path.startsWith(start) && /^(?:src|dist[\w-]*)[\\/]/.test(path.slice(start.length));
}
