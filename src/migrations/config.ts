import type { DatabaseOptions } from "../engines/db/config.js";
import type { ConfigOf } from "../kit/config-of.js";
import type { EitherSpelling } from "../kit/names.js";

/** The settings of a project in `stoa.config.ts`. Paths are relative to that file. */
export interface StoaConfig {
  /** The module that exports the application: an `App`, or a function that makes one, as `app` or by default. */
  readonly app?: string;
  /** The file of the typed client, which `stoa dev` keeps up to date. */
  readonly client?: string;
  /** Modules whose exported models make up the schema. */
  readonly models?: string | readonly string[];
  /** The database: a URL, or the fields of `DatabaseConfig`. */
  readonly database?: ConfigOf<"DatabaseConfig"> | EitherSpelling<DatabaseOptions> | string;
  /** The folder of the migrations. Default `./migrations`. */
  readonly migrations?: string;
  /** The table that records the applied migrations. Default `stoa_migrations`. */
  readonly migrationsTable?: string;
  /** The module whose default export fills the database: `stoa db seed`. */
  readonly seed?: string;
}

/** Types a config: `export default defineConfig({ ... })`. */
export function defineConfig(config: StoaConfig): StoaConfig {
  return config;
}
