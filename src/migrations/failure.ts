import { DatabaseError } from "../engines/db/errors.js";
import { MigrationError } from "./errors.js";
import { type PlannedMigration, type PlannedOperation, place } from "./plan.js";

/** An operation that could not be carried out. */
export class Interrupted extends Error {
  constructor(
    readonly operation: PlannedOperation,
    /** The index of the statement that failed, from 0. */
    readonly step: number,
    override readonly cause: unknown,
  ) {
    super("an operation failed");
  }
}

/** SQL has ended the transaction of its migration. */
export class TransactionEnded extends Error {}

/** A migration failed while it ran. The message says what happened, what is left in the database, and how to continue. */
export class MigrationFailure extends MigrationError {
  override name = "MigrationFailure";
  /** The name of the migration. */
  readonly migration: string;
  /** The statement that failed; null for a function, or if the connection was lost. */
  readonly statement: string | null;

  constructor(planned: PlannedMigration, finished: readonly string[], error: unknown) {
    const interrupted = error instanceof Interrupted ? error : null;
    const cause = interrupted?.cause ?? error;
    super(explain(planned, finished, interrupted, cause), { cause });
    this.migration = planned.migration.name;
    const step = interrupted?.operation.steps[interrupted.step];
    this.statement = typeof step === "string" ? step : null;
  }
}

function explain(
  planned: PlannedMigration,
  finished: readonly string[],
  interrupted: Interrupted | null,
  cause: unknown,
): string {
  const { migration, direction } = planned;
  const where = interrupted === null ? migration.name : place(migration, interrupted.operation.index);
  const failed = `${where} failed${direction === "down" ? " to be undone" : ""}: ${reason(cause)}`;
  const left = migration.transaction ? whole(planned, interrupted, cause) : halfway(planned, interrupted);
  const file = migration.file === undefined ? "" : `It is in ${migration.file}`;
  return [failed, left, before(planned, finished), file].filter((part) => part !== "").join(". ");
}

function reason(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const waited = cause instanceof DatabaseError && cause.sqlstate === "55P03";
  return waited ? `${text} (a table was in use for longer than tableLockTimeout)` : text;
}

/** If the connection is lost during the commit, it is not known if the transaction was committed. */
function whole({ direction }: PlannedMigration, interrupted: Interrupted | null, cause: unknown): string {
  if (cause instanceof TransactionEnded) return "What was done up to there is not undone, and nothing is recorded";
  const refused = cause instanceof DatabaseError && cause.sqlstate?.startsWith("23");
  if (interrupted === null && !refused) return "`stoa migrate status` shows whether it took effect";
  return direction === "up" ? "Nothing of it was applied" : "Nothing of it was undone";
}

function halfway(planned: PlannedMigration, interrupted: Interrupted | null): string {
  const { migration, direction, operations } = planned;
  const verb = direction === "up" ? "carried out" : "undone";
  const stopped = interrupted === null ? operations.length : operations.indexOf(interrupted.operation);
  const done = operations.slice(0, stopped).map(({ index, operation }) => `${index + 1} (${operation.description})`);
  const what = done.length === 0 ? `none of its operations was ${verb}` : `${verb}: operation ${done.join(", ")}`;
  const partly =
    interrupted !== null && interrupted.step > 0 && !interrupted.operation.operation.transactional
      ? `, and ${interrupted.step} of ${interrupted.operation.steps.length} statements of the one that failed`
      : "";
  const flag = direction === "up" ? `up --fake --to ${migration.name}` : "down --fake";
  return (
    `It runs without a transaction; ${what}${partly}. ` +
    `Remove the cause and run it again: it continues where it stopped. Or do the rest by hand and record that with \`stoa migrate ${flag}\``
  );
}

function before({ direction }: PlannedMigration, finished: readonly string[]): string {
  if (finished.length === 0) return "";
  return `Before it, ${finished.join(", ")} ${finished.length === 1 ? "was" : "were"} ${direction === "up" ? "applied" : "undone"}`;
}
