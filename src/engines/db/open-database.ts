import type { ConfigOf } from "../../kit/config-of.js";
import type { Logger } from "../../kit/logger.js";
import type { EitherSpelling } from "../../kit/names.js";
import { DatabaseConfig, type DatabaseOptions } from "./config.js";
import type { Database } from "./database.js";

/** Connects to a database without an application: for scripts, migrations and tests. */
export async function openDatabase(
  config: ConfigOf<"DatabaseConfig"> | EitherSpelling<DatabaseOptions> | string,
  options: { readonly logger?: Logger } = {},
): Promise<Database> {
  const checked = DatabaseConfig.from([config]);
  const { PoolDatabase } = await import("./pool/pool-database.js");
  const database = PoolDatabase.create(checked, options.logger);
  const settings = checked.logQueries;
  if (settings !== null) {
    const { openQueryLog } = await import("./log/open-log.js");
    openQueryLog(database, { settings, development: process.env["NODE_ENV"] !== "production", audience: null });
  }
  await database.open();
  return database;
}
