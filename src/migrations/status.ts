import type { History } from "./history.js";

export interface MigrationStatus {
  readonly name: string;
  /**
   * `applied`; `pending`; `unfinished`: started without a transaction and not finished; `missing`: applied, but its file is
   * missing.
   */
  readonly state: "applied" | "pending" | "unfinished" | "missing";
  readonly appliedAt: Date | null;
  /** Null unless it is applied. */
  readonly durationMs: number | null;
  /** True if the operations were changed after the migration was applied. */
  readonly changed: boolean;
  /** The migrations that a squashed migration replaces. */
  readonly replaces: readonly string[];
}

/** All migrations with their state in the database, in the order in which they are applied; missing ones come last. */
export function statusOf({ graph, records, applied, unfinished, drift }: History): MigrationStatus[] {
  const has = new Set(applied.map(({ name }) => name));
  const changed = new Set(drift.filter(({ kind }) => kind === "changed").map(({ name }) => name));
  const missing = drift.filter(({ kind }) => kind === "missing");
  return [
    ...graph.order.map(({ name, replaces }): MigrationStatus => {
      const record = has.has(name) ? records.get(name) : undefined;
      return {
        name,
        state: has.has(name) ? "applied" : unfinished.has(name) ? "unfinished" : "pending",
        appliedAt: record?.appliedAt ?? null,
        durationMs: record?.durationMs ?? null,
        changed: changed.has(name),
        replaces,
      };
    }),
    ...missing.map(({ name }): MigrationStatus => {
      const { appliedAt, durationMs } = records.get(name)!;
      return { name, state: "missing", appliedAt, durationMs, changed: false, replaces: [] };
    }),
  ];
}
