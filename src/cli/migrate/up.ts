import { defineCommand } from "../command.js";
import { databaseOptions, runOptions, targetOf, withMigrator } from "./runner.js";

export const up = defineCommand({
  summary: "Applies the migrations that the database does not have yet.",
  args: "[NAME]",
  maxArgs: 1,
  options: {
    to: { kind: "text", value: "NAME", help: "the last one to apply; NAME alone means the same" },
    ...runOptions,
    ...databaseOptions,
  },
  details: `
Each migration runs in a transaction together with its record, unless it says \`transaction: false\`. A name may be cut
short as long as it is clear: 0003. Several processes may run this at once: one works, the others wait for it.`,
  async run(call) {
    const { options, args, terminal } = call;
    const to = targetOf(options.to, args);
    return withMigrator(call, async (migrator) => {
      if (options.dryRun) {
        const script = await migrator.sql({ to });
        terminal.print(script === "" ? "-- nothing to do" : script.trimEnd());
        return;
      }
      const done = await migrator.up({ to, fake: options.fake });
      if (done.length === 0) terminal.print("nothing to do: all migrations are applied");
    });
  },
});
