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

/** The file, line and column of a frame: `at f (file:///a/b.ts:1:2)`, `at async file:///a/b.ts:1:2`, `at /a/b.ts:1:2`. */
export function placeOf(frame: string): string | null {
  const text = frame.trim();
  if (!text.startsWith("at ")) return null;
  const open = text.lastIndexOf("(");
  const place = open !== -1 && text.endsWith(")") ? text.slice(open + 1, -1) : text.slice(text.lastIndexOf(" ") + 1);
  if (!/:\d+:\d+$/.test(place)) return null;
  return place.startsWith("file://") ? pathOf(place) : place;
}

function pathOf(url: string): string {
  const end = url.lastIndexOf(":", url.lastIndexOf(":") - 1);
  return fileURLToPath(url.slice(0, end)) + url.slice(end);
}
