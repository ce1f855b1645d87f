import { defineCommand } from "../command.js";
import { readProject } from "../project.js";
import { databaseOptions, withMigrator } from "./runner.js";

export const diff = defineCommand({
  summary: "Shows where the database differs from what its migrations made of it; exits with 1 when it does.",
  options: {
    all: { kind: "switch", help: "tables that no migration has made count as well" },
    ...databaseOptions,
  },
  async run(call) {
    const { options, terminal } = call;
    const { table } = await readProject(call);
    const { databaseDrift } = await import("../../introspection/index.js");
    const lines = await withMigrator(call, async (migrator, database) =>
      databaseDrift(database, await migrator.state(), { exclude: [table], unexpected: options.all ?? false }),
    );
    if (lines.length === 0) terminal.print("the database is as its migrations made it");
    for (const line of lines) terminal.print(line);
    return lines.length === 0 ? 0 : 1;
  },
});
