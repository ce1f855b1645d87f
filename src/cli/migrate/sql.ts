import { ValueError } from "../../kit/value-error.js";
import { loadMigrations } from "../../migrations/files/load.js";
import { scriptBetween } from "../../migrations/files/sql-script.js";
import { Recorder } from "../../migrations/recorder.js";
import { defineCommand } from "../command.js";
import { readProject } from "../project.js";
import { databaseOptions, withMigrator } from "./runner.js";

export const sql = defineCommand({
  summary: "Prints what up or down would run; changes nothing.",
  options: {
    from: { kind: "text", value: "NAME", help: "begin after this one, or at `zero`, without looking at a database" },
    to: { kind: "text", value: "NAME", help: "end with this one, or at `zero`" },
    down: { kind: "switch", help: "what down would run" },
    steps: { kind: "number", value: "N", help: "with --down: how many to undo (1)" },
    ...databaseOptions,
  },
  details: `
The script records the migrations as well, so that it can be run by hand. A function of a migration is a comment in it.`,
  async run(call) {
    const { options, terminal } = call;
    const to = options.to === "zero" ? null : options.to;
    const script = options.from === undefined ? await fromDatabase() : await between(options.from);
    terminal.print(script === "" ? "-- nothing to do" : script.trimEnd());

    function fromDatabase(): Promise<string> {
      const { down = false, steps } = options;
      if (to === null && !down) throw new ValueError("--to zero is for --down");
      return withMigrator(call, (migrator) => migrator.sql({ to, steps, down }));
    }

    async function between(from: string): Promise<string> {
      const project = await readProject(call);
      const migrations = await loadMigrations(project.migrations);
      return scriptBetween(migrations, new Recorder(project.table), from === "zero" ? null : from, to);
    }
  },
});
