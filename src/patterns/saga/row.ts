import type { Leased } from "../../durable/leased-worker.js";
import type { StoredTrace } from "../../durable/stored-trace.js";

/** The status of an execution. One that runs and waits for a message or a time is `waiting`. */
export type SagaStatus = "running" | "waiting" | "compensating" | "completed" | "compensated" | "parked" | "aborted";

/** The status as the table has it: a wait is kept beside it. */
export type StoredStatus = Exclude<SagaStatus, "waiting">;

/** The state of a saga that its driver works with. */
export interface SagaRow extends Leased {
  readonly name: string;
  readonly version: number;
  readonly parentId: string | null;
  readonly status: StoredStatus;
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
  readonly step: number;
  readonly attempt: number;
  /** Attempts of the unit without an end: their driver died, or was paused past its lease. */
  readonly lost: number;
  readonly branches: Readonly<Record<string, number>>;
  readonly inflight: readonly string[];
  readonly unknown: readonly string[];
  readonly error: string | null;
  readonly cancel: boolean;
  readonly waitingFor: string | null;
  /** Milliseconds until the end of the wait, by the clock of the database; null without one. */
  readonly waitLeft: number | null;
  /** Milliseconds until the deadline, by the clock of the database; null without one. */
  readonly left: number | null;
  readonly trace: StoredTrace | null;
}

/** A change of a saga, with its line in the log. Fields that are absent stay as they are. */
export interface Transition {
  readonly event: string;
  readonly status?: StoredStatus;
  readonly step?: number;
  readonly attempt?: number;
  readonly branches?: Readonly<Record<string, number>>;
  readonly inflight?: readonly string[];
  readonly unknown?: readonly string[];
  /** Results to add, by name. */
  readonly results?: Readonly<Record<string, unknown>>;
  readonly error?: string | null;
  /** Gives the saga back, due after so many milliseconds. */
  readonly wakeAfter?: number;
  /** Gives the saga back until something arrives for `for`, or until a time; a wait that continues keeps its time. */
  readonly wait?: { readonly for: string; readonly until: number | Date | null };
  /** Ends a wait. */
  readonly waited?: true;
  readonly logStep?: string | undefined;
  readonly logAttempt?: number | undefined;
  readonly logError?: string | undefined;
}

/** The state after changes that may not have been written yet. */
export function applied(row: SagaRow, changes: readonly Transition[]): SagaRow {
  const next: { -readonly [Field in keyof SagaRow]: SagaRow[Field] } = { ...row };
  for (const { status, step, attempt, branches, inflight, unknown, results, error, waited } of changes) {
    if (status !== undefined) next.status = status;
    if (step !== undefined) next.step = step;
    if (attempt !== undefined) next.attempt = attempt;
    if (attempt === 0) next.lost = 0;
    if (branches !== undefined) next.branches = branches;
    if (inflight !== undefined) next.inflight = inflight;
    if (unknown !== undefined) next.unknown = unknown;
    if (results !== undefined) next.results = { ...next.results, ...results };
    if (error !== undefined) next.error = error;
    if (waited) next.waitingFor = null;
  }
  return next;
}

export function isFinished(status: StoredStatus): boolean {
  return status === "completed" || status === "compensated" || status === "aborted";
}

export const rowFields = `id, token, name, version, parent_id as "parentId", status, input, results, step, attempt, lost, branches,
  inflight, unknown, error, cancel, trace, waiting_for as "waitingFor",
  (extract(epoch from nullif(wait_until, 'infinity') - clock_timestamp()) * 1000)::float8 as "waitLeft",
  (extract(epoch from deadline - coalesce(waiting_since, clock_timestamp())) * 1000)::float8 as left`;
