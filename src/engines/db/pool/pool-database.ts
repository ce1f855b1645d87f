import type { Logger } from "../../../kit/logger.js";
import type { Tracer } from "../../../kit/tracer.js";
import type { DatabaseConfig } from "../config.js";
import type { CursorHome } from "../cursor.js";
import type {
  Database,
  DatabasePlace,
  DatabaseStats,
  NotificationHandler,
  Queries,
  QueryOptions,
  Session,
  SessionOptions,
  Statement,
  Subscription,
  Transaction,
  TransactionOptions,
} from "../database.js";
import { createCore, type DatabaseCore, poolOf, startCore, stopCore } from "../database-core.js";
import { ProgrammingError } from "../errors.js";
import type { QueryLog } from "../log/query-log.js";
import { readQueryOptions } from "../query-options.js";
import { type Departure, readAfter, startOnReplica, usePrimary } from "../replicas/routing.js";
import type { ConnectionRoute } from "../route.js";
import { StatementTracer } from "../trace.js";
import { currentScope } from "../transaction/ambient.js";
import { PinnedTransaction } from "../transaction/pinned.js";
import { runSession } from "../transaction/session.js";
import {
  openTransaction,
  runTransaction,
  type TransactionScope,
  type TransactionSource,
} from "../transaction/transaction.js";
import type { RowSink } from "../wire-row.js";
import type { Execution, QueryMeter, ResultKind } from "./execution.js";
import { PoolQueries, type TransactionOutbox } from "./pool-queries.js";

const positionQuery = "select pg_catalog.pg_current_wal_lsn()::text";

/** A database behind a pool of connections. Can be made before it can be reached: `open` connects. */
export class PoolDatabase extends PoolQueries implements Database {
  readonly kind = "database";
  readonly #core: DatabaseCore;
  readonly #place: DatabasePlace | null;

  private constructor(core: DatabaseCore, signal: AbortSignal | undefined, place: DatabasePlace | null = null) {
    super(core.defaults, signal);
    this.#core = core;
    this.#place = place;
  }

  static create(config: DatabaseConfig, logger?: Logger): PoolDatabase {
    return new PoolDatabase(createCore(config, logger), undefined);
  }

  get logger(): Logger | undefined {
    return this.#core.logger;
  }

  /** Connects; waits up to `connectTimeout` for a database that is just starting. */
  async open(): Promise<void> {
    if (this.#core.running !== null) return;
    await startCore(this.#core);
    const { config, logger } = this.#core;
    if (config.replicaConfigs.length === 0) return;
    const { Replicas } = await import("../replicas/replicas.js");
    const { primary } = this.unobserved();
    this.#core.replicas = await Replicas.open(config, logger, (milliseconds) =>
      primary.fetchText(positionQuery, [], { timeout: milliseconds / 1000 }),
    );
  }

  /** @internal */
  override run<T>(
    kind: ResultKind,
    statement: Statement,
    params: readonly unknown[] | undefined,
    options?: QueryOptions,
    sink?: RowSink | null,
  ): Promise<T> {
    const { pinned } = this.#core;
    if (pinned === null) return super.run(kind, statement, params, options, sink);
    // A savepoint around each statement: one that fails must not end the transaction around all of them.
    const given = { ...options, signal: options?.signal ?? this.signal };
    return pinned.transaction((tx) => (tx as TransactionScope).run(kind, statement, params, given, sink));
  }

  /**
   * @internal Runs everything in one transaction, in which transactions are savepoints, until the returned function rolls it
   * back. For tests.
   */
  async pin(): Promise<() => Promise<void>> {
    const core = this.#core;
    if (core.pinning) throw new ProgrammingError("a transaction of a test is open already");
    core.pinning = true;
    try {
      const home = await openTransaction(this.#source(), undefined);
      core.pinned = new PinnedTransaction(home.queries as TransactionScope);
      return async () => {
        core.pinned = null;
        core.pinning = false;
        await home.close(new Error("the test has ended"));
      };
    } catch (error) {
      core.pinning = false;
      throw error;
    }
  }

  transaction<T>(run: (tx: Transaction) => Promise<T> | T, options?: TransactionOptions): Promise<T> {
    if (this.#core.pinned !== null) return this.#core.pinned.transaction(run, options, this.signal);
    if (this.#core.replicas !== null && options?.readOnly !== true) usePrimary();
    return runTransaction(this.#source(), run, options, this.signal);
  }

  async session<T>(run: (session: Session) => Promise<T> | T, options?: SessionOptions): Promise<T> {
    this.#assertOwnSession("session()");
    const { pinned } = this.#core;
    if (pinned !== null) return pinned.transaction((tx) => run(tx as unknown as Session));
    return this.#session(run, options);
  }

  async #session<T>(run: (session: Session) => Promise<T> | T, options?: SessionOptions): Promise<T> {
    if (this.#core.replicas !== null) usePrimary();
    return runSession(this.#source(), run, options, this.signal);
  }

  async script(text: string, given?: QueryOptions): Promise<void> {
    const options = readQueryOptions(given);
    const { pinned } = this.#core;
    if (pinned !== null) return pinned.transaction((tx) => tx.script(text, options));
    await this.#session((session) => session.script(text, options), { signal: options.signal ?? this.signal });
  }

  async listen(channel: string, handler: NotificationHandler): Promise<Subscription> {
    this.#assertOwnSession("listen()");
    // Throws before the database is open.
    poolOf(this.#core);
    return this.#core.listeners.add(channel, handler);
  }

  get current(): Queries {
    return currentScope(this.#core) ?? this;
  }

  withSignal(signal: AbortSignal): PoolDatabase {
    return new PoolDatabase(this.#core, signal, this.#place);
  }

  /** The same database whose calls go to certain servers. */
  placed(place: DatabasePlace): PoolDatabase {
    return new PoolDatabase(this.#core, this.signal, place);
  }

  /** True if it has replicas. */
  get replicated(): boolean {
    return this.#core.config.replicaConfigs.length > 0;
  }

  get primary(): PoolDatabase {
    return this.placed("primary");
  }

  get replica(): PoolDatabase {
    return this.placed("replica");
  }

  async writePosition(): Promise<string> {
    return (await this.primary.fetchText(positionQuery)) ?? "";
  }

  readAfter(position: string | null | undefined): void {
    if (this.#core.replicas !== null && position !== null && position !== undefined) readAfter(position);
  }

  async ping(): Promise<void> {
    await this.fetchval("select 1");
  }

  /** @internal */
  get route(): ConnectionRoute | null {
    return this.#core.running?.engine.route ?? null;
  }

  /** Begins to measure every statement, except those of the framework itself, such as `begin` and `commit`. */
  measure(meter: QueryMeter): void {
    this.#core.defaults.meter = meter;
  }

  /** Begins to record every statement as a span, except those of the framework itself. */
  trace(tracer: Tracer): void {
    this.#core.defaults.tracer = new StatementTracer(tracer, this.#core.config);
  }

  /** Begins to record every statement in a log, except those of the framework itself. */
  observe(log: QueryLog): void {
    this.#core.defaults.log = log;
  }

  /** The same database for work of the framework that is neither measured nor logged. */
  unobserved(): PoolDatabase {
    const defaults = { ...this.#core.defaults, meter: null, tracer: null, log: null };
    return new PoolDatabase({ ...this.#core, defaults, replicas: null }, undefined);
  }

  /** Lets transactions publish messages. */
  attachOutbox(outbox: TransactionOutbox): void {
    this.#core.defaults.outbox = outbox;
  }

  stats(): DatabaseStats {
    const { running, replicas } = this.#core;
    const stats = running?.pool.stats() ?? { total: 0, idle: 0, inUse: 0, waiting: 0 };
    return replicas === null ? stats : { ...stats, replicas: replicas.stats() };
  }

  async close(): Promise<void> {
    await stopCore(this.#core);
  }

  protected start(execution: Execution): void {
    if (!execution.info.slow || execution.unwatch === null) {
      this.#send(execution);
      return;
    }
    afterNextPoll(() => {
      if (!execution.settled) this.#send(execution);
    });
  }

  #send(execution: Execution): void {
    const { replicas } = this.#core;
    if (replicas !== null && startOnReplica(execution, replicas, this.#departure())) return;
    const pool = poolOf(this.#core);
    if (this.alters(execution)) pool.submitAlone(execution);
    else pool.submit(execution);
  }

  /** @internal */
  cursorHome(signal: AbortSignal | undefined): Promise<CursorHome> {
    if (this.#core.pinned !== null) return this.#core.pinned.cursorHome();
    return openTransaction(this.#source(), signal);
  }

  #departure(): Departure {
    return {
      place: this.#place,
      inScope: currentScope(this.#core) !== null,
      submit: (execution) => poolOf(this.#core).submit(execution),
    };
  }

  #source(): TransactionSource {
    return {
      owner: this.#core,
      defaults: this.defaults,
      acquire: async (signal) => poolOf(this.#core).acquire(signal),
      release: (connection) => poolOf(this.#core).release(connection),
    };
  }

  #assertOwnSession(call: string): void {
    if (!this.defaults.pooled) return;
    throw new ProgrammingError(
      `${call} needs its own session, which a pooler in transaction mode does not give: ` +
        "use a database that is connected to the server itself, with 'preparedStatements' left at true",
    );
  }
}

/**
 * Calls back once the event loop has looked at the sockets again. On a busy server, many requests are read when their
 * clients have left already, which shows one turn later. A slow statement of such a request would have to be cancelled over
 * its own connection, at a cost for all others; after this it is not sent at all.
 */
function afterNextPoll(call: () => void): void {
  setImmediate(() => setImmediate(call));
}
