import type { SchemaState } from "../orm/schema/state.js";
import { type Risk, risksOf, tablesCreatedBy } from "./lint-rules.js";
import type { MigrationDefinition } from "./operation.js";

/** A part of a migration that would lock a table for long, or break the version of the application that is running. */
export interface LintFinding extends Omit<Risk, "table"> {
  readonly migration: string;
  /** The operation in words: `create index books_year_idx on books`. */
  readonly operation: string;
}

type Linted = Pick<MigrationDefinition, "operations" | "assured"> & { readonly name: string };

/**
 * The risks of a migration, by its statements: those of operations and those written by hand alike. Tables that the migration
 * itself creates have no rows, and no version that is running uses them. A view that it drops and creates again stays. A migration
 * that is `assured` has none.
 */
export function lint({ name, operations, assured }: Linted, before: SchemaState): readonly LintFinding[] {
  if (assured !== undefined) return [];
  const findings = new Map<string, LintFinding & Pick<Risk, "table">>();
  const created = new Set<string>();
  let state = before;
  for (const operation of operations) {
    for (const step of operation.up(state)) {
      if (typeof step !== "string") continue;
      for (const table of tablesCreatedBy(step)) created.add(table);
      for (const { rule, table, risk, cure } of risksOf(step, state)) {
        const key = `${operation.description} ${rule}`;
        if (created.has(table) || findings.has(key)) continue;
        findings.set(key, { migration: name, operation: operation.description, rule, table, risk, cure });
      }
    }
    state = operation.apply(state);
  }
  return [...findings.values()]
    .filter(({ rule, table }) => rule !== "dropView" || !created.has(table))
    .map(({ table: _, ...finding }) => finding);
}
