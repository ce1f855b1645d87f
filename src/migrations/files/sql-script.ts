import { sqlTokens } from "../../kit/sql-tokens.js";
import { literal } from "../../orm/identifiers.js";
import { buildGraph, requireOneHead } from "../graph.js";
import type { Migration, Step } from "../operation.js";
import { type PlannedMigration, planBetween } from "../plan.js";
import type { Recorder } from "../recorder.js";

/** The statements of a plan, those that record it included, as a script to read or to run by hand. */
export function sqlScript(plan: readonly PlannedMigration[], recorder: Recorder): string {
  if (plan.length === 0) return "";
  const parts = plan.map((planned) => migrationScript(planned, recorder));
  return [`${recorder.createStatement};\n`, ...parts].join("\n");
}

/**
 * The script from one migration to another, independent of the state of a database. Null stands for an empty database,
 * an absent `to` for the last migration.
 */
export function scriptBetween(
  migrations: readonly Migration[],
  recorder: Recorder,
  from: string | null,
  to: string | null | undefined,
): string {
  const graph = buildGraph(migrations);
  if (to === undefined) requireOneHead(graph);
  return sqlScript(planBetween(graph, from, to === undefined ? (graph.heads[0] ?? null) : to), recorder);
}

/** The statements of a planned migration; a line of comment in place of a function. */
export function statementsOf(planned: PlannedMigration): string[] {
  return planned.operations.flatMap(({ operation, steps }) =>
    steps.map((step) => stepText(step, operation.description)),
  );
}

function migrationScript(planned: PlannedMigration, recorder: Recorder): string {
  const { migration, direction } = planned;
  const lines = planned.operations.flatMap(({ operation, steps }) => [
    `-- ${oneLine(operation.description)}`,
    ...steps.map((step) => ended(stepText(step, operation.description))),
  ]);
  const record = recordText(planned, recorder);
  const body = migration.transaction ? ["BEGIN;", ...lines, record, "COMMIT;"] : [...lines, record];
  return `-- ${direction === "up" ? "" : "undo "}${migration.name}\n${body.join("\n")}\n`;
}

function recordText({ migration, direction }: PlannedMigration, { table }: Recorder): string {
  if (direction === "up") {
    const values = `(${literal(migration.name)}, ${literal(migration.checksum)})`;
    // One without a transaction may have been begun before.
    const begun = migration.transaction
      ? ""
      : "\n  ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum, applied_at = excluded.applied_at, operations = NULL";
    return `INSERT INTO ${table} (name, checksum) VALUES ${values}${begun};`;
  }
  const names = [migration.name, ...migration.replaces].map(literal);
  return `DELETE FROM ${table} WHERE name IN (${names.join(", ")});`;
}

function stepText(step: Step, description: string): string {
  if (typeof step === "string") return step;
  return `-- a function runs here, which cannot be shown as SQL: ${oneLine(description)}`;
}

function ended(text: string): string {
  const statement = text.trim();
  const tokens = [...sqlTokens(statement)];
  const last = tokens.findLast(({ kind }) => kind !== "space" && kind !== "comment");
  if (last === undefined || last.text === ";") return statement;
  // The semicolon must not become part of a comment.
  return tokens.at(-1)!.text.startsWith("--") ? `${statement}\n;` : `${statement};`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, (space) => (/[\r\n]/.test(space) ? " " : space));
}
