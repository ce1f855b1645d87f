import { relative } from "node:path";
import type { Database } from "../../engines/db/database.js";
import type { Duration } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { eventLine, type MigrationEvent } from "../../migrations/event.js";
import { Migrator } from "../../migrations/migrator.js";
import type { OptionSpecs } from "../arguments.js";
import type { CommandCall } from "../command.js";
import { configOption, databaseOption, migrationsOption, readProject } from "../project.js";
import type { Terminal } from "../terminal.js";

/** Options of the commands that work on a database. */
export const databaseOptions = {
  ...databaseOption,
  ...migrationsOption,
  ...configOption,
} as const satisfies OptionSpecs;

/** Options of the commands that change one. */
export const runOptions = {
  dryRun: { kind: "switch", help: "print the SQL, change nothing" },
  fake: { kind: "switch", help: "record only: what the migrations do was done by hand" },
  allowDrift: { kind: "switch", help: "continue although an applied migration was changed or its file is missing" },
  lockTimeout: { kind: "text", value: "TIME", help: "how long to wait for another process that migrates (1m)" },
  tableLockTimeout: {
    kind: "text",
    value: "TIME",
    help: "how long a statement may wait for a table in use (no limit)",
  },
} as const satisfies OptionSpecs;

/** Opens the database and runs a function with its migrator, which tells the terminal what it does. */
export async function withMigrator<T>(
  call: CommandCall<typeof databaseOptions & typeof runOptions>,
  run: (migrator: Migrator, database: Database) => Promise<T>,
): Promise<T> {
  const { options, terminal, signal } = call;
  const project = await readProject(call);
  return project.withDatabase((database) => {
    const { allowDrift, lockTimeout, tableLockTimeout } = options;
    const migrator = new Migrator(database, {
      directory: project.migrations,
      table: project.table,
      signal,
      onEvent: (event) => show(terminal, event),
      allowDrift,
      lockTimeout: timeOf(lockTimeout),
      tableLockTimeout: timeOf(tableLockTimeout),
    });
    return run(migrator, database);
  });
}

/** A time as it is written after a flag: `3`, `3s` or `250ms`. The migrator checks it. */
function timeOf(text: string | undefined): Duration | undefined {
  return text !== undefined && /^[\d.]+$/.test(text) ? Number(text) : (text as Duration | undefined);
}

/** The migration that is named, as an option or as it stands. */
export function targetOf(option: string | undefined, [arg]: readonly string[]): string | undefined {
  if (option !== undefined && arg !== undefined) throw new ValueError(`--to ${option} and ${arg}: give one of them`);
  return option ?? arg;
}

/** A path as a user in the folder would write it. */
export function shownPath(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short === "" ? "." : short.startsWith("..") ? path : short;
}

/**
 * Finished migrations are the result of the command and go to standard output. All other events go to standard error.
 */
function show(terminal: Terminal, event: MigrationEvent): void {
  if (event.type === "done" || event.type === "adopted") terminal.print(eventLine(event));
  else terminal.note(eventLine(event));
}
