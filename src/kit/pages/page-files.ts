import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { nodeZlib } from "../node-modules.js";
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

/** The texts of files that are published compressed, by name; scripts/copy-assets.mjs writes them into `folder` of the package. */
export function publishedFiles(folder: string): () => Promise<Readonly<Record<string, string>>> {
  const read = readOnce(async (path: string): Promise<Record<string, string>> => {
    const bytes = await readFile(join(packageFolder(), "dist", path, "files.br"));
    return JSON.parse((await promisify(nodeZlib().brotliDecompress)(bytes)).toString());
  });
  return () => read(folder);
}

/** The error for a file that is served from the package and is not there. */
export function missingFile(name: string, cause: unknown): Error {
  return new Error(
    `${name} is a file of the package stoa and was not found. A bundled application needs the package beside the bundle: node_modules/stoa`,
    { cause },
  );
}
