import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { Logger } from "../../kit/logger.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import { DatabaseConfig, type DatabaseOptions } from "./config.js";
import type { Database } from "./database.js";

const openOptions = declare("openDatabase()", {
  /** Of failures in the background. Default: none. */
  logger: option<Logger>(is.object),
});

export interface OpenDatabaseOptions extends OptionsOf<typeof openOptions.fields> {}

/** Connects to a database without an application: for scripts, migrations and tests. */
export async function openDatabase(
  config: ConfigOf<"DatabaseConfig"> | EitherSpelling<DatabaseOptions> | string,
  options?: OpenDatabaseOptions,
): Promise<Database> {
  const { logger } = openOptions.read([options]);
  const checked = DatabaseConfig.from([config]);
  const { PoolDatabase } = await import("./pool/pool-database.js");
  const database = PoolDatabase.create(checked, logger);
  const settings = checked.logQueries;
  if (settings !== null) {
    const { openQueryLog } = await import("./log/open-log.js");
    openQueryLog(database, { settings, development: process.env["NODE_ENV"] !== "production", audience: null });
  }
  await database.open();
  return database;
}
