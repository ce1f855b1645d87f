import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ValueError } from "../../kit/value-error.js";
import { isTypeScript } from "../../migrations/files/import-module.js";
import { writeMigration } from "../../migrations/files/writer.js";
import { buildGraph, type MigrationGraph } from "../../migrations/graph.js";
import type { Migration, Operation } from "../../migrations/operation.js";
import { op } from "../../migrations/operations.js";
import { optimize } from "../../migrations/optimize.js";
import { stateAfter } from "../../migrations/plan.js";
import { defineCommand } from "../command.js";
import { configOption, migrationsOption, readProject } from "../project.js";
import { existingMigrations, fileExtension, writeNew } from "./migration-files.js";
import { shownPath } from "./runner.js";

export const squash = defineCommand({
  summary: "Writes one migration that stands for several.",
  args: "[FROM] TO",
  maxArgs: 2,
  options: {
    name: { kind: "text", value: "NAME", help: "the name of the new migration" },
    functions: {
      kind: "switch",
      on: true,
      help: "leave out functions: on an empty database there are no rows to move",
    },
    dryRun: { kind: "switch", help: "print the file, write nothing" },
    ...migrationsOption,
    ...configOption,
  },
  details: `
From the first one unless FROM is given, up to TO. The old files stay until every database has run the new one: where all
that it replaces is applied, it counts as applied. Then delete them; after the next \`up\` everywhere, \`replaces\` too.`,
  async run(call) {
    const { args, options, terminal, cwd } = call;
    if (args.length === 0) throw new ValueError("stoa migrate squash needs the last migration to squash: [FROM] TO");
    const project = await readProject(call);
    const existing = await existingMigrations(project.migrations);
    const graph = buildGraph(existing);
    const range = chosen(graph, args.length === 2 ? args[0]! : null, args.at(-1)!);
    const replaces = range.flatMap(({ name, replaces: older }) => [...older, name]);
    const operations = squashed(graph, range, options.functions ?? true);
    const extension = await fileExtension(existing, project.migrations, []);
    const text = writeMigration({
      dependsOn: outsideOf(graph, range),
      replaces,
      operations,
      language: isTypeScript(extension) ? "ts" : "js",
    });
    if (options.dryRun) {
      terminal.print(text.trimEnd());
      return;
    }
    const name = options.name ?? `${prefix(range[0]!.name)}_squashed_${prefix(range.at(-1)!.name)}`;
    const file = join(project.migrations, `${name}${extension}`);
    await writeNew(file, text);
    const before = range.reduce((sum, migration) => sum + migration.operations.length, 0);
    terminal.print(
      `wrote ${shownPath(cwd, file)}: ${range.length} migrations, ${before} operations, now ${operations.length}`,
    );
    terminal.print("keep the old files until every database has run `stoa migrate up` with the new one");
  },
});

/** The migrations between two, both included, in order. */
function chosen(graph: MigrationGraph, from: string | null, to: string): Migration[] {
  const last = graph.find(to).name;
  const within = new Set([...graph.before(last), last]);
  const first = from === null ? null : graph.find(from).name;
  if (first !== null && !within.has(first)) throw new ValueError(`${first} does not come before ${last}`);
  const after = first === null ? within : new Set([...graph.after(first), first]);
  const range = graph.order.filter(({ name }) => within.has(name) && after.has(name));
  if (range.length < 2) throw new ValueError(`there is only one migration to squash, ${last}`);
  return range;
}

/** The dependencies of the squashed migration. None of them may depend on one of its parts. */
function outsideOf(graph: MigrationGraph, range: readonly Migration[]): string[] {
  const names = new Set(range.map(({ name }) => name));
  const outside = new Set(range.flatMap(({ name }) => [...graph.parents(name)]).filter((name) => !names.has(name)));
  for (const name of outside) {
    const part = [...graph.before(name)].find((each) => names.has(each));
    if (part !== undefined)
      throw new ValueError(`${name} comes between: it depends on ${part}; squash from an earlier one`);
  }
  return [...outside].sort();
}

function squashed(graph: MigrationGraph, range: readonly Migration[], functions: boolean): readonly Operation[] {
  if (functions) for (const migration of range) refuseFunctions(migration);
  const names = new Set(range.map(({ name }) => name));
  const ahead = new Set([...names].flatMap((name) => [...graph.before(name)]));
  const before = graph.order.filter(({ name }) => ahead.has(name) && !names.has(name));
  const kept = range.flatMap((migration) => migration.operations.filter((operation) => !isFunction(operation)));
  const operations = optimize(kept.map(inTransaction));
  const start = stateAfter(before);
  const reached = operations.reduce((state, operation) => operation.apply(state), start);
  if (!isDeepStrictEqual(reached, stateAfter([...before, ...range]))) {
    throw new ValueError("the squashed migration would not lead to the same schema: squash a shorter range");
  }
  return operations;
}

/** On an empty database no client is blocked: an index need not be built concurrently. */
function inTransaction(operation: Operation): Operation {
  const [kind, ...args] = operation.source;
  if (operation.transactional) return operation;
  if (kind === "createIndex") return op.createIndex(...(args.slice(0, 3) as Parameters<typeof op.createIndex>));
  if (kind === "dropIndex") return op.dropIndex(...(args.slice(0, 2) as Parameters<typeof op.dropIndex>));
  return operation;
}

function isFunction({ source }: Operation): boolean {
  return source.some((part) => typeof part === "function");
}

function refuseFunctions({ name, operations }: Migration): void {
  const wrong = operations.find(isFunction);
  if (wrong === undefined) return;
  throw new ValueError(
    `${name} has a function (${wrong.description}), which cannot be copied into another file: leave functions out with --no-functions, ` +
      "which only matters to databases that are still empty, or squash what comes before or after it",
  );
}

/** The number of a migration, or all of its name. */
function prefix(name: string): string {
  return /^\d+/.exec(name)?.[0] ?? name;
}
