import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { ValueError } from "../kit/value-error.js";
import type { Terminal } from "./terminal.js";

/** A file that a command makes from the application, and that is kept in the repository: `--out` and `--check`. */
export class KeptFile {
  readonly path: string;
  readonly cure: string;
  readonly #name: string;
  readonly #terminal: Terminal;

  constructor(command: string, name: string, cwd: string, terminal: Terminal) {
    this.path = resolve(cwd, name);
    this.cure = `write it with \`stoa ${command} --out ${name}\``;
    this.#name = name;
    this.#terminal = terminal;
  }

  /** Writes the file; the result is the exit code. */
  async write(text: string): Promise<0> {
    await writeFile(this.path, text);
    this.#terminal.note(`wrote ${this.#name}`);
    return 0;
  }

  async read(): Promise<string> {
    return readFile(this.path, "utf8").catch((cause: unknown) => {
      throw new ValueError(`${this.path} cannot be read: ${this.cure}`, { cause });
    });
  }

  /** Tells the result of a comparison; the result is the exit code. */
  isUpToDate(same: boolean): 0 | 1 {
    this.#terminal.note(same ? `${this.#name} is up to date` : `stoa: ${this.#name} is out of date: ${this.cure}`);
    return same ? 0 : 1;
  }
}
