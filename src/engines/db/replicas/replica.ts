import type { Logger } from "../../../kit/logger.js";
import type { DatabaseConfig } from "../config.js";
import type { ArrayResult } from "../database.js";
import type { Engine } from "../engine.js";
import { OperationalError } from "../errors.js";
import { Execution } from "../pool/execution.js";
import type { Pool } from "../pool/pool.js";
import { watchExecution } from "../pool/watch-execution.js";
import { internalStatement } from "../statements.js";
import { type Positions, readPosition } from "./position.js";

/** Milliseconds in which a server that is well responds to a check. */
export const patience = 2000;

const stateQuery = "select pg_catalog.pg_is_in_recovery(), pg_catalog.pg_last_wal_replay_lsn()::text";

/** A server that follows the primary, with its own connections. */
export class Replica {
  readonly address: string;
  /** True if its last check succeeded and no statement has lost it since. */
  usable = false;
  /** The place in the log of the primary that it has reached. */
  replayed = 0n;
  /** Milliseconds that it was behind the primary at its last check. */
  lagMs = 0;
  readonly #config: DatabaseConfig;
  readonly #engine: Engine;
  readonly #pool: Pool;
  readonly #logger: Logger | undefined;
  #checked = false;

  constructor(config: DatabaseConfig, engine: Engine, pool: Pool, logger: Logger | undefined) {
    this.address = config.address;
    this.#config = config;
    this.#engine = engine;
    this.#pool = pool;
    this.#logger = logger;
  }

  /** Statements under way and waiting, for each connection that may be open. */
  get load(): number {
    const { inUse, waiting } = this.#pool.stats();
    return (inUse + waiting) / this.#config.poolSize;
  }

  submit(execution: Execution): void {
    this.#pool.submit(execution);
  }

  /** Asks if it follows a primary, and how far it is. Never rejects. */
  async check(positions: Positions): Promise<void> {
    const execution = new Execution(internalStatement(stateQuery), [], "arrays", false);
    watchExecution(execution, undefined, patience / 1000);
    this.#pool.submit(execution);
    try {
      const { rows } = (await execution.promise) as ArrayResult;
      const [[follows, position] = []] = rows;
      if (follows !== true) throw new OperationalError("it is a primary, not a replica");
      this.replayed = readPosition(position) ?? 0n;
      this.lagMs = positions.lagOf(this.replayed, performance.now());
      this.#found();
    } catch (error) {
      this.lost(error);
    }
  }

  /** Takes no reads until a check succeeds again. */
  lost(error: unknown): void {
    if (this.usable || !this.#checked) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#logger?.warn("a replica of the database cannot be used: reads go to the others, or to the primary", {
        replica: this.address,
        reason,
      });
    }
    this.usable = false;
    this.#checked = true;
  }

  watch(): void {
    this.#pool.tend();
    this.#engine.watch(this.#pool);
  }

  async close(): Promise<void> {
    await this.#pool.close();
    await this.#engine.close();
  }

  #found(): void {
    if (!this.usable && this.#checked)
      this.#logger?.info("a replica of the database is used again", { replica: this.address });
    this.usable = true;
    this.#checked = true;
  }
}
