import { setTimeout as delay } from "node:timers/promises";
import { backoff } from "../../../kit/time/backoff.js";
import { timeLimit } from "../../../kit/time/time-limit.js";
import type { Connection } from "../connection.js";
import type { CursorHome } from "../cursor.js";
import type { Transaction } from "../database.js";
import { OperationalError, ProgrammingError } from "../errors.js";
import type { Execution } from "../pool/execution.js";
import type { QueryDefaults, TransactionOutbox } from "../pool/pool-queries.js";
import { cancelledError } from "../pool/waiting-line.js";
import { currentScope, runWithin } from "./ambient.js";
import { ConnectionScope } from "./scope.js";
import {
  beginStatement,
  readInnerOptions,
  readTransactionOptions,
  type TransactionOptions,
  type TransactionSettings,
} from "./transaction-options.js";
import { UndoLevel } from "./undo.js";

export type Run<T> = (tx: Transaction) => Promise<T> | T;

/** Milliseconds that a rollback may take before the connection is given up instead. */
const rollbackPatience = 5000;

/** An open transaction; inside another one, a savepoint. */
export class TransactionScope extends ConnectionScope implements Transaction {
  readonly kind = "transaction";
  readonly depth: number;
  #hooks: (() => unknown)[] = [];
  /** Savepoints are strictly nested: a second savepoint at the same level waits for the first. */
  #lastNested: Promise<unknown> = Promise.resolve();
  #savepoints = 0;
  /** The levels of the transaction and of its open savepoints, innermost last. Shared with the savepoints. */
  readonly #levels: UndoLevel[];

  constructor(
    owner: object,
    connection: Connection,
    defaults: QueryDefaults,
    signal: AbortSignal | undefined,
    readonly parent: TransactionScope | null = null,
  ) {
    super(owner, connection, defaults, signal);
    this.depth = parent === null ? 0 : parent.depth + 1;
    this.#levels = parent === null ? [new UndoLevel(null)] : parent.#levels;
  }

  onCommit(hook: () => unknown): void {
    if (!this.open) throw new ProgrammingError("the transaction has ended");
    this.#hooks.push(hook);
  }

  /** @internal A statement that is sent now belongs to the innermost open savepoint, whichever transaction sends it. */
  get level(): UndoLevel {
    return this.#levels.at(-1)!;
  }

  /** Stores a message with the transaction. The types are `unknown` here because the outbox is on a higher floor. */
  async publish(topic: unknown, value: unknown, options?: unknown): Promise<{ readonly id: string }> {
    return this.#outbox("publish()").publish(topic, value, options, this);
  }

  async publishBatch(topic: unknown, entries: unknown): Promise<{ readonly id: string }[]> {
    return this.#outbox("publishBatch()").publishBatch(topic, entries, this);
  }

  #outbox(call: string): TransactionOutbox {
    if (this.defaults.outbox === null) throw new ProgrammingError(`${call} of a transaction needs app.enableOutbox()`);
    return this.defaults.outbox;
  }

  async transaction<T>(run: Run<T>, options?: TransactionOptions): Promise<T> {
    const given = readInnerOptions(options);
    // An inner function that calls `transaction()` on the outer one would otherwise wait for itself.
    const inner = currentScope(this.owner);
    if (inner instanceof TransactionScope && inner !== this && inner.isWithin(this))
      return inner.transaction(run, options);
    const turn = this.#lastNested.then(() => this.#nested(run, given.signal ?? this.signal));
    this.#lastNested = turn.catch(() => {});
    return turn;
  }

  protected override start(execution: Execution): void {
    // A savepoint can outlive the transaction around it, if that is aborted. The connection may belong to others then.
    if (this.level.undone) this.open = false;
    super.start(execution);
  }

  /** @internal */
  async cursorHome(): Promise<CursorHome> {
    return { queries: this, close: async () => {} };
  }

  isWithin(other: TransactionScope): boolean {
    return this === other || (this.parent?.isWithin(other) ?? false);
  }

  /** @internal Commits; the hooks to run afterwards. */
  async commit(): Promise<readonly (() => unknown)[]> {
    this.open = false;
    await this.#lastNested;
    if (this.signal?.aborted) throw cancelledError(this.signal.reason);
    const { command } = (await this.command("commit")) as { command: string };
    // An error that the function caught had ended the transaction all the same.
    if (command === "ROLLBACK") {
      throw new ProgrammingError("the transaction was rolled back because a statement in it had failed", {
        sqlstate: "25P02",
      });
    }
    return this.#hooks;
  }

  /** @internal Takes the hooks of the inner transactions committed so far; they run although this one does not commit. */
  takeHooks(): readonly (() => unknown)[] {
    return this.#hooks.splice(0);
  }

  /** @internal Rolls back; a connection on which that does not work is given up. */
  async rollback(): Promise<void> {
    this.open = false;
    for (const level of this.#levels.toReversed()) level.undo();
    if (!this.connection.usable) return;
    const stopTimer = timeLimit(rollbackPatience, () => this.connection.destroy(new Error("a rollback got no answer")));
    try {
      await this.connection.quiet();
      await this.command("rollback");
    } catch (error) {
      this.connection.destroy(error as Error);
    } finally {
      stopTimer();
    }
  }

  async #nested<T>(run: Run<T>, signal: AbortSignal | undefined): Promise<T> {
    if (!this.open || this.level.undone) throw new ProgrammingError("the transaction has ended");
    const name = `stoa_${this.depth}_${++this.#savepoints}`;
    const inner = new TransactionScope(this.owner, this.connection, this.defaults, signal, this);
    inner.readOnly = this.readOnly;
    const begun = this.command(`savepoint ${name}`);
    const level = new UndoLevel(this.level);
    this.#levels.push(level);
    try {
      await begun;
    } catch (error) {
      this.#end(level).release();
      throw error;
    }
    try {
      const result = await runWithin(inner, () => run(inner));
      inner.open = false;
      await inner.#lastNested;
      if (level.undone) throw new ProgrammingError("the transaction has ended");
      await this.command(`release savepoint ${name}`);
      this.#end(level).release();
      this.#hooks.push(...inner.#hooks);
      return result;
    } catch (error) {
      inner.open = false;
      await inner.#lastNested;
      await this.connection.quiet();
      // After an abort the whole transaction is rolled back already, and the connection may belong to others.
      const isLost = level.undone;
      // Statements that are sent after this come after the rollback.
      this.#end(level).undo();
      if (this.connection.usable && !isLost) await this.command(`rollback to savepoint ${name}`);
      throw error;
    }
  }

  /** Further statements belong to the level around this one. */
  #end(level: UndoLevel): UndoLevel {
    const at = this.#levels.indexOf(level);
    if (at > 0) this.#levels.length = at;
    return level;
  }
}

/** Gives a transaction its connection, and takes it back. */
export interface TransactionSource {
  /** The database that its scopes belong to. */
  readonly owner: object;
  readonly defaults: QueryDefaults;
  acquire(signal: AbortSignal | undefined): Promise<Connection>;
  release(connection: Connection): void;
}

/** Runs a function in its own transaction, again after a serialization failure as often as `retry` allows. */
export async function runTransaction<T>(
  source: TransactionSource,
  run: Run<T>,
  options: TransactionOptions | undefined,
  boundSignal: AbortSignal | undefined,
): Promise<T> {
  const { settings, ...given } = readTransactionOptions(options);
  const signal = given.signal ?? boundSignal;
  for (let attempt = 0; ; attempt++) {
    let outcome: { result: T; hooks: readonly (() => unknown)[] };
    try {
      outcome = await attemptOnce(source, run, given, settings, signal);
    } catch (error) {
      if (attempt >= (given.retry ?? 0) || !isTransient(error) || signal?.aborted) throw error;
      // Transactions that collided would collide again if they ran again at the same time.
      await delay(backoff(attempt, 10, 500));
      continue;
    }
    await runHooks(outcome.hooks);
    return outcome.result;
  }
}

async function attemptOnce<T>(
  source: TransactionSource,
  run: Run<T>,
  options: Omit<TransactionSettings, "settings">,
  settings: ReadonlyMap<string, string>,
  signal: AbortSignal | undefined,
): Promise<{ result: T; hooks: readonly (() => unknown)[] }> {
  if (signal?.aborted) throw cancelledError(signal.reason);
  const connection = await source.acquire(signal);
  const tx = new TransactionScope(source.owner, connection, source.defaults, signal);
  tx.readOnly = options.readOnly === true;
  try {
    const begun = tx.command(beginStatement(options));
    // Sent together, without waiting. If `begin` fails, a local setting has no effect.
    const set = settings.size === 0 ? undefined : tx.applySettings(settings);
    await Promise.all([begun, set]);
    if (options.statementMs !== undefined) {
      connection.statementLimit = options.statementMs;
      await tx.command(`set local statement_timeout = ${options.statementMs}`);
    }
    const result = await unlessAborted(signal, () => runWithin(tx, () => run(tx)));
    return { result, hooks: await tx.commit() };
  } catch (error) {
    await tx.rollback();
    throw error;
  } finally {
    if (options.statementMs !== undefined) connection.statementLimit = null;
    source.release(connection);
  }
}

/** A transaction that is open until its `close`: committed, or rolled back when that is given an error. */
export async function openTransaction(source: TransactionSource, signal: AbortSignal | undefined): Promise<CursorHome> {
  const connection = await source.acquire(signal);
  const tx = new TransactionScope(source.owner, connection, source.defaults, signal);
  const close = async (error?: unknown): Promise<void> => {
    try {
      if (error === undefined) await tx.commit();
      else await tx.rollback();
    } catch (failure) {
      await tx.rollback();
      throw failure;
    } finally {
      source.release(connection);
    }
  };
  try {
    await tx.command("begin");
  } catch (error) {
    await close(error);
    throw error;
  }
  return { queries: tx, close };
}

/** The result of a function, or a rejection as soon as the signal is aborted, even when the function continues. */
function unlessAborted<T>(signal: AbortSignal | undefined, run: () => Promise<T> | T): Promise<T> {
  if (signal === undefined) return Promise.resolve(run());
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(cancelledError(signal.reason));
    signal.addEventListener("abort", onAbort);
    Promise.resolve()
      .then(run)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** A serialization failure, a deadlock, a prepared statement that is outdated or that the session of a pooler did not have. */
const transient: ReadonlySet<string | null> = new Set(["40001", "40P01", "0A000", "26000", "42P05"]);

function isTransient(error: unknown): boolean {
  return error instanceof OperationalError && transient.has(error.sqlstate);
}

/** All of them run, even when one fails; the first failure is thrown. The transaction stays committed. */
export async function runHooks(hooks: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const hook of hooks) {
    try {
      await hook();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
