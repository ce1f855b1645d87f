import type { DatabaseEngine, Queries, QueryOptions, Statement } from "./database.js";
import { Job, type QueryMeter, type ResultKind } from "./job.js";
import type { QueryLog } from "./log/query-log.js";
import { BaseQueries, readStatement } from "./queries.js";
import { assertAllowed, longestKept, type Statements } from "./statements.js";
import type { StatementTracer } from "./trace.js";
import { watchJob } from "./watch-job.js";
import type { RowSink } from "./wire-row.js";

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
  /** Records every statement, if somebody reads the log of queries. */
  log: QueryLog | null;
  /** Stores messages with a transaction, if the outbox is enabled. */
  outbox: TransactionOutbox | null;
}

/** Stores messages that are published when the transaction is committed. */
export interface TransactionOutbox {
  publish(topic: unknown, value: unknown, options: unknown, within: Queries): Promise<{ readonly id: string }>;
  publishBatch(topic: unknown, entries: unknown, within: Queries): Promise<{ readonly id: string }[]>;
}

const noOptions: QueryOptions = {};

/** The calls that run SQL, based on a method that runs a job. */
export abstract class JobQueries extends BaseQueries {
  protected readonly defaults: QueryDefaults;

  constructor(defaults: QueryDefaults, signal: AbortSignal | undefined) {
    super(signal);
    this.defaults = defaults;
  }

  /** Sends a job on its way. If it throws, the call is rejected with that error. */
  protected abstract start(job: Job): void;

  get engine(): DatabaseEngine {
    return this.defaults.engine;
  }

  /** @internal */
  run<T>(
    kind: ResultKind,
    statement: Statement,
    params: readonly unknown[] | undefined,
    options: QueryOptions = noOptions,
    sink: RowSink | null = null,
  ): Promise<T> {
    try {
      const [text, values] = readStatement(statement, params);
      const info = this.defaults.statements.get(text);
      assertAllowed(info, this.kind, this.defaults.pooled);
      const prepare = this.defaults.prepare && (options.prepare ?? text.length <= longestKept);
      const job = new Job(info, values, kind, prepare);
      job.sink = sink;
      this.begin(job, options);
      return job.promise.then(undefined, retraced) as Promise<T>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** True if a job may leave something in its session, which is then to be reset. */
  protected alters(job: Job): boolean {
    return job.info.leaves !== null && !this.defaults.pooled;
  }

  /** Sends a job of the caller's on its way, with the signal and the time that it has. */
  protected begin(job: Job, options: QueryOptions): void {
    const signal = options.signal ?? this.signal;
    if (this.defaults.meter !== null) job.measure(this.defaults.meter);
    if (this.defaults.tracer !== null) job.trace(this.defaults.tracer);
    if (this.defaults.log !== null) this.defaults.log.record(job);
    if (signal !== undefined || options.timeout !== undefined) watchJob(job, signal, options.timeout);
    if (job.settled) return;
    try {
      this.start(job);
    } catch (error) {
      // Its promise is not awaited: it must not be rejected later, when the signal is aborted or the time is over.
      job.unwatch?.();
      throw error;
    }
  }
}

/** An error of a response has the stack of the socket. This gives it the stack of the caller that awaits it. */
function retraced(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error, retraced);
  throw error;
}
