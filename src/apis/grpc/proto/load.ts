import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { DescFile } from "@bufbuild/protobuf";
import { ValueError } from "../../../kit/value-error.js";
import { createFileRegistry, wellKnown } from "../protobuf.js";
import { parseProto } from "./parse.js";
import { resolveNames } from "./resolve-names.js";

/** The files that come with protobuf: `google/protobuf/timestamp.proto` and others. */
const shipped: ReadonlyMap<string, DescFile> = new Map(
  Object.values(wellKnown)
    .filter((value): value is DescFile => (value as Partial<DescFile> | null)?.kind === "file")
    .map((file) => [`${file.name}.proto`, file]),
);

/** Reads a definition: the text of a `.proto` file, its path, or its URL. Imports are looked up in the folders. */
export function loadProto(given: string | URL, folders: readonly string[] = []): DescFile {
  // A path has neither line ends nor braces.
  if (typeof given === "string" && /[\n{;]/.test(given)) return new Loader(folders).add("service.proto", given);
  const path = typeof given === "string" ? resolve(given) : fileURLToPath(given);
  const own = dirname(path);
  return new Loader([own, ...folders]).add(path.slice(own.length + 1), readFileSync(path, "utf8"));
}

/** Reads the text of a file that has the given name. */
export function loadNamed(name: string, text: string): DescFile {
  return new Loader([]).add(name, text);
}

class Loader {
  readonly #folders: readonly string[];
  readonly #files = new Map<string, DescFile>();
  readonly #open: string[] = [];

  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  add(name: string, text: string): DescFile {
    const proto = parseProto(name, text);
    this.#open.push(name);
    const imports = proto.dependency.map((dependency) => this.#import(dependency, name));
    this.#open.pop();
    resolveNames(proto, visible(imports));
    const registry = createFileRegistry(proto, (dependency) => this.#files.get(dependency) ?? shipped.get(dependency));
    const file = registry.getFile(name);
    if (file === undefined) throw new ValueError(`${name} cannot be read`);
    this.#files.set(name, file);
    return file;
  }

  #import(name: string, importer: string): DescFile {
    const known = this.#files.get(name) ?? shipped.get(name);
    if (known !== undefined) return known;
    if (this.#open.includes(name)) throw new ValueError(`${[...this.#open, name].join(" imports ")}, which is a cycle`);
    for (const folder of this.#folders) {
      let text: string;
      try {
        text = readFileSync(join(folder, name), "utf8");
      } catch {
        continue;
      }
      return this.add(name, text);
    }
    const places = this.#folders.length === 0 ? "option 'protoPath' names no folder" : this.#folders.join(", ");
    throw new ValueError(`${importer} imports ${JSON.stringify(name)}, which was not found: ${places}`);
  }
}

/** The imports, and the files that they import publicly. */
function visible(imports: readonly DescFile[]): DescFile[] {
  const all = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (all.has(file)) return;
    all.add(file);
    for (const index of file.proto.publicDependency) {
      const dependency = file.dependencies[index];
      if (dependency !== undefined) add(dependency);
    }
  };
  for (const file of imports) add(file);
  return [...all];
}
