import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageFolder } from "../package-folder.js";

/** Reads files by name, each once, when it is first asked for. A failed read is tried again by the next call. */
export function readOnce<Name, File>(read: (name: Name) => Promise<File>): (name: Name) => Promise<File> {
  const files = new Map<Name, Promise<File>>();
  return (name) => {
    let file = files.get(name);
    if (file === undefined) {
      file = read(name);
      files.set(name, file);
      file.catch(() => files.delete(name));
    }
    return file;
  };
}

/** The bytes of a file that is published in Brotli; scripts/copy-assets.mjs writes it into the package. */
export const publishedFile = readOnce(
  (path: string): Promise<Buffer> =>
    readFile(join(packageFolder(), "dist", `${path}.br`)).catch((error) => {
      throw missingFile(path, error);
    }),
);

/** The error for a file that is served from the package and is not there. */
export function missingFile(name: string, cause: unknown): Error {
  return new Error(
    `${name} is a file of the package stoa and was not found. A bundled application needs the package beside the bundle: node_modules/stoa. A checkout of its sources needs a build: npm run build`,
    { cause },
  );
}
