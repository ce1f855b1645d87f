import { join } from "node:path";
import { ValueError } from "../../kit/value-error.js";
import { detectChanges } from "../../migrations/autodetector.js";
import { isTypeScript } from "../../migrations/files/import-module.js";
import type { LoadedMigration } from "../../migrations/files/load.js";
import { nameFor } from "../../migrations/files/migration-name.js";
import { writeMigration } from "../../migrations/files/writer.js";
import { buildGraph, type MigrationGraph, requireOneHead } from "../../migrations/graph.js";
import { lint } from "../../migrations/lint.js";
import type { MigrationDefinition } from "../../migrations/operation.js";
import { stateAfter } from "../../migrations/plan.js";
import { desiredSchema } from "../../orm/schema/state-of-models.js";
import { type CommandCall, defineCommand } from "../command.js";
import { configOption, migrationsOption, modelsOption, type Project, readProject } from "../project.js";
import { answerOptions } from "./answers.js";
import { detect } from "./detect.js";
import { riskLines } from "./lint.js";
import { existingMigrations, fileExtension, nextName, writeNew } from "./migration-files.js";
import { shownPath } from "./runner.js";

const options = {
  name: { kind: "text", value: "NAME", help: "what the migration is called after its number" },
  empty: { kind: "switch", help: "write one without operations, to be filled by hand" },
  merge: { kind: "switch", help: "write one that comes after several last ones" },
  check: { kind: "switch", help: "write nothing; exit with 1 when the models and the migrations differ" },
  dryRun: { kind: "switch", help: "print the file, write nothing" },
  ...answerOptions,
  ...modelsOption,
  ...migrationsOption,
  ...configOption,
} as const;

type MakeCall = CommandCall<typeof options>;

export const make = defineCommand({
  summary: "Writes a migration that brings the schema from the last migration to the models.",
  options,
  details: `
It compares the models with the migrations, not with a database. What the models do not tell is asked: whether a column
was renamed or replaced, and what existing rows get in a new column that must hold a value.`,
  async run(call) {
    const { empty, merge, check } = call.options;
    if ([empty, merge, check].filter(Boolean).length > 1) {
      throw new ValueError("give one of --empty, --merge and --check");
    }
    const project = await readProject(call);
    const existing = await existingMigrations(project.migrations);
    const graph = buildGraph(existing);
    if (merge) return write(call, project, existing, merged(graph), "merge");
    requireOneHead(graph);
    if (empty) return write(call, project, existing, { dependsOn: graph.heads, operations: [] }, "change");
    if (check) return compare(call, project, graph);
    const desired = desiredSchema(await project.models());
    const operations = await detect(stateAfter(graph.order), desired, call.options, call.terminal);
    if (operations.length === 0) {
      call.terminal.print("nothing to do: the migrations lead to the models");
      return;
    }
    const subject = nameFor(operations, { first: existing.length === 0 });
    return write(call, project, existing, { dependsOn: graph.heads, operations }, subject);
  },
});

async function compare({ terminal }: MakeCall, project: Project, graph: MigrationGraph): Promise<number> {
  const { operations } = detectChanges(stateAfter(graph.order), desiredSchema(await project.models()));
  if (operations.length === 0) {
    terminal.print("the migrations lead to the models");
    return 0;
  }
  terminal.print("the models differ from the migrations; `stoa migrate make` would write:");
  for (const { description } of operations) terminal.print(`  ${description}`);
  return 1;
}

function merged(graph: MigrationGraph): MigrationDefinition {
  if (graph.heads.length < 2) throw new ValueError("there is nothing to merge: only one migration is the last");
  // Changes that do not go together are found here, not in a database.
  stateAfter(graph.order);
  return { dependsOn: graph.heads, operations: [] };
}

async function write(
  { options, terminal, cwd }: MakeCall,
  project: Project,
  existing: readonly LoadedMigration[],
  definition: MigrationDefinition,
  subject: string,
): Promise<void> {
  const name = nextName(existing, options.name ?? subject);
  const extension = await fileExtension(existing, project.migrations, project.modules);
  const text = writeMigration({ ...definition, language: isTypeScript(extension) ? "ts" : "js" });
  if (options.dryRun) {
    terminal.print(text.trimEnd());
    return;
  }
  const file = join(project.migrations, `${name}${extension}`);
  await writeNew(file, text);
  terminal.print(`wrote ${shownPath(cwd, file)}`);
  for (const { description } of definition.operations) terminal.print(`  ${description}`);
  const risks = lint({ name, ...definition }, stateAfter(buildGraph(existing).order));
  for (const line of riskLines(risks)) terminal.print(line);
}
