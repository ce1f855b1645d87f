import type { Queries, Session } from "../engines/db/database.js";
import { Interrupted, TransactionEnded } from "./failure.js";
import { checksumOf } from "./files/checksum.js";
import type { PlannedMigration, PlannedOperation } from "./plan.js";
import type { Recorder } from "./recorder.js";

export interface ExecutorOptions {
  readonly recorder: Recorder;
  /** Milliseconds that a statement may wait for the lock of a table; 0 for as long as it takes. */
  readonly tableLockMs: number;
  /** Called before each operation. */
  readonly onOperation: (planned: PlannedMigration, operation: PlannedOperation) => void;
}

/** Runs one migration together with the record of it. Resolves to the milliseconds that it took. */
export async function execute(session: Session, planned: PlannedMigration, options: ExecutorOptions): Promise<number> {
  const start = performance.now();
  const searchPath = await session.fetchText("select current_setting('search_path')");
  const run: Run = { planned, options, comeHome: (db) => setSearchPath(db, searchPath!) };
  const finish = async (db: Queries): Promise<void> => {
    await run.comeHome(db);
    await record(db, planned, options.recorder, performance.now() - start);
  };
  if (planned.migration.transaction) {
    await session.transaction(async (tx) => {
      await inTransaction(tx, run);
      await finish(tx);
    });
  } else {
    await oneByOne(session, run);
    await finish(session);
  }
  return performance.now() - start;
}

interface Run {
  readonly planned: PlannedMigration;
  readonly options: ExecutorOptions;
  /**
   * Restores the search path after SQL that changed it, such as that of a dump: otherwise the records would not be
   * found.
   */
  comeHome(db: Queries): Promise<void>;
}

async function inTransaction(tx: Queries, { planned, options }: Run): Promise<void> {
  await setLockTimeout(tx, options);
  const own = await transactionId(tx);
  for (const each of planned.operations) {
    options.onOperation(planned, each);
    await runSteps(tx, each);
    // SQL that ends the transaction would leave the migration half applied and not recorded.
    if ((await transactionId(tx)) !== own) {
      throw new Interrupted(each, 0, new TransactionEnded("it ended the transaction of the migration"));
    }
  }
}

/** Records the operations in effect after each of them, so that an interrupted run can be continued. */
async function oneByOne(session: Session, { planned, options, comeHome }: Run): Promise<void> {
  const { migration, direction, operations } = planned;
  for (const each of operations) {
    options.onOperation(planned, each);
    const inEffect = direction === "up" ? each.index + 1 : each.index;
    const run = async (db: Queries): Promise<void> => {
      await runSteps(db, each);
      await comeHome(db);
      const checksum = checksumOf(migration.operations.slice(0, inEffect));
      await options.recorder.unfinished(db, migration.name, checksum, inEffect);
    };
    // A function may work in portions, so no transaction is put around it.
    if (each.operation.transactional && each.steps.every((step) => typeof step === "string")) {
      await session.transaction(async (tx) => {
        await setLockTimeout(tx, options);
        await run(tx);
      });
    } else {
      // A statement that builds an index concurrently blocks no other session, so it may wait for its locks without a timeout.
      await run(session);
    }
  }
}

async function runSteps(db: Queries, planned: PlannedOperation): Promise<void> {
  for (const [number, step] of planned.steps.entries()) {
    try {
      if (typeof step === "string") await db.script(step);
      else await step(db);
    } catch (error) {
      throw new Interrupted(planned, number, error);
    }
  }
}

async function record(
  db: Queries,
  { migration, direction }: PlannedMigration,
  recorder: Recorder,
  durationMs: number,
): Promise<void> {
  if (direction === "up") await recorder.applied(db, migration, durationMs);
  else await recorder.remove(db, [migration.name, ...migration.replaces]);
}

async function setLockTimeout(tx: Queries, { tableLockMs }: ExecutorOptions): Promise<void> {
  if (tableLockMs > 0) await tx.execute(`set local lock_timeout = ${tableLockMs}`);
}

async function setSearchPath(db: Queries, path: string): Promise<void> {
  await db.fetchval("select set_config('search_path', $1, false)", [path]);
}

function transactionId(tx: Queries): Promise<string | null> {
  return tx.fetchText("select pg_current_xact_id()::text");
}
