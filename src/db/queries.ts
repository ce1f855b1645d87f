import { type CursorHome, ServerCursor } from "./cursor.js";
import type {
  ArrayResult,
  Cursor,
  CursorOptions,
  DatabaseEngine,
  ExecuteResult,
  Queries,
  QueryOptions,
  Row,
  SqlTag,
  Statement,
  Transaction,
  TransactionOptions,
} from "./database.js";
import { ParameterTypeError, ProgrammingError } from "./errors.js";
import { Job, type QueryMeter, type ResultKind } from "./job.js";
import { SqlFragment } from "./sql.js";
import { createSqlTag } from "./sql-tag.js";
import { assertAllowed, longestKept, type StatementPlace, type Statements } from "./statements.js";
import { watchJob } from "./watch-job.js";
import type { RowSink } from "./wire-row.js";

/** What all calls of one database have in common. */
export interface QueryDefaults {
  readonly engine: DatabaseEngine;
  readonly statements: Statements;
  readonly prepare: boolean;
  /** Is told of every statement, where somebody counts. */
  meter: QueryMeter | null;
}

const noParams: readonly unknown[] = [];
const noOptions: QueryOptions = {};

/** The calls that run SQL, for whoever has a way to run a job. */
export abstract class BaseQueries implements Queries {
  protected readonly defaults: QueryDefaults;
  /** Cancels every call. */
  protected readonly signal: AbortSignal | undefined;
  #sql: SqlTag | null = null;

  constructor(defaults: QueryDefaults, signal: AbortSignal | undefined) {
    this.defaults = defaults;
    this.signal = signal;
  }

  protected abstract readonly place: StatementPlace;
  /** Sends a job on its way; what it throws, the call rejects with. */
  protected abstract start(job: Job): void;
  abstract transaction<T>(run: (tx: Transaction) => Promise<T> | T, options?: TransactionOptions): Promise<T>;
  /** The transaction for a cursor: its own, or the one around it. */
  protected abstract cursorHome(signal: AbortSignal | undefined): Promise<CursorHome>;
  abstract script(text: string, options?: QueryOptions): Promise<void>;

  get engine(): DatabaseEngine {
    return this.defaults.engine;
  }

  get sql(): SqlTag {
    return (this.#sql ??= createSqlTag(this));
  }

  fetch<R extends object = Row>(
    statement: Statement,
    params?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R[]> {
    return this.#run("objects", statement, params, options);
  }

  fetchrow<R extends object = Row>(
    statement: Statement,
    params?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R | null> {
    return this.#run("row", statement, params, options);
  }

  fetchval<V = unknown>(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<V | null> {
    return this.#run("value", statement, params, options);
  }

  fetchArrays(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<ArrayResult> {
    return this.#run("arrays", statement, params, options);
  }

  fetchText(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<string | null> {
    return this.#run("text", statement, params, options);
  }

  fetchInto(sink: RowSink, statement: Statement, params?: readonly unknown[]): Promise<void> {
    return this.#run("sink", statement, params, undefined, sink);
  }

  execute(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<ExecuteResult> {
    return this.#run("execute", statement, params, options);
  }

  cursor<R extends object = Row>(
    statement: Statement,
    params?: readonly unknown[],
    options: CursorOptions = noOptions,
  ): Cursor<R> {
    const [text, values] = readStatement(statement, params);
    const open = (): Promise<CursorHome> => this.cursorHome(options.signal ?? this.signal);
    return new ServerCursor<R>({ open, text, values, options });
  }

  #run<T>(
    kind: ResultKind,
    statement: Statement,
    params: readonly unknown[] | undefined,
    options: QueryOptions = noOptions,
    sink: RowSink | null = null,
  ): Promise<T> {
    try {
      const [text, values] = readStatement(statement, params);
      const info = this.defaults.statements.get(text);
      assertAllowed(info, this.place);
      const signal = options.signal ?? this.signal;
      const prepare = this.defaults.prepare && (options.prepare ?? text.length <= longestKept);
      const job = new Job(info, values, kind, prepare);
      job.sink = sink;
      if (this.defaults.meter !== null) job.measure(this.defaults.meter);
      if (signal !== undefined || options.timeout !== undefined) watchJob(job, signal, options.timeout);
      if (!job.settled) this.start(job);
      return job.promise.then(undefined, retraced) as Promise<T>;
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

/** The text and the parameters of a statement in either of its forms. */
export function readStatement(
  statement: Statement,
  params: readonly unknown[] | undefined,
): readonly [text: string, params: readonly unknown[]] {
  if (typeof statement === "string") {
    if (params !== undefined && !Array.isArray(params)) throw new ParameterTypeError("the parameters must be a list");
    return [statement, params ?? noParams];
  }
  if (!(statement instanceof SqlFragment)) throw new ProgrammingError("a statement must be a string or made by sql``");
  if (params !== undefined) throw new ParameterTypeError("a statement made by sql`` has its parameters in it");
  return [statement.text, statement.params];
}

/** An error made when an answer came in has the stack of the socket; this gives it that of the caller who awaits it. */
function retraced(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error, retraced);
  throw error;
}
