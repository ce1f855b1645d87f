import { registerHealthCheck } from "../../batteries/health/feature.js";
import { metricsFeature, metricsOf } from "../../batteries/metrics/feature.js";
import type { MetricsOptions } from "../../batteries/metrics/options.js";
import type { FeatureHost, FeatureMethods } from "../../feature/feature.js";
import { Request } from "../../http/request.js";
import type { EitherSpelling } from "../../internal/names.js";
import { ValueError } from "../../internal/value-error.js";
import { DatabaseConfig, type DatabaseOptions, type SslMode } from "./config.js";
import type { Database } from "./database.js";
import { bindDatabase, unbindDatabase } from "./default-database.js";
import { LazyDatabase } from "./lazy-database.js";

export interface DatabaseFeature {
  /** Connects to PostgreSQL at the start: `app.database`, `request.database` and, shorter, `request.db`. */
  enableDatabase(
    ...given:
      | [config: DatabaseConfig | EitherSpelling<DatabaseOptions>]
      | [url: string, poolSize?: number, sslmode?: SslMode, sslrootcert?: string]
  ): this;
  /** The database; needs `enableDatabase()`. */
  readonly database: Database;
}

declare module "../../http/request.js" {
  interface RequestSlots {
    /** The database; what a request has it do is cancelled when the client leaves or the time is up. */
    readonly database: Database;
    /** Short for `request.database`. */
    readonly db: Database;
  }
}

export const databaseFeature: FeatureMethods<DatabaseFeature> = {
  enableDatabase(...given) {
    this.assertOpen("enableDatabase()");
    const [first] = given;
    if (first === undefined || first === null) throw new ValueError("enableDatabase needs a DatabaseConfig");
    if (this.slots.has(databaseFeature)) throw new ValueError("enableDatabase has been called already");
    const config = first instanceof DatabaseConfig ? first : new DatabaseConfig(...(given as [string]));
    const database = LazyDatabase.create(config, this.logger);
    registerHealthCheck(this, "database", ({ signal }) => database.withSignal(signal).ping(), {
      timeout: healthTimeout,
    });
    this.slots.set(databaseFeature, database);
    this.onPrepare(() => {
      warnOfMemory(this, config);
      return showMetrics(this, config, database);
    });
    this.beforeStartup(async () => {
      await database.open();
      bindDatabase(database);
    });
    this.afterShutdown(async () => {
      unbindDatabase(database);
      await database.close();
    });
    return this;
  },
  get database() {
    return databaseOf(this as unknown as FeatureHost, "app.database");
  },
};

/** Seconds in which a database that is well answers a probe, also when it has much to do. */
const healthTimeout = 2;

/** Where a request keeps its view of the database. */
const view = Symbol("database");

for (const name of ["database", "db"]) {
  Object.defineProperty(Request.prototype, name, {
    get(this: Request & { [view]?: Database }): Database {
      const host = this.host as FeatureHost | null;
      return (this[view] ??= databaseOf(host, `request.${name}`).withSignal(this.signal));
    },
  });
}

function databaseOf(host: Pick<FeatureHost, "slots"> | null, what: string): Database {
  const database = host?.slots.get(databaseFeature) as Database | undefined;
  if (database === undefined) throw new Error(`${what} needs app.enableDatabase()`);
  return database;
}

function warnOfMemory(host: FeatureHost, config: DatabaseConfig): void {
  if (config.engine === "pglite" && config.folder === null && host.settings.workers > 1) {
    host.logger.warn("the embedded database is in the memory of each worker: they do not share what is in it");
  }
}

/** Where nobody asks for metrics, nothing of a statement is counted. */
async function showMetrics(host: FeatureHost, config: DatabaseConfig, database: LazyDatabase): Promise<void> {
  const enabled = host.slots.get(metricsFeature) as { options: Required<MetricsOptions> } | undefined;
  if (enabled === undefined) return;
  const { databaseMetrics } = await import("../../app/features/enabled.js");
  const { namespace, durationBuckets } = enabled.options;
  const meter = databaseMetrics(metricsOf(host), {
    prefix: namespace === "" ? "" : `${namespace}_`,
    durationBuckets,
    maxConnections: config.engine === "pglite" ? 1 : config.poolSize,
    stats: () => database.stats(),
  });
  await database.measure(meter);
}
