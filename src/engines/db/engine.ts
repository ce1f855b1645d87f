import type { Logger } from "../../kit/logger.js";
import type { DatabaseConfig } from "./config.js";
import type { Connection, ConnectionOwner } from "./connection.js";
import type { DatabaseEngine, Notification } from "./database.js";
import type { Pool } from "./pool/pool.js";
import type { ConnectionRoute } from "./route.js";

/** Milliseconds between looks at the connections. */
export const watchInterval = 500;

/** The part of a PostgreSQL that a database uses: a server, or the embedded one. */
export interface Engine {
  readonly name: DatabaseEngine;
  /** The most connections at a time, and statements under way on each. */
  readonly size: number;
  readonly depth: number;
  connect(owner: ConnectionOwner): Promise<Connection>;
  /** The way of the last connection to a server, for a thread that connects by itself; null or absent if there is none. */
  readonly route?: ConnectionRoute | null;
  /** True if connecting may succeed later, after it failed with this error. */
  mayComeUp(error: unknown): boolean;
  /** Called every `watchInterval` while the database is open. */
  watch(pool: Pool): void;
  /** Delivers notifications on a channel, from when the promise resolves. */
  listen(channel: string, pool: Pool): Promise<void>;
  unlisten(channel: string, pool: Pool): Promise<void>;
  close(): Promise<void>;
}

export interface EngineContext {
  readonly config: DatabaseConfig;
  readonly logger: Logger | undefined;
  notify(notification: Notification): void;
}
