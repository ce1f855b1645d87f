import type { MigrationStatus } from "../../migrations/status.js";
import { defineCommand } from "../command.js";
import { databaseOptions, withMigrator } from "./runner.js";

export const status = defineCommand({
  summary: "Shows which migrations the database has.",
  options: {
    json: { kind: "switch", help: "print a JSON list" },
    check: { kind: "switch", help: "exit with 1 unless all are applied as they are" },
    ...databaseOptions,
  },
  async run(call) {
    const { options, terminal } = call;
    const entries = await withMigrator(call, (migrator) => migrator.status());
    if (options.json) terminal.print(JSON.stringify(entries, null, 2));
    else if (entries.length === 0) terminal.print("there are no migrations yet");
    else for (const line of lines(entries)) terminal.print(line);
    return options.check && entries.some(({ state, changed }) => state !== "applied" || changed) ? 1 : 0;
  },
});

const marks: Readonly<Record<MigrationStatus["state"], string>> = {
  applied: "[x]",
  pending: "[ ]",
  unfinished: "[~]",
  missing: "[?]",
};

function lines(entries: readonly MigrationStatus[]): string[] {
  const width = Math.max(...entries.map(({ name }) => name.length));
  const rows = entries.map((entry) => `${marks[entry.state]} ${entry.name.padEnd(width)}  ${remark(entry)}`.trimEnd());
  const pending = entries.filter(({ state }) => state === "pending" || state === "unfinished").length;
  return [...rows, pending === 0 ? "all are applied" : `${pending} of ${entries.length} to apply`];
}

function remark({ state, appliedAt, changed }: MigrationStatus): string {
  const when = appliedAt === null ? "" : appliedAt.toISOString().replace("T", " ").slice(0, 19);
  if (state === "missing") return `${when}  its file is missing`;
  if (state === "unfinished") return "not finished: it runs without a transaction, `up` continues with it";
  return changed ? `${when}  changed since it was applied` : when;
}
