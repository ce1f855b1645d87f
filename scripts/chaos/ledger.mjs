import { appendFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What has happened, in files that only grow: one for each process. A line is written by one call before the process continues,
 * so a process that is killed loses none.
 */
export class Ledger {
  constructor(folder) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** All entries of a kind, in the order of their time. The clock is that of the machine, the same for all processes. */
  read(kind) {
    return this.readAll().get(kind) ?? [];
  }

  /** The entries of all kinds, by their kind. */
  readAll() {
    const kinds = new Map();
    for (const file of readdirSync(this.folder)) {
      const lines = readFileSync(join(this.folder, file), "utf8").split("\n");
      // A line without an end was being written when its process was killed.
      lines.pop();
      for (const line of lines) {
        const entry = JSON.parse(line);
        if (!kinds.has(entry.kind)) kinds.set(entry.kind, []);
        kinds.get(entry.kind).push(entry);
      }
    }
    for (const entries of kinds.values()) entries.sort((a, b) => (BigInt(a.time) < BigInt(b.time) ? -1 : 1));
    return kinds;
  }
}

/** The writing end, in any process. */
export function ledgerFile(folder, name) {
  const file = join(folder, `${name}-${process.pid}`);
  return (kind, fields) => {
    appendFileSync(file, `${JSON.stringify({ kind, time: String(process.hrtime.bigint()), ...fields })}\n`);
  };
}
