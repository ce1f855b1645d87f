/** Renames the things that stay to their names in the new state. After that a name means the same on both sides. */

import { isDeepStrictEqual } from "node:util";
import { primaryKeyName } from "../../orm/schema/names.js";
import type { SchemaState, TableState } from "../../orm/schema/state.js";
import type { DesiredSchema } from "../../orm/schema/state-of-models.js";
import { MigrationError } from "../errors.js";
import { has, own } from "../lookup.js";
import { op } from "../operations.js";
import { type Journal, tablesThatStay } from "./journal.js";
import type { Asker } from "./questions.js";

export function renameEnums(journal: Journal, to: SchemaState, ask: Asker): void {
  for (const [name, values] of Object.entries(to.enums)) {
    if (has(journal.state.enums, name)) continue;
    const former = Object.keys(journal.state.enums).filter(
      (each) => !has(to.enums, each) && isDeepStrictEqual(journal.state.enums[each], values),
    );
    const from = firstAgreed(former, (each) => ask.renamed({ kind: "renameEnum", from: each, to: name }));
    if (from !== undefined) journal.add(op.renameEnum(from, name));
  }
}

/** A value may have been renamed if another one has its position. */
export function renameEnumValues(journal: Journal, to: SchemaState, ask: Asker): void {
  for (const [name, values] of Object.entries(to.enums)) {
    const old = own(journal.state.enums, name);
    if (old?.length !== values.length) continue;
    for (const [index, value] of values.entries()) {
      const from = old[index]!;
      if (old.includes(value) || values.includes(from)) continue;
      if (ask.renamed({ kind: "renameEnumValue", enum: name, from, to: value })) {
        journal.add(op.renameEnumValue(name, from, value));
      }
    }
  }
}

export function renameTables(journal: Journal, desired: DesiredSchema, ask: Asker): void {
  const { tables } = desired.state;
  followHints(
    Object.keys(tables),
    (name) => own(desired.renamedTables, name),
    () => journal.state.tables,
    (from, to) => journal.add(op.renameTable(from, to)),
  );
  for (const [name, table] of Object.entries(tables)) {
    if (has(journal.state.tables, name)) continue;
    const former = Object.keys(journal.state.tables).filter(
      (each) => !has(tables, each) && likeness(journal.state.tables[each]!, table) >= 0.6,
    );
    const from = firstAgreed(former, (each) => ask.renamed({ kind: "renameTable", from: each, to: name }));
    if (from !== undefined) journal.add(op.renameTable(from, name));
  }
}

export function renameColumns(journal: Journal, desired: DesiredSchema, ask: Asker): void {
  for (const [name, table] of Object.entries(desired.state.tables)) {
    if (!has(journal.state.tables, name)) continue;
    const current = (): TableState => journal.state.tables[name]!;
    const rename = (from: string, to: string): void => journal.add(op.renameColumn(name, from, to));
    followHints(
      Object.keys(table.columns),
      (column) => own(own(desired.renamedColumns, name), column),
      () => current().columns,
      rename,
    );
    if (desired.automaticTables?.includes(name)) followTargets(current(), table, rename);
    for (const [column, { type }] of Object.entries(table.columns)) {
      if (has(current().columns, column)) continue;
      const former = Object.keys(current().columns).filter(
        (each) => !has(table.columns, each) && current().columns[each]!.type === type,
      );
      const from = firstAgreed(former, (each) =>
        ask.renamed({ kind: "renameColumn", table: name, from: each, to: column }),
      );
      if (from !== undefined) rename(from, column);
    }
  }
}

/** The constraints and indexes that are the same under another name. */
export function renameParts(journal: Journal, to: SchemaState): void {
  for (const { name, table: current, wanted: table } of tablesThatStay(journal, to)) {
    if (isDeepStrictEqual(current.primaryKey, table.primaryKey) && current.primaryKeyName !== table.primaryKeyName) {
      journal.add(op.renameConstraint(name, primaryKeyName(name, current), primaryKeyName(name, table)));
    }
    for (const kind of ["unique", "checks", "foreignKeys", "indexes"] as const) {
      for (const [from, part] of Object.entries(current[kind] ?? {})) {
        if (has(table[kind], from)) continue;
        const same = Object.entries(table[kind] ?? {}).find(
          ([each, other]) => !has(journal.state.tables[name]![kind], each) && isDeepStrictEqual(part, other),
        );
        if (same === undefined) continue;
        journal.add(
          kind === "indexes" ? op.renameIndex(name, from, same[0]) : op.renameConstraint(name, from, same[0]),
        );
      }
    }
  }
}

/**
 * Follows the former names that models give while they apply: the new name does not exist and the old one does. A hint
 * whose rename was made long ago has no effect. In a chain (a to b, b to c) the last comes first.
 */
function followHints(
  names: readonly string[],
  hintsFor: (name: string) => readonly string[] | undefined,
  current: () => Readonly<Record<string, unknown>>,
  rename: (from: string, to: string) => void,
): void {
  refuseCircles(names, hintsFor);
  for (;;) {
    const next = names.flatMap((to) => {
      const from = has(current(), to) ? undefined : hintsFor(to)?.find((each) => has(current(), each));
      return from === undefined ? [] : [{ from, to }];
    })[0];
    if (next === undefined) return;
    rename(next.from, next.to);
  }
}

/**
 * Refuses names that were exchanged (a to b, b to a). The hints stay in the models, and after the migration nothing
 * would show that the exchange was already made.
 */
function refuseCircles(names: readonly string[], hintsFor: (name: string) => readonly string[] | undefined): void {
  for (const start of names) {
    const circle = [start];
    for (;;) {
      const current = circle.at(-1)!;
      const former = hintsFor(current)?.find((each) => each !== current && names.includes(each));
      if (former === start) {
        throw new MigrationError(
          `renamedFrom goes in a circle: ${[...circle, start].join(", from ")}. Rename one of them to a new name first, in a separate migration`,
        );
      }
      if (former === undefined || circle.includes(former)) break;
      circle.push(former);
    }
  }
}

/** The two columns of a table between models are called after tables; what they refer to identifies them. */
function followTargets(current: TableState, wanted: TableState, rename: (from: string, to: string) => void): void {
  const targets = (table: TableState): [string, string][] =>
    Object.values(table.foreignKeys ?? {}).map((key) => [key.columns[0]!, key.table]);
  for (const [column, target] of targets(wanted)) {
    if (has(current.columns, column)) continue;
    const former = targets(current).filter(([each, other]) => other === target && !has(wanted.columns, each));
    if (former.length === 1) rename(former[0]![0], column);
  }
}

/**
 * The first name whose rename was confirmed. Undefined as long as a question before it has no answer: the later ones
 * wait for that answer.
 */
function firstAgreed(names: readonly string[], renamed: (name: string) => boolean | undefined): string | undefined {
  for (const name of names) {
    const answer = renamed(name);
    if (answer !== false) return answer ? name : undefined;
  }
  return undefined;
}

/** The share of columns that two tables have in common, from 0 to 1. */
function likeness(a: TableState, b: TableState): number {
  const names = Object.keys(a.columns);
  const common = names.filter((name) => a.columns[name]!.type === own(b.columns, name)?.type);
  return common.length / Math.max(names.length, Object.keys(b.columns).length, 1);
}
