import type { CursorOptions, QueryOptions } from "./query-options.js";
import type { ReplicaStats } from "./replicas/stats.js";
import type { ConnectionRoute } from "./route.js";
import type { SqlFragment, SqlHelpers } from "./sql/sql.js";
import type { SessionOptions, TransactionOptions } from "./transaction/transaction-options.js";
import type { UndoLevel } from "./transaction/undo.js";
import type { RowSink } from "./wire-row.js";

/** The kind of PostgreSQL: a server, or the one compiled into the process. */
export type DatabaseEngine = "postgres" | "pglite";

/** A row by column name. */
export type Row = Record<string, unknown>;

/** A statement: text with `$1`, `$2`, ... or a fragment of the tagged template `sql`. */
export type Statement = string | SqlFragment;

/** The outcome of a statement. */
export interface ExecuteResult {
  /** Rows inserted, updated, deleted or selected; 0 for a statement that has none. */
  readonly rowCount: number;
  /** The statement's kind as the server names it: `INSERT`, `UPDATE`, `CREATE TABLE`. */
  readonly command: string;
}

/** Rows without names, for callers that know the order of their columns. */
export interface ArrayResult {
  readonly columns: readonly string[];
  readonly rows: unknown[][];
}

export type { CursorOptions, QueryOptions } from "./query-options.js";
export type { Isolation, SessionOptions, TransactionOptions } from "./transaction/transaction-options.js";

/** Rows as they are needed. Leaving a `for await` loop closes the cursor; so does `close`. */
export interface Cursor<R> extends AsyncIterableIterator<R>, AsyncDisposable {
  /** Up to `count` rows; an empty list at the end. */
  read(count: number): Promise<R[]>;
  close(): Promise<void>;
}

/** A statement of the tagged template: awaited, its rows; or one of its forms. */
export interface SqlQuery<R extends object = Row> extends SqlFragment, PromiseLike<R[]> {
  row(): Promise<R | null>;
  val<V = unknown>(): Promise<V | null>;
  execute(): Promise<ExecuteResult>;
  cursor(options?: CursorOptions): Cursor<R>;
}

export interface SqlTag extends SqlHelpers {
  <R extends object = Row>(strings: TemplateStringsArray, ...values: readonly unknown[]): SqlQuery<R>;
}

export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

export type NotificationHandler = (payload: string, notification: Notification) => unknown;

export interface Subscription extends AsyncDisposable {
  readonly channel: string;
  close(): Promise<void>;
}

/** The three things that run SQL. */
export type QueriesKind = "database" | "session" | "transaction";

/** The calls that run SQL: on the database each takes any free connection, on a transaction always its own. */
export interface Queries {
  readonly engine: DatabaseEngine;
  /** `database`: each call takes any free connection. `session` and `transaction`: all calls use one connection. */
  readonly kind: QueriesKind;

  /** All rows, as objects. */
  fetch<R extends object = Row>(
    statement: Statement,
    params?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R[]>;

  /** The first row; null when there is none. */
  fetchrow<R extends object = Row>(
    statement: Statement,
    params?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R | null>;

  /** The first column of the first row; null when there is no row. */
  fetchval<V = unknown>(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<V | null>;

  /** All rows as arrays: less work than objects. */
  fetchArrays(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<ArrayResult>;

  /** The first column of the first row as PostgreSQL wrote it, not parsed; null for SQL null or when there is no row. */
  fetchText(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<string | null>;

  /** @internal Hands all rows to a sink, as PostgreSQL sent them. */
  fetchInto(sink: RowSink, statement: Statement, params?: readonly unknown[]): Promise<void>;

  /** Runs a statement for its effect. */
  execute(statement: Statement, params?: readonly unknown[], options?: QueryOptions): Promise<ExecuteResult>;

  /** Runs several statements, separated by semicolons and without parameters: a migration, a fixture. */
  script(text: string, options?: QueryOptions): Promise<void>;

  /** Rows as they are needed, `batch` at a time, without holding them all in memory. */
  cursor<R extends object = Row>(statement: Statement, params?: readonly unknown[], options?: CursorOptions): Cursor<R>;

  /**
   * Runs a function in a transaction: committed when it returns, rolled back when it throws. Inside a transaction, a
   * savepoint.
   */
  transaction<T>(run: (tx: Transaction) => Promise<T> | T, options?: TransactionOptions): Promise<T>;

  /** `` await db.sql`select * from books where id = ${id}` ``: rows; every `${}` becomes a parameter. */
  readonly sql: SqlTag;
}

/** Members that features add to transactions: see patterns/outbox. */
export interface TransactionMembers {}

/** An open transaction. Its calls fail once it has ended. */
export interface Transaction extends Queries, TransactionMembers {
  readonly kind: "transaction";
  /** Runs a function after the outermost commit; never when this transaction or one around it is rolled back. */
  onCommit(hook: () => unknown): void;
  /** The number of transactions around this one: 0 for the outermost. */
  readonly depth: number;
  /** @internal The state in memory that a rollback undoes. */
  readonly level: UndoLevel;
}

/** A connection that the caller has alone, outside of a transaction: for `set`, temporary tables, advisory locks. */
export interface Session extends Queries {
  readonly kind: "session";
}

/** The servers that calls go to: the primary alone, or replicas for reads. */
export type DatabasePlace = "primary" | "replica";

export interface DatabaseStats {
  /** Connections that are open. */
  readonly total: number;
  /** Open connections without work. */
  readonly idle: number;
  readonly inUse: number;
  /** Calls that wait for a connection. */
  readonly waiting: number;
  /** The replicas, if there are any. */
  readonly replicas?: readonly ReplicaStats[];
}

export interface Database extends Queries {
  readonly kind: "database";
  /** Runs a function with its own connection; the connection's state is reset afterwards. */
  session<T>(run: (session: Session) => Promise<T> | T, options?: SessionOptions): Promise<T>;

  /** Calls `handler` for every notification on a channel, across reconnects, until the subscription is closed. */
  listen(channel: string, handler: NotificationHandler): Promise<Subscription>;

  /**
   * The transaction or session that surrounds the caller, when it runs in the function given to `transaction` or
   * `session`; else the database itself.
   */
  readonly current: Queries;

  /** The same database whose calls are cancelled with the signal. */
  withSignal(signal: AbortSignal): Database;

  /** The same database without its replicas: reads see all changes that were committed before. */
  readonly primary: Database;

  /** The same database whose reads go to a replica, also after a write and outside of requests. They may be out of date. */
  readonly replica: Database;

  /**
   * The place of the primary in its log: a server that has reached it has all changes that were committed before. For
   * `readAfter` in a later request.
   */
  writePosition(): Promise<string>;

  /**
   * Lets reads of the current request use only replicas that have reached a place in the log, otherwise the primary. A
   * text that is not from `writePosition` means the primary; undefined and null have no effect.
   */
  readAfter(position: string | null | undefined): void;

  /** @internal The way of the last connection to a server, for a thread that connects by itself. */
  readonly route?: ConnectionRoute | null;

  /** One round trip; fails with `OperationalError` if the database does not respond. */
  ping(): Promise<void>;

  stats(): DatabaseStats;

  /** Lets running work finish for a while, then closes every connection. Later calls fail. */
  close(): Promise<void>;
}
