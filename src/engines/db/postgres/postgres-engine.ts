import type { Connection, ConnectionOwner } from "../connection.js";
import type { Engine, EngineContext } from "../engine.js";
import { DatabaseError } from "../errors.js";
import type { Pool } from "../pool/pool.js";
import type { ConnectionRoute } from "../route.js";
import { createExecutionQuery } from "./execution-query.js";
import { ServerFinder } from "./find-server.js";
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
  /** More statements ahead were no faster on a local server, and more of them would wait behind a slow one. */
  readonly depth = 16;
  readonly #finder: ServerFinder;
  readonly #listener: ListenConnection;
  readonly #liveness: Liveness;

  private constructor(context: EngineContext, pg: PgModule, attempts: readonly Attempt[]) {
    this.size = context.config.poolSize;
    const ExecutionQuery = createExecutionQuery(pg);
    const naming = new StatementNaming(context.logger);
    this.#finder = new ServerFinder(
      pg,
      context.config,
      attempts,
      (connected) => new PgConnection(connected, ExecutionQuery, naming),
    );
    const open = (...given: Parameters<ServerFinder["connect"]>) => this.#finder.connect(...given);
    this.#listener = new ListenConnection(context, open);
    this.#liveness = new Liveness(context.config, open);
  }

  static async create(context: EngineContext): Promise<PostgresEngine> {
    return new PostgresEngine(context, await loadPg(), await tlsAttempts(context.config));
  }

  connect(owner: ConnectionOwner): Promise<PgConnection> {
    return this.#finder.connect(owner);
  }

  get route(): ConnectionRoute | null {
    return this.#finder.route;
  }

  mayComeUp(error: unknown): boolean {
    if (!(error instanceof DatabaseError)) return false;
    // It starts up or shuts down, has no free connection, or cannot be reached.
    return error.sqlstate === "57P03" || error.sqlstate === "53300" || error.sqlstate === "08001";
  }

  watch(pool: Pool): void {
    const connections: Connection[] = [...pool.connections()];
    if (this.#listener.connection !== null) connections.push(this.#listener.connection);
    this.#listener.keepAwake();
    // After what has arrived is read: if the event loop was blocked, responses wait in the sockets.
    setImmediate(() => this.#liveness.check(connections.filter((connection) => connection instanceof PgConnection)));
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
