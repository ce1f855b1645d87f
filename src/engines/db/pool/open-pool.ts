import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../../../kit/logger.js";
import { milliseconds } from "../../../kit/time/duration.js";
import { ValueError } from "../../../kit/value-error.js";
import type { DatabaseConfig } from "../config.js";
import type { Engine } from "../engine.js";
import type { Listeners } from "../listeners.js";
import { Pool } from "./pool.js";

/** The engine of a database and a pool of its connections, of which the first is open. */
export async function openPool(
  config: DatabaseConfig,
  logger: Logger | undefined,
  listeners: Listeners,
): Promise<{ readonly engine: Engine; readonly pool: Pool }> {
  const engine = await loadEngine(config, logger, listeners);
  const pool = makePool(engine, config);
  try {
    await connect(pool, engine, milliseconds(config.connectTimeout));
  } catch (error) {
    await engine.close();
    throw error;
  }
  return { engine, pool };
}

/** The pool of an engine, without connections. */
export function makePool(engine: Engine, config: DatabaseConfig): Pool {
  return new Pool({
    size: engine.size,
    depth: engine.depth,
    acquireTimeout: milliseconds(config.acquireTimeout),
    // An embedded database is not reached over a network, and in memory it has nothing else.
    maxLifetime: config.engine === "pglite" ? 0 : milliseconds(config.maxLifetime),
    idleTimeout: milliseconds(config.idleTimeout),
    connect: (owner) => engine.connect(owner),
  });
}

async function loadEngine(config: DatabaseConfig, logger: Logger | undefined, listeners: Listeners): Promise<Engine> {
  const context = { config, logger, notify: listeners.deliver };
  if (config.engine === "pglite") {
    const { PgliteEngine } = await import("../pglite/pglite-engine.js");
    return PgliteEngine.create(context);
  }
  const { PostgresEngine } = await import("../postgres/postgres-engine.js");
  return PostgresEngine.create(context);
}

/** A server that is just starting refuses connections, or has no name yet: connecting is tried until the time is over. */
async function connect(pool: Pool, engine: Engine, patience: number): Promise<void> {
  const deadline = performance.now() + patience;
  for (;;) {
    try {
      await pool.open();
      return;
    } catch (error) {
      if (error instanceof ValueError || !engine.mayComeUp(error) || performance.now() + 200 > deadline) throw error;
    }
    await delay(200);
  }
}
