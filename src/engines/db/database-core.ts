import { notStarted } from "../../kit/before-start.js";
import type { Logger } from "../../kit/logger.js";
import type { DatabaseConfig } from "./config.js";
import { type Engine, watchInterval } from "./engine.js";
import { OperationalError } from "./errors.js";
import { Listeners } from "./listeners.js";
import { openPool } from "./pool/open-pool.js";
import type { Pool } from "./pool/pool.js";
import type { QueryDefaults } from "./pool/pool-queries.js";
import type { Replicas } from "./replicas/replicas.js";
import { Statements } from "./statements.js";
import type { PinnedTransaction } from "./transaction/pinned.js";

/** The state that the views of one database share. */
export interface DatabaseCore {
  readonly config: DatabaseConfig;
  readonly logger: Logger | undefined;
  readonly defaults: QueryDefaults;
  readonly listeners: Listeners;
  replicas: Replicas | null;
  running: { readonly engine: Engine; readonly pool: Pool; readonly timer: NodeJS.Timeout } | null;
  /** Set while a test runs that is rolled back. */
  pinned: PinnedTransaction | null;
  /** True from the call that opens the transaction of a test to its end. */
  pinning: boolean;
}

export function createCore(config: DatabaseConfig, logger: Logger | undefined): DatabaseCore {
  return {
    config,
    logger,
    defaults: {
      engine: config.engine,
      statements: new Statements(),
      prepare: config.preparedStatements,
      pooled: config.engine === "postgres" && !config.preparedStatements,
      meter: null,
      tracer: null,
      log: null,
      outbox: null,
    },
    listeners: new Listeners(logger),
    replicas: null,
    running: null,
    pinned: null,
    pinning: false,
  };
}

/** Opens the pool, and begins to look after its connections. */
export async function startCore(core: DatabaseCore): Promise<void> {
  const { config, logger, listeners } = core;
  const { engine, pool } = await openPool(config, logger, listeners);
  const timer = setInterval(() => {
    pool.tend();
    engine.watch(pool);
    core.replicas?.tick();
  }, watchInterval).unref();
  listeners.attach(engine, pool);
  core.running = { engine, pool, timer };
}

export async function stopCore({ running, defaults, listeners, replicas }: DatabaseCore): Promise<void> {
  defaults.log?.close();
  if (running === null) return;
  clearInterval(running.timer);
  listeners.clear();
  await replicas?.close();
  await running.pool.close();
  await running.engine.close();
}

export function poolOf({ running }: DatabaseCore): Pool {
  if (running === null) throw new OperationalError(notStarted("app.database"));
  return running.pool;
}
