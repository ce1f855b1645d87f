import type { Database } from "../../engines/db/database.js";
import { ValueError } from "../../kit/value-error.js";
import type { Operation } from "../../migrations/operation.js";
import type { ColumnChanges } from "../../migrations/operations/read.js";
import type { SchemaState } from "../../orm/schema/state.js";
import { type DesiredSchema, desiredSchema } from "../../orm/schema/state-of-models.js";
import { defineCommand } from "../command.js";
import { answerOptions } from "../migrate/answers.js";
import { detect } from "../migrate/detect.js";
import { configOption, databaseOption, modelsOption, readProject } from "../project.js";

/** Operations that lose rows or values. */
const destructive = new Set(["dropTable", "dropColumn", "dropEnum", "alterEnum"]);

export const push = defineCommand({
  summary: "Changes the database to the models at once, without a migration: for prototypes.",
  options: {
    dryRun: { kind: "switch", help: "show the changes, change nothing" },
    acceptDataLoss: { kind: "switch", help: "also drop columns and change their types, with the values in them" },
    ...answerOptions,
    ...databaseOption,
    ...modelsOption,
    ...configOption,
  },
  details: `
It compares the models with the tables in the database, shows the changes and makes them in one transaction. Tables that no
model describes are left alone. A database that has migrations is refused: use \`stoa migrate\`.`,
  async run(call) {
    const { options, terminal } = call;
    const project = await readProject(call);
    const desired = desiredSchema(await project.models());
    return project.withDatabase(async (database) => {
      await refuseMigrated(database, project.table);
      const { from, wanted } = await states(database, desired, project.table);
      const operations = await detect(from, { ...desired, state: wanted }, options, terminal);
      if (operations.length === 0) {
        terminal.print("nothing to do: the database is as the models say");
        return 0;
      }
      for (const operation of operations)
        terminal.print(`${losesData(operation) ? "! " : "  "}${operation.description}`);
      if (options.dryRun) return 0;
      if (!options.acceptDataLoss && operations.some(losesData))
        throw new ValueError(
          "changes marked with ! lose data: nothing was changed; confirm them with --accept-data-loss",
        );
      await apply(database, from, operations);
      terminal.print(`${operations.length} ${operations.length === 1 ? "change was" : "changes were"} made`);
      return 0;
    });
  },
});

function losesData({ source: [name, ...args] }: Operation): boolean {
  if (destructive.has(name)) return true;
  if (name !== "alterColumn") return false;
  // A new type may not hold all values of the old one, and computed values take the place of those in the column.
  const { type, generated } = args[2] as ColumnChanges;
  return type !== undefined || (generated !== undefined && generated !== null);
}

/** Changes without a migration would not be known to the migrations that follow. */
async function refuseMigrated(database: Database, table: string): Promise<void> {
  const known = await database.fetchval("select to_regclass($1) is not null", [table]);
  if (known === true)
    throw new ValueError(`this database has migrations (${table}): use \`stoa migrate make\` and \`stoa migrate up\``);
}

/** The tables of the models as they are in the database, and as PostgreSQL would write the models. */
async function states(
  database: Database,
  desired: DesiredSchema,
  exclude: string,
): Promise<{ from: SchemaState; wanted: SchemaState }> {
  const { introspect, normalizeState } = await import("../../introspection/index.js");
  const wanted = await normalizeState(desired.state, database);
  const real = await introspect(database, { exclude: [exclude] });
  const names = new Set([...Object.keys(wanted.tables), ...Object.values(desired.renamedTables ?? {}).flat()]);
  const tables = Object.fromEntries(Object.entries(real.tables).filter(([name]) => names.has(name)));
  const types = new Set(
    [...Object.values(tables), ...Object.values(wanted.tables)].flatMap(({ columns }) =>
      Object.values(columns).map(({ type }) => itemType(type)),
    ),
  );
  const enums = Object.fromEntries(Object.entries(real.enums).filter(([name]) => types.has(name)));
  const views = Object.entries(real.views ?? {}).filter(([name]) => Object.hasOwn(wanted.views ?? {}, name));
  return { from: { tables, enums, views: Object.fromEntries(views) }, wanted };
}

async function apply(database: Database, from: SchemaState, operations: readonly Operation[]): Promise<void> {
  await database.transaction(async (tx) => {
    let state = from;
    for (const operation of operations) {
      for (const step of operation.up(state)) {
        if (typeof step === "string") await tx.script(step);
        else await step(tx);
      }
      state = operation.apply(state);
    }
  });
}

/** The type of an array's items: `status` of `status[][]`. */
function itemType(type: string): string {
  return type.endsWith("[]") ? itemType(type.slice(0, -2)) : type;
}
