import { resolve } from "node:path";
import { bindDatabase } from "../../engines/db/default-database.js";
import { ValueError } from "../../kit/value-error.js";
import { exportsOf, importModule } from "../../migrations/files/import-module.js";
import { defineCommand } from "../command.js";
import { shownPath } from "../migrate/runner.js";
import { configOption, databaseOption, readProject } from "../project.js";

export const seed = defineCommand({
  summary: "Fills the database with rows to begin with, by a function of the project.",
  args: "[FILE]",
  maxArgs: 1,
  options: { ...databaseOption, ...configOption },
  details: `
FILE, or \`seed\` of the config, is a module whose default export is a function. It gets the database, and models are bound
to it. All that it writes is one transaction. Write it so that it can run again: getOrCreate(), onConflict.`,
  async run(call) {
    const { args, cwd, terminal } = call;
    const project = await readProject(call);
    const file = args[0] === undefined ? project.seed : resolve(cwd, args[0]);
    if (file === undefined) throw new ValueError("no seed: give the file, or name it as 'seed' in stoa.config.ts");
    const run = exportsOf(await importModule(file))["default"];
    if (typeof run !== "function") {
      throw new ValueError(`${file} has no function as its default export: \`export default async (db) => { ... }\``);
    }
    await project.withDatabase(async (database) => {
      bindDatabase(database);
      try {
        await database.transaction((tx) => run(tx));
      } finally {
        bindDatabase(null);
      }
    });
    terminal.print(`seeded by ${shownPath(cwd, file)}`);
  },
});
