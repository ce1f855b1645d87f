import { resolve } from "node:path";
import { parentLink } from "../../../server/process/parent-link.js";
import type { Connection, ConnectionOwner } from "../connection.js";
import type { Engine, EngineContext } from "../engine.js";
import { OperationalError } from "../errors.js";
import { Execution } from "../pool/execution.js";
import type { Pool } from "../pool/pool.js";
import { quoteIdentifier } from "../sql/sql.js";
import { internalStatement } from "../statements.js";
import { type DataFolder, takeFolder } from "./data-folder.js";
import { connectKept } from "./kept-client.js";
import { createFresh, openFolder } from "./open-folder.js";
import { PgliteConnection } from "./pglite-connection.js";
import { loadPglite, type Pglite, type PgliteModule } from "./pglite-module.js";

/** PostgreSQL compiled to WebAssembly, in this process: one session, and no other process. */
export class PgliteEngine implements Engine {
  readonly name = "pglite";
  readonly size = 1;
  readonly depth = 64;
  readonly #context: EngineContext;
  readonly #module: PgliteModule;
  #folder: DataFolder | null = null;
  #pglite: Pglite | null = null;
  #connection: PgliteConnection | null = null;
  /** True if another process has the database open, and this one is one of its clients. */
  #served = false;

  private constructor(context: EngineContext, module: PgliteModule) {
    this.#context = context;
    this.#module = module;
  }

  static async create(context: EngineContext): Promise<PgliteEngine> {
    return new PgliteEngine(context, await loadPglite());
  }

  async connect(owner: ConnectionOwner): Promise<Connection> {
    if (this.#connection !== null && this.#context.config.folder === null) {
      throw new OperationalError("the embedded database has failed, and what it had in memory is lost", {
        sqlstate: "58000",
      });
    }
    await this.#shut();
    const pglite = await this.#start();
    pglite.onNotification((channel, payload) => this.#context.notify({ channel, payload }));
    this.#pglite = pglite;
    return (this.#connection = new PgliteConnection(pglite, this.#module.protocol.serialize, owner));
  }

  mayComeUp(): boolean {
    return false;
  }

  watch(): void {}

  listen(channel: string, pool: Pool): Promise<void> {
    return run(pool, `listen ${quoteIdentifier(channel)}`);
  }

  async unlisten(channel: string, pool: Pool): Promise<void> {
    // All clients share the session: another may listen to the channel.
    if (!this.#served) await run(pool, `unlisten ${quoteIdentifier(channel)}`);
  }

  async close(): Promise<void> {
    await this.#shut();
    await this.#folder?.release();
    this.#folder = null;
  }

  async #start(): Promise<Pglite> {
    const { folder } = this.#context.config;
    if (folder === null) return createFresh(this.#module);
    const server = await parentLink?.keep(resolve(folder));
    const taken = server ?? this.#folder ?? (await takeFolder(folder));
    this.#served = typeof taken === "string";
    if (typeof taken === "string") return connectKept(taken);
    this.#folder = taken;
    return openFolder(this.#module, taken);
  }

  async #shut(): Promise<void> {
    const pglite = this.#pglite;
    this.#pglite = null;
    await pglite?.close();
  }
}

/** Runs a statement outside of transactions, with which it would be rolled back. */
async function run(pool: Pool, text: string): Promise<void> {
  const connection = await pool.acquire();
  try {
    const execution = new Execution(internalStatement(text), [], "execute", false);
    connection.send(execution);
    await execution.promise;
  } finally {
    pool.release(connection);
  }
}
