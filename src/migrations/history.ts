import { MigrationError } from "./errors.js";
import { checksumOf } from "./files/checksum.js";
import { buildGraph, type MigrationGraph } from "./graph.js";
import type { Migration } from "./operation.js";
import type { MigrationRecord } from "./recorder.js";

/** The migrations compared with the records of a database. */
export interface History {
  readonly graph: MigrationGraph;
  readonly records: ReadonlyMap<string, MigrationRecord>;
  /** Applied as a whole, in order. */
  readonly applied: readonly Migration[];
  /** Not applied, or not to the end, in order. */
  readonly pending: readonly Migration[];
  /** For unfinished migrations, the number of operations in effect. */
  readonly unfinished: ReadonlyMap<string, number>;
  readonly drift: readonly Drift[];
  /** Records of replaced migrations whose files no longer exist. */
  readonly leftover: readonly string[];
}

/** A migration that was changed after it was applied. */
export interface Drift {
  readonly name: string;
  readonly kind: "changed" | "missing";
}

export function compareHistory(migrations: readonly Migration[], recorded: readonly MigrationRecord[]): History {
  const records = new Map(recorded.map((record) => [record.name, record]));
  const finished = recorded.filter((record) => record.appliedAt !== null).map((record) => record.name);
  const graph = buildGraph(migrations, new Set(finished));
  const has = new Set([...finished, ...graph.adopted.map(({ name }) => name)]);
  const files = new Set(migrations.map(({ name }) => name));
  const unfinished = new Map<string, number>();
  for (const { name } of graph.order) {
    const operations = records.get(name)?.operations;
    if (!has.has(name) && typeof operations === "number") unfinished.set(name, operations);
  }
  return {
    graph,
    records,
    applied: graph.order.filter(({ name }) => has.has(name)),
    pending: graph.order.filter(({ name }) => !has.has(name)),
    unfinished,
    drift: [
      ...graph.order.filter((migration) => hasChanged(migration, records.get(migration.name))).map(changed),
      ...recorded.filter(({ name }) => !files.has(name) && !graph.replaced.has(name)).map(missing),
    ],
    leftover: finished.filter((name) => graph.replaced.has(name) && !files.has(name)),
  };
}

/** Refuses to continue if the recorded migrations do not match the files. */
export function requireSound(history: History, allowDrift: boolean): void {
  const drift = history.drift[0];
  if (drift !== undefined && !allowDrift) throw driftError(history, drift);
  const has = new Set(history.applied.map(({ name }) => name));
  for (const { name } of history.applied) {
    const gap = [...history.graph.before(name)].find((parent) => !has.has(parent));
    if (gap !== undefined) {
      throw new MigrationError(
        `${name} is applied, but ${gap}, on which it depends, is not: apply it by hand and record it with \`stoa migrate up --fake --to ${gap}\``,
      );
    }
  }
}

function driftError({ unfinished }: History, { name, kind }: Drift): MigrationError {
  const way = "continue anyway with --allow-drift (allowDrift: true)";
  if (kind === "missing") {
    return new MigrationError(`${name} is applied to this database, but its file is missing: bring it back, or ${way}`);
  }
  const what = unfinished.has(name) ? "what was carried out of it was changed since" : "it was changed since";
  return new MigrationError(
    `${name} is applied to this database, but ${what}: undo the change and write another migration, or ${way}`,
  );
}

function hasChanged({ checksum, operations }: Migration, record: MigrationRecord | undefined): boolean {
  if (record === undefined) return false;
  return (
    record.checksum !== (record.operations === null ? checksum : checksumOf(operations.slice(0, record.operations)))
  );
}

const changed = ({ name }: { readonly name: string }): Drift => ({ name, kind: "changed" });
const missing = ({ name }: { readonly name: string }): Drift => ({ name, kind: "missing" });
