import { type Dirent, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";

const sourceFile = /\.(?:[cm]?[jt]s|[jt]sx|json|env)$|^\.env(?:\.|$)/;
const skippedFolders = new Set(["node_modules", "coverage", "dist", "build", "out"]);

/**
 * Reports changed source files below the given folders, those of one moment together. One watcher per folder: the
 * recursive mode of `fs.watch` loses events on Linux in Node 20.
 */
export class FileWatcher {
  readonly #folders = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  readonly #onChange: (paths: readonly string[]) => void;
  readonly #quiet: number;
  #timer: NodeJS.Timeout | undefined;
  /** The first folder that the system would not watch, and why. */
  problem: Error | null = null;

  /** The folders given are watched whatever their names; those below them by the usual rules. */
  constructor(roots: readonly string[], onChange: (paths: readonly string[]) => void, quiet = 50) {
    this.#onChange = onChange;
    this.#quiet = quiet;
    for (const root of roots) this.#addTree(root, false);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #addTree(folder: string, isNew: boolean): void {
    if (!this.#add(folder)) return;
    for (const entry of entriesOf(folder)) {
      if (entry.isDirectory()) {
        if (!isSkipped(entry.name)) this.#addTree(join(folder, entry.name), isNew);
      } else if (isNew && sourceFile.test(entry.name)) this.#note(join(folder, entry.name));
    }
  }

  #add(folder: string): boolean {
    if (this.#folders.has(folder)) return false;
    try {
      const watcher = watch(folder, (event, name) => this.#hear(folder, event, name));
      watcher.on("error", () => this.#remove(folder));
      this.#folders.set(folder, watcher);
      return true;
    } catch (error) {
      this.problem ??= error as Error;
      return false;
    }
  }

  #remove(folder: string): void {
    for (const [path, watcher] of this.#folders) {
      if (path !== folder && !path.startsWith(join(folder, "/"))) continue;
      watcher.close();
      this.#folders.delete(path);
    }
  }

  #hear(folder: string, event: string, name: string | null): void {
    if (name === null) return;
    const path = join(folder, name);
    if (sourceFile.test(name)) this.#note(path);
    else if (event === "rename" && !isSkipped(name)) {
      // A folder that came, went, or was replaced by another of the same name.
      this.#remove(path);
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) this.#addTree(path, true);
    }
  }

  #note(path: string): void {
    this.#changed.add(path);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const paths = [...this.#changed];
      this.#changed.clear();
      this.#onChange(paths);
    }, this.#quiet);
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isSkipped(name: string): boolean {
  return name.startsWith(".") || skippedFolders.has(name);
}
