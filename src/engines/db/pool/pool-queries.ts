import type { DatabaseEngine, Queries, QueryOptions, Statement } from "../database.js";
import { DatabaseError } from "../errors.js";
import type { QueryLog } from "../log/query-log.js";
import { BaseQueries, readStatement } from "../queries.js";
import { type QuerySettings, readQueryOptions } from "../query-options.js";
import { assertAllowed, longestKept, type Statements } from "../statements.js";
import type { StatementTracer } from "../trace.js";
import type { RowSink } from "../wire-row.js";
import { Execution, type QueryMeter, type ResultKind } from "./execution.js";
import { watchExecution } from "./watch-execution.js";

/** The state and options that all calls of one database share. */
export interface QueryDefaults {
  readonly engine: DatabaseEngine;
  readonly statements: Statements;
  readonly prepare: boolean;
  /** True if a pooler gives each transaction another session of the server. */
  readonly pooled: boolean;
  /** Measures every statement, if metrics are enabled. */
  meter: QueryMeter | null;
  /** Records every statement as a span, if something exports them. */
  tracer: StatementTracer | null;
  /** Records every statement, if the log of queries has a reader. */
  log: QueryLog | null;
  /** Stores messages with a transaction, if the outbox is enabled. */
  outbox: TransactionOutbox | null;
}

/** Stores messages that are published when the transaction is committed. */
export interface TransactionOutbox {
  publish(topic: unknown, value: unknown, options: unknown, within: Queries): Promise<{ readonly id: string }>;
  publishBatch(topic: unknown, entries: unknown, within: Queries): Promise<{ readonly id: string }[]>;
}

/** The calls that run SQL, based on a method that runs an execution. */
export abstract class PoolQueries extends BaseQueries {
  protected readonly defaults: QueryDefaults;

  constructor(defaults: QueryDefaults, signal: AbortSignal | undefined) {
    super(signal);
    this.defaults = defaults;
  }

  /** Sends an execution on its way. If it throws, the call is rejected with that error. */
  protected abstract start(execution: Execution): void;

  get engine(): DatabaseEngine {
    return this.defaults.engine;
  }

  /** @internal */
  run<T>(
    kind: ResultKind,
    statement: Statement,
    params: readonly unknown[] | undefined,
    given?: QueryOptions,
    sink: RowSink | null = null,
  ): Promise<T> {
    try {
      const [text, values] = readStatement(statement, params);
      const options = readQueryOptions(given);
      const info = this.defaults.statements.get(text);
      assertAllowed(info, this.kind, this.defaults.pooled);
      const prepare = this.defaults.prepare && (options.prepare ?? text.length <= longestKept);
      const execution = new Execution(info, values, kind, prepare);
      execution.sink = sink;
      this.begin(execution, options);
      return execution.promise.then(undefined, retraced) as Promise<T>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** True if an execution may leave something in its session, which is then to be reset. */
  protected alters(execution: Execution): boolean {
    return execution.info.leaves !== null && !this.defaults.pooled;
  }

  /** Sends an execution of the caller's on its way, with the signal and the time that it has. */
  protected begin(execution: Execution, options: QuerySettings): void {
    const signal = options.signal ?? this.signal;
    if (this.defaults.meter !== null) execution.measure(this.defaults.meter);
    if (this.defaults.tracer !== null) execution.trace(this.defaults.tracer);
    if (this.defaults.log !== null) this.defaults.log.record(execution);
    if (signal !== undefined || options.timeout !== undefined) watchExecution(execution, signal, options.timeout);
    if (execution.settled) return;
    try {
      this.start(execution);
    } catch (error) {
      // Its promise is not awaited: it must not be rejected later, when the signal is aborted or the time is over.
      execution.unwatch?.();
      throw error;
    }
  }
}

/**
 * An error of a response has the stack of the socket. This gives it the stack of the caller that awaits it, below the
 * statement: a stack is what logs and consoles show.
 */
function retraced(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  Error.captureStackTrace(error, retraced);
  const title = `${error.name}: ${error.message}`;
  // With a function of the application that makes stacks, it may be anything.
  const stack: unknown = error.stack;
  if (error instanceof DatabaseError && error.statement !== undefined && typeof stack === "string") {
    if (stack.startsWith(title)) error.stack = `${title}\n    in: ${error.statement}${stack.slice(title.length)}`;
  }
  throw error;
}
