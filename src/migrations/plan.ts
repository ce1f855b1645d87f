import { emptyState, type SchemaState } from "../orm/schema/state.js";
import { MigrationError } from "./errors.js";
import { type MigrationGraph, requireOneHead } from "./graph.js";
import type { History } from "./history.js";
import type { Migration, Operation, Step } from "./operation.js";

export type Direction = "up" | "down";

/** One operation with what is to be run for it. */
export interface PlannedOperation {
  readonly operation: Operation;
  /** Its place in the migration, from 0. */
  readonly index: number;
  readonly steps: readonly Step[];
}

/** A migration that is about to be applied or undone. */
export interface PlannedMigration {
  readonly migration: Migration;
  readonly direction: Direction;
  /** In the order in which they run; without those that an earlier, unfinished run has carried out. */
  readonly operations: readonly PlannedOperation[];
}

/** The migrations to apply up to the last one, or up to the one that is named. */
export function chooseUp({ graph, pending }: History, to?: string): Migration[] {
  if (to === undefined) {
    requireOneHead(graph);
    return [...pending];
  }
  const wanted = upTo(graph, to);
  return pending.filter(({ name }) => wanted.has(name));
}

export function planUp(history: History, to?: string): PlannedMigration[] {
  let state = stateAfter(history.applied);
  const plan: PlannedMigration[] = [];
  for (const migration of chooseUp(history, to)) {
    plan.push(planned(migration, "up", state, history.unfinished.get(migration.name) ?? 0));
    state = applyTo(state, migration);
  }
  return plan;
}

export interface DownTarget {
  /** The one to go back to, which stays; null for none. */
  readonly to?: string | null | undefined;
  /** The number of migrations to undo if no target is named. */
  readonly steps?: number | undefined;
}

/** The migrations to undo, the last first. */
export function chooseDown(history: History, target: DownTarget): Migration[] {
  const { graph } = history;
  const present = presentOf(history);
  if (target.to === null) return present.reverse();
  if (target.to === undefined) return present.slice(-(target.steps ?? 1)).reverse();
  const { name } = graph.find(target.to);
  if (!present.some((migration) => migration.name === name)) {
    throw new MigrationError(`${name} is not applied: there is no way back to it`);
  }
  const after = graph.after(name);
  return present.filter((migration) => after.has(migration.name)).reverse();
}

export function planDown(history: History, target: DownTarget): PlannedMigration[] {
  const left = presentOf(history);
  return chooseDown(history, target).map((migration) => {
    left.splice(left.indexOf(migration), 1);
    const inEffect = history.unfinished.get(migration.name) ?? migration.operations.length;
    return planned(migration, "down", stateAfter(left), inEffect);
  });
}

/**
 * The plan from one migration to another, independent of the state of a database; `from` is null for an empty database.
 */
export function planBetween(graph: MigrationGraph, from: string | null, to: string | null): PlannedMigration[] {
  const there = from === null ? new Set<string>() : upTo(graph, from);
  const goal = to === null ? new Set<string>() : upTo(graph, to);
  const up = graph.order.filter(({ name }) => goal.has(name) && !there.has(name));
  const down = graph.order.filter(({ name }) => there.has(name) && !goal.has(name)).reverse();
  const left = graph.order.filter(({ name }) => there.has(name));
  const plan: PlannedMigration[] = [];
  for (const migration of down) {
    left.splice(left.indexOf(migration), 1);
    plan.push(planned(migration, "down", stateAfter(left), migration.operations.length));
  }
  let state = stateAfter(left);
  for (const migration of up) {
    plan.push(planned(migration, "up", state, 0));
    state = applyTo(state, migration);
  }
  return plan;
}

/** The schema to which migrations lead. */
export function stateAfter(migrations: readonly Migration[]): SchemaState {
  return migrations.reduce(applyTo, emptyState);
}

function applyTo(state: SchemaState, migration: Migration): SchemaState {
  return statesOf(state, migration).at(-1)!;
}

/** The schema before each operation, and after the last. */
function statesOf(before: SchemaState, migration: Migration): SchemaState[] {
  const states = [before];
  for (const [index, operation] of migration.operations.entries()) {
    states.push(inside(migration, index, () => operation.apply(states.at(-1)!)));
  }
  return states;
}

/**
 * The first `inEffect` operations are in effect: on the way up they are left out, on the way down only they are undone.
 */
function planned(migration: Migration, direction: Direction, before: SchemaState, inEffect: number): PlannedMigration {
  const states = statesOf(before, migration);
  const all = migration.operations.map((operation, index) => ({ operation, index }));
  const chosen = direction === "up" ? all.slice(inEffect) : all.slice(0, inEffect).reverse();
  const operations = chosen.map(({ operation, index }): PlannedOperation => {
    if (migration.transaction && !operation.transactional) throw needsNoTransaction(migration, index);
    const steps = inside(migration, index, () => operation[direction](states[index]!));
    if (steps === undefined) throw cannotBeUndone(migration, index);
    return { operation, index, steps };
  });
  return { migration, direction, operations };
}

function upTo(graph: MigrationGraph, to: string): ReadonlySet<string> {
  const { name } = graph.find(to);
  return new Set([...graph.before(name), name]);
}

/** The migrations that are applied, completely or in part, in order. */
function presentOf({ applied, pending, unfinished }: History): Migration[] {
  return [...applied, ...pending.filter(({ name }) => unfinished.has(name))];
}

/** Adds the migration and the operation to an error. */
function inside<T>(migration: Migration, index: number, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new MigrationError(`${place(migration, index)}: ${(error as Error).message}`, { cause: error });
  }
}

function needsNoTransaction(migration: Migration, index: number): MigrationError {
  return new MigrationError(
    `${place(migration, index)} cannot run in a transaction: write \`transaction: false\` into the migration, best with this operation alone`,
  );
}

function cannotBeUndone(migration: Migration, index: number): MigrationError {
  return new MigrationError(`${place(migration, index)} cannot be undone; nothing was done`);
}

/** `0002_year, operation 2 (add column books.year)`. */
export function place({ name, operations }: Migration, index: number): string {
  return `${name}, operation ${index + 1} (${operations[index]!.description})`;
}
