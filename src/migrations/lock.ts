import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Database, Session } from "../engines/db/database.js";
import { deferred } from "../kit/deferred.js";
import { within } from "../kit/time/within.js";
import { MigrationError } from "./errors.js";

export interface LockOptions {
  /** The name of the lock: one runner at a time for each name. */
  readonly name: string;
  /** Milliseconds to wait for another runner. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Called when another runner is at work. */
  readonly onWait: () => void;
}

/** Milliseconds between two looks. */
const interval = 200;

/** The last runner of this process, by database. */
const turns = new WeakMap<Database, Promise<unknown>>();

/**
 * Runs a function after those that this process already runs for the same database. An embedded database has a single
 * connection and a pool may be small: they would time out waiting for a connection.
 */
export async function inTurn<T>(database: Database, options: LockOptions, run: () => Promise<T>): Promise<T> {
  const before = turns.get(database);
  const ended = deferred<void>();
  // A runner that stopped waiting leaves the queue, but those before it are still in it.
  const own = Promise.all([before, ended.promise]);
  turns.set(database, own);
  try {
    if (before !== undefined) await waitFor(before, options);
    return await run();
  } finally {
    ended.resolve();
    void own.then(() => turns.get(database) === own && turns.delete(database));
  }
}

/**
 * Runs a function while no other runner, in any process or machine, works on this database. The function gets the
 * connection that holds the lock: if it breaks, the work ends together with the lock.
 */
export function withLock<T>(
  database: Database,
  options: LockOptions,
  run: (session: Session) => Promise<T>,
): Promise<T> {
  // The one session of an embedded database may be in use by another process.
  const waiting = database.engine === "pglite" ? setTimeout(options.onWait, interval) : undefined;
  const work = async (session: Session): Promise<T> => {
    clearTimeout(waiting);
    if (session.engine === "postgres") await noticeDeath(session);
    return locked(session, options, run);
  };
  return database.session(work, { statementTimeout: 0, signal: options.signal }).finally(() => clearTimeout(waiting));
}

async function locked<T>(session: Session, options: LockOptions, run: (session: Session) => Promise<T>): Promise<T> {
  const key = keyOf(options.name);
  const deadline = performance.now() + options.timeoutMs;
  // Not pg_advisory_lock: a runner that waits in a statement holds a snapshot, and `create index concurrently` of the
  // other runner would wait for the end of that snapshot.
  for (let looks = 0; !(await session.fetchval<boolean>("select pg_try_advisory_lock($1)", [key])); looks++) {
    if (looks === 0) options.onWait();
    if (performance.now() >= deadline) throw timedOut(options);
    await delay(interval, undefined, options.signal === undefined ? {} : { signal: options.signal });
  }
  try {
    return await run(session);
  } finally {
    // A broken connection has already released the lock.
    await session.fetchval("select pg_advisory_unlock($1)", [key]).catch(() => {});
  }
}

/**
 * A server busy with a long statement does not notice that its client was killed, and would keep the lock until the
 * statement ends. Not every operating system of a server can check the connection.
 */
async function noticeDeath(session: Session): Promise<void> {
  await session.execute("set client_connection_check_interval = 1000").catch(() => {});
}

/** A lock is a 64-bit number; the first bytes of a hash keep clear of those that applications choose. */
function keyOf(name: string): bigint {
  return createHash("sha256").update(`stoa migrations ${name}`).digest().readBigInt64BE();
}

async function waitFor(before: Promise<unknown>, options: LockOptions): Promise<void> {
  options.onWait();
  const late = (): never => {
    throw timedOut(options);
  };
  await within(before, options.timeoutMs, late, ...(options.signal === undefined ? [] : [options.signal]));
}

function timedOut({ timeoutMs }: LockOptions): MigrationError {
  return new MigrationError(
    `another process is migrating this database and did not finish within ${timeoutMs} ms (lockTimeout); nothing was done here`,
  );
}
