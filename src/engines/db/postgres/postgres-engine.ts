import type { Connection, ConnectionOwner } from "../connection.js";
import type { Engine, EngineContext } from "../engine.js";
import { DatabaseError } from "../errors.js";
import type { Pool } from "../pool.js";
import { type Connected, connectClient } from "./connect.js";
import { createJobQuery, type JobQueryClass } from "./job-query.js";
import { ListenConnection } from "./listen-connection.js";
import { Liveness } from "./liveness.js";
import { PgConnection } from "./pg-connection.js";
import { loadPg, type PgModule } from "./pg-module.js";
import { StatementNaming } from "./statement-naming.js";
import { type Attempt, tlsAttempts } from "./tls.js";

/** A PostgreSQL server, reached through node-postgres. */
export class PostgresEngine implements Engine {
  readonly name = "postgres";
  readonly size: number;
  /** Beyond this, more statements ahead brought nothing more on a local server, and make a slow one hold up more others. */
  readonly depth = 16;
  readonly #context: EngineContext;
  readonly #pg: PgModule;
  readonly #attempts: readonly Attempt[];
  readonly #JobQuery: JobQueryClass;
  readonly #listener: ListenConnection;
  readonly #liveness: Liveness;
  readonly #naming: StatementNaming;

  private constructor(context: EngineContext, pg: PgModule, attempts: readonly Attempt[]) {
    this.size = context.config.poolSize;
    this.#context = context;
    this.#pg = pg;
    this.#attempts = attempts;
    this.#JobQuery = createJobQuery(pg);
    this.#naming = new StatementNaming(context.logger);
    const open = (owner: ConnectionOwner, timeout?: number) => this.connect(owner, timeout);
    this.#listener = new ListenConnection(context, open);
    this.#liveness = new Liveness(context.config, open);
  }

  static async create(context: EngineContext): Promise<PostgresEngine> {
    return new PostgresEngine(context, await loadPg(), await tlsAttempts(context.config));
  }

  async connect(owner: ConnectionOwner, timeout?: number): Promise<PgConnection> {
    const connected: Connected = await connectClient(this.#pg, this.#context.config, this.#attempts, timeout);
    return new PgConnection(connected, this.#JobQuery, this.#naming, owner);
  }

  mayComeUp(error: unknown): boolean {
    if (!(error instanceof DatabaseError)) return false;
    // It is starting up or shutting down; it has no room; or nobody is there.
    return error.sqlstate === "57P03" || error.sqlstate === "53300" || error.sqlstate === "08001";
  }

  watch(pool: Pool): void {
    const connections: Connection[] = [...pool.connections()];
    if (this.#listener.connection !== null) connections.push(this.#listener.connection);
    this.#listener.keepAwake();
    this.#liveness.check(connections.filter((connection) => connection instanceof PgConnection));
  }

  listen(channel: string): Promise<void> {
    return this.#listener.listen(channel);
  }

  unlisten(channel: string): Promise<void> {
    return this.#listener.unlisten(channel);
  }

  close(): Promise<void> {
    return this.#listener.close();
  }
}
