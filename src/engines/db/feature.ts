import { feature } from "../../feature/feature.js";
import type { Host } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { ValueError } from "../../kit/value-error.js";

import { declareEngine } from "../engine.js";
import { DatabaseConfig, type DatabaseOptions, type SslMode } from "./config.js";
import type { Database } from "./database.js";
import { bindDatabase, unbindDatabase } from "./default-database.js";
import { OperationalError } from "./errors.js";
import { prepareReplicas, watchQueries } from "./operations.js";
import type { PoolDatabase } from "./pool/pool-database.js";
import type { TransactionOutbox } from "./pool/pool-queries.js";

export interface DatabaseFeature {
  /** Connects to PostgreSQL at the start: `app.database`, `request.database` and, shorter, `request.db`. */
  enableDatabase(
    urlOrOptions: string | ConfigOf<"DatabaseConfig"> | EitherSpelling<DatabaseOptions>,
    poolSize?: number,
    sslmode?: SslMode,
    sslrootcert?: string,
  ): this;
  /** The database; needs `enableDatabase()`. */
  readonly database: Database;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** The database; statements of a request are cancelled when the client leaves or the time is up. */
    readonly database: Database;
    /** Short for `request.database`. */
    readonly db: Database;
  }
}

const postgres = declareEngine<DatabaseConfig, PoolDatabase>({
  name: "database",
  enabledBy: "enableDatabase",
  // An application without a database never loads the code that runs statements.
  create: async (config, logger) => (await import("./pool/pool-database.js")).PoolDatabase.create(config, logger),
  refuse: (message) => new OperationalError(message),
  async open(db) {
    await db.open();
    bindDatabase(db);
  },
  // The pool has its own limit, with a message that names the server; this one holds should that fail.
  openWithin: (config) => config.connectTimeout + 60,
  ping: (db, signal) => db.withSignal(signal).ping(),
  gauges: (db, config) => ({
    connections: { help: "Connections that are open.", read: () => db.stats().total },
    connections_idle: { help: "Open connections without work.", read: () => db.stats().idle },
    connections_in_use: { help: "Open connections with work.", read: () => db.stats().inUse },
    connections_max: { help: "Connections that may be open.", read: () => maxConnections(config) },
    calls_waiting: { help: "Calls that wait for a connection.", read: () => db.stats().waiting },
  }),
  async measure(db, meter) {
    const { statementMeter } = await import("./metrics.js");
    db.measure(statementMeter(meter));
  },
  trace: (db, tracer) => db.trace(tracer),
  async prepare(db, config, host) {
    await watchQueries(db, config, host);
    if (config.replicaConfigs.length > 0) await prepareReplicas(db, host);
  },
  review: (config, host) => [
    ...DatabaseConfig.options.idle(config),
    ...config.overruled(),
    config.engine === "pglite" &&
      config.folder === null &&
      host.settings.workers > 1 &&
      "the embedded database is in the memory of each worker: they do not share its data",
  ],
  async close(db) {
    unbindDatabase(db);
    await db.close();
  },
});

export const databaseFeature = feature<DatabaseFeature>({
  name: "database",
  setup: {
    enableDatabase(host, ...given) {
      const [first] = given;
      if (first === undefined || first === null) {
        throw new ValueError(
          `enableDatabase needs a DatabaseConfig or a URL, not ${first}. Is the variable that holds it set?`,
        );
      }
      postgres.enable(host, DatabaseConfig.from(given));
    },
  },
  values: { database: (host) => postgres.of(host, "app.database") },
  requestMembers: {
    database: (host, request) => viewOf(host, request, "request.database"),
    db: (host, request) => viewOf(host, request, "request.db"),
  },
  ...postgres.stages,
});

/** The database of an application, for the features that stand on it; `needs` names their call in the error without one. */
export function databaseOf(host: Host, needs: string): Database {
  // They read in order to decide and write: what a replica has may be out of date.
  const database = postgres.of(host, needs);
  return database.replicated ? database.primary : database;
}

/** Lets transactions of the application publish messages: `tx.publish()`. */
export function attachOutbox(host: Host, outbox: TransactionOutbox): void {
  postgres.of(host, "enableOutbox()").attachOutbox(outbox);
}

/** The view of the database that a request keeps. */
const view = Symbol("database");

function viewOf(host: Host, request: Request & { [view]?: Database }, needs: string): Database {
  return (request[view] ??= postgres.of(host, needs).withSignal(request.signal));
}

function maxConnections(config: DatabaseConfig): number {
  return config.engine === "pglite" ? 1 : config.poolSize;
}
