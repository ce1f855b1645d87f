import type { Connection, ConnectionOwner } from "../connection.js";
import type { Engine, EngineContext } from "../engine.js";
import { OperationalError } from "../errors.js";
import { Job } from "../job.js";
import type { Pool } from "../pool.js";
import { quoteIdentifier } from "../sql.js";
import { internalStatement } from "../statements.js";
import { type DataFolder, takeFolder } from "./data-folder.js";
import { PgliteConnection } from "./pglite-connection.js";
import { loadPglite, type Pglite, type PgliteModule } from "./pglite-module.js";
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
    if (folder === null) return this.#fresh(undefined);
    this.#folder ??= await takeFolder(folder);
    if (this.#folder.initialised) return PGlite.create({ dataDir: this.#folder.path });
    const pglite = await this.#fresh(this.#folder.path);
    await this.#folder.finish();
    return pglite;
  }

  async #fresh(dataDir: string | undefined): Promise<Pglite> {
    const { PGlite } = this.#module;
    const place = dataDir === undefined ? {} : { dataDir };
    try {
      return await PGlite.create({ ...place, loadDataDir: await freshDatabase(this.#module) });
    } catch {
      // The files that were kept may be damaged: without them it takes longer, but works.
      await forgetFreshDatabase();
      return PGlite.create(place);
    }
  }

  async #shut(): Promise<void> {
    const pglite = this.#pglite;
    this.#pglite = null;
    await pglite?.close();
  }
}

/** Not in the middle of somebody's transaction, with which it would be undone. */
async function run(pool: Pool, text: string): Promise<void> {
  const connection = await pool.acquire();
  try {
    const job = new Job(internalStatement(text), [], "execute", false);
    connection.send(job);
    await job.promise;
  } finally {
    pool.release(connection);
  }
}
