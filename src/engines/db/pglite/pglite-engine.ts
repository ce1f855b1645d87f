import type { Connection, ConnectionOwner } from "../connection.js";
import type { Engine, EngineContext } from "../engine.js";
import { OperationalError } from "../errors.js";
import { Execution } from "../pool/execution.js";
import type { Pool } from "../pool/pool.js";
import { quoteIdentifier } from "../sql/sql.js";
import { internalStatement } from "../statements.js";
import { type DataFolder, takeFolder } from "./data-folder.js";
import { PgliteConnection } from "./pglite-connection.js";
import { loadPglite, type Pglite, type PgliteModule, type PgliteOptions } from "./pglite-module.js";
import { forgetFreshDatabase, freshDatabase } from "./template.js";

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

  unlisten(channel: string, pool: Pool): Promise<void> {
    return run(pool, `unlisten ${quoteIdentifier(channel)}`);
  }

  async close(): Promise<void> {
    await this.#shut();
    await this.#folder?.release();
    this.#folder = null;
  }

  async #start(): Promise<Pglite> {
    const { PGlite } = this.#module;
    const { folder } = this.#context.config;
    if (folder === null) return this.#withTemplate((template) => PGlite.create(template));
    this.#folder ??= await takeFolder(folder);
    const { path, initialised, create } = this.#folder;
    if (!(await initialised())) {
      await this.#withTemplate((template) =>
        create(async (dataDir) => (await PGlite.create({ ...template, dataDir })).close()),
      );
    }
    return PGlite.create({ dataDir: path });
  }

  /** Makes a new database from the files that are kept for this; without them it takes longer. */
  async #withTemplate<T>(make: (template: PgliteOptions) => Promise<T>): Promise<T> {
    try {
      return await make({ loadDataDir: await freshDatabase(this.#module) });
    } catch {
      // The kept files may be damaged.
      await forgetFreshDatabase();
      return make({});
    }
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
