import { type CursorHome, ServerCursor } from "./cursor.js";
import type {
  ArrayResult,
  Cursor,
  CursorOptions,
  DatabaseEngine,
  ExecuteResult,
  Queries,
  QueriesKind,
  QueryOptions,
  Row,
  SqlQuery,
  SqlTag,
  Statement,
  Transaction,
  TransactionOptions,
} from "./database.js";
import { ParameterTypeError, ProgrammingError } from "./errors.js";
import type { ResultKind } from "./pool/execution.js";
import { readCursorOptions } from "./query-options.js";
import { fragment, SqlFragment, sqlHelpers } from "./sql/sql.js";
import type { RowSink } from "./wire-row.js";

const noParams: readonly unknown[] = [];

/** The calls that run SQL, based on a method that runs one statement. */
export abstract class BaseQueries implements Queries {
  #sql: SqlTag | null = null;

  constructor(
    /** Cancels every call. */
    protected readonly signal: AbortSignal | undefined,
  ) {}

  abstract readonly kind: QueriesKind;
  abstract get engine(): DatabaseEngine;
  abstract transaction<T>(run: (tx: Transaction) => Promise<T> | T, options?: TransactionOptions): Promise<T>;
  abstract script(text: string, options?: QueryOptions): Promise<void>;
  /** @internal Runs one statement; the kind decides the form of the result. */
  abstract run<T>(
    kind: ResultKind,
    statement: Statement,
    params: readonly unknown[] | undefined,
    options?: QueryOptions,
    sink?: RowSink,
  ): Promise<T>;
  /** @internal The transaction for a cursor: its own, or the one around it. */
  abstract cursorHome(signal: AbortSignal | undefined): Promise<CursorHome>;

  get sql(): SqlTag {
    return (this.#sql ??= createSqlTag(this));
  }

  fetch<R extends object = Row>(
    statement: Statement,
    params?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R[]> {
    return this.run("objects", statement, params, options);
  }

  fetchrow<R extends object = Row>(
    statement: Statement,
    params?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R | null> {
    return this.run("row", statement, params, options);
  }

  fetchval<V = unknown>(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<V | null> {
    return this.run("value", statement, params, options);
  }

  fetchArrays(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<ArrayResult> {
    return this.run("arrays", statement, params, options);
  }

  fetchText(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<string | null> {
    return this.run("text", statement, params, options);
  }

  fetchInto(sink: RowSink, statement: Statement, params?: readonly unknown[]): Promise<void> {
    return this.run("sink", statement, params, undefined, sink);
  }

  execute(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<ExecuteResult> {
    return this.run("execute", statement, params, options);
  }

  cursor<R extends object = Row>(statement: Statement, params?: readonly unknown[], given?: CursorOptions): Cursor<R> {
    const [text, values] = readStatement(statement, params);
    const options = readCursorOptions(given);
    const open = (): Promise<CursorHome> => this.cursorHome(options.signal ?? this.signal);
    return new ServerCursor<R>({ open, text, values, options });
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

/** The tagged template of a database or a transaction. */
function createSqlTag(queries: Queries): SqlTag {
  const tag = <R extends object = Row>(strings: TemplateStringsArray, ...values: readonly unknown[]): SqlQuery<R> => {
    const { parts, params } = fragment(strings, values);
    return new TaggedQuery<R>(parts, params, queries);
  };
  return Object.assign(tag, sqlHelpers);
}

/** Runs when it is awaited, or one of its forms is called; can also stand in another template. */
class TaggedQuery<R extends object> extends SqlFragment implements SqlQuery<R> {
  readonly #queries: Queries;

  constructor(parts: readonly string[], params: readonly unknown[], queries: Queries) {
    super(parts, params);
    this.#queries = queries;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a statement runs it
  then<A = R[], B = never>(
    fulfilled?: ((rows: R[]) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#queries.fetch<R>(this).then(fulfilled, rejected);
  }

  row(): Promise<R | null> {
    return this.#queries.fetchrow<R>(this);
  }

  val<V = unknown>(): Promise<V | null> {
    return this.#queries.fetchval<V>(this);
  }

  execute(): Promise<ExecuteResult> {
    return this.#queries.execute(this);
  }

  cursor(options?: CursorOptions): Cursor<R> {
    return this.#queries.cursor<R>(this, undefined, options);
  }
}
