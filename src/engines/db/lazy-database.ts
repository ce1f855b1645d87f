import type { Logger } from "../../kit/logger.js";
import type { Tracer } from "../../kit/tracer.js";
import type { DatabaseConfig } from "./config.js";
import type { CursorHome } from "./cursor.js";
import type {
  Database,
  DatabaseEngine,
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
} from "./database.js";
import type { QueryMeter, ResultKind } from "./pool/execution.js";
import type { PoolDatabase } from "./pool/pool-database.js";
import type { TransactionOutbox } from "./pool/pool-queries.js";
import { BaseQueries } from "./queries.js";
import type { ConnectionRoute } from "./route.js";
import type { RowSink } from "./wire-row.js";

/** The state that the views of one database share. */
interface Source {
  readonly engine: DatabaseEngine;
  readonly replicated: boolean;
  /** Null until it has been loaded. */
  database: PoolDatabase | null;
  load(): Promise<PoolDatabase>;
}

/**
 * A database that exists before the code that runs statements is loaded: an application without a database never loads it.
 * `open` loads it and connects. An earlier call loads it too, and is then refused.
 */
export class LazyDatabase extends BaseQueries implements Database {
  readonly kind = "database";
  readonly #source: Source;
  #view: PoolDatabase | null = null;

  readonly #place: DatabasePlace | null;

  private constructor(source: Source, signal: AbortSignal | undefined, place: DatabasePlace | null = null) {
    super(signal);
    this.#source = source;
    this.#place = place;
  }

  static create(config: DatabaseConfig, logger?: Logger): LazyDatabase {
    return new LazyDatabase(sourceOf(config, logger), undefined);
  }

  get engine(): DatabaseEngine {
    return this.#source.engine;
  }

  /** Connects; waits up to `connectTimeout` for a database that is just starting. */
  open(): Promise<void> {
    return this.#call((database) => database.open());
  }

  /** Measures every statement from now on, except those of the framework itself, such as `begin` and `commit`. */
  measure(meter: QueryMeter): Promise<void> {
    return this.#call(async (database) => database.measure(meter));
  }

  /** Records every statement from now on as a span, except those of the framework itself. */
  trace(tracer: Tracer): Promise<void> {
    return this.#call(async (database) => database.trace(tracer));
  }

  /** Records the statements from now on. */
  observe(open: (database: PoolDatabase) => void): Promise<void> {
    return this.#call(async (database) => open(database));
  }

  /** Lets transactions publish messages from now on. */
  attachOutbox(outbox: TransactionOutbox): Promise<void> {
    return this.#call(async (database) => database.attachOutbox(outbox));
  }

  /** @internal */
  run<T>(
    kind: ResultKind,
    statement: Statement,
    params: readonly unknown[] | undefined,
    options?: QueryOptions,
    sink?: RowSink,
  ): Promise<T> {
    const loaded = this.#loaded();
    if (loaded !== null) return loaded.run(kind, statement, params, options, sink);
    return this.#call((database) => database.run(kind, statement, params, options, sink));
  }

  /** @internal */
  cursorHome(signal: AbortSignal | undefined): Promise<CursorHome> {
    return this.#call((database) => database.cursorHome(signal));
  }

  transaction<T>(run: (tx: Transaction) => Promise<T> | T, options?: TransactionOptions): Promise<T> {
    return this.#call((database) => database.transaction(run, options));
  }

  session<T>(run: (session: Session) => Promise<T> | T, options?: SessionOptions): Promise<T> {
    return this.#call((database) => database.session(run, options));
  }

  script(text: string, options?: QueryOptions): Promise<void> {
    return this.#call((database) => database.script(text, options));
  }

  listen(channel: string, handler: NotificationHandler): Promise<Subscription> {
    return this.#call((database) => database.listen(channel, handler));
  }

  get current(): Queries {
    const loaded = this.#loaded();
    const current = loaded?.current ?? null;
    return current === null || current === loaded ? this : current;
  }

  withSignal(signal: AbortSignal): Database {
    return this.#loaded()?.withSignal(signal) ?? new LazyDatabase(this.#source, signal, this.#place);
  }

  /** @internal */
  get route(): ConnectionRoute | null {
    return this.#loaded()?.route ?? null;
  }

  /** True if it has replicas. */
  get replicated(): boolean {
    return this.#source.replicated;
  }

  get primary(): LazyDatabase {
    return new LazyDatabase(this.#source, this.signal, "primary");
  }

  get replica(): LazyDatabase {
    return new LazyDatabase(this.#source, this.signal, "replica");
  }

  writePosition(): Promise<string> {
    return this.#call((database) => database.writePosition());
  }

  readAfter(position: string | null | undefined): void {
    this.#loaded()?.readAfter(position);
  }

  /** @internal Runs everything in one transaction until the returned function rolls it back. For tests. */
  pin(): Promise<() => Promise<void>> {
    return this.#call((database) => database.pin());
  }

  ping(): Promise<void> {
    return this.#call((database) => database.ping());
  }

  stats(): DatabaseStats {
    return this.#loaded()?.stats() ?? { total: 0, idle: 0, inUse: 0, waiting: 0 };
  }

  async close(): Promise<void> {
    await this.#loaded()?.close();
  }

  #call<T>(call: (database: PoolDatabase) => Promise<T>): Promise<T> {
    const loaded = this.#loaded();
    return loaded !== null ? call(loaded) : this.#source.load().then(() => call(this.#loaded()!));
  }

  /** The database whose calls are cancelled with the signal of this view. */
  #loaded(): PoolDatabase | null {
    if (this.#view === null && this.#source.database !== null) {
      const { database } = this.#source;
      const placed = this.#place === null ? database : database.placed(this.#place);
      this.#view = this.signal === undefined ? placed : placed.withSignal(this.signal);
    }
    return this.#view;
  }
}

function sourceOf(config: DatabaseConfig, logger: Logger | undefined): Source {
  let loading: Promise<PoolDatabase> | null = null;
  const source: Source = {
    engine: config.engine,
    replicated: config.replicaConfigs.length > 0,
    database: null,
    load: () => (loading ??= load()),
  };
  const load = async (): Promise<PoolDatabase> => {
    const { PoolDatabase } = await import("./pool/pool-database.js");
    return (source.database = PoolDatabase.create(config, logger));
  };
  return source;
}
