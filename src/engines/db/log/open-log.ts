import { createLogger } from "../../../logging/create-logger.js";
import type { PoolDatabase } from "../pool/pool-database.js";
import { type QueryLogSettings, readQueryLog } from "./options.js";
import { planner } from "./plan.js";
import { type QueryAudience, QueryLog } from "./query-log.js";

export interface OpenLog {
  /** The options of `logQueries`; null to write no lines. */
  readonly settings: QueryLogSettings | null;
  readonly development: boolean;
  readonly audience: QueryAudience | null;
}

/** Starts to record the statements of a database. */
export function openQueryLog(database: PoolDatabase, { settings: given, development, audience }: OpenLog): void {
  const settings = given ?? readQueryLog(true)!;
  database.observe(
    new QueryLog({
      settings,
      logger: given === null ? null : (database.logger ?? createLogger()),
      callers: settings.caller ?? development,
      planner: settings.explain ? planner(() => database.unobserved(), settings.parameters) : null,
      audience,
    }),
  );
}
