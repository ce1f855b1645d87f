import { databaseOf } from "../engines/db/feature.js";
import { feature } from "../feature/feature.js";
import { perHost } from "../feature/host.js";
import type { EitherSpelling } from "../kit/names.js";
import { eventLine } from "./event.js";
import { type MigratorOptions, type MigratorSettings, readMigratorOptions } from "./options.js";

export interface MigrationsFeature {
  /**
   * Applies the migrations of a folder at the start, before the startup hooks: `new URL("../migrations", import.meta.url)`.
   * Workers and machines that start together wait for the first one. Needs `enableDatabase()`.
   */
  enableMigrations(directoryOrOptions: string | URL | EitherSpelling<MigratorOptions>): this;
}

const stateOf = perHost((): { settings: MigratorSettings | null } => ({ settings: null }));

export const migrationsFeature = feature<MigrationsFeature>({
  name: "migrations",
  setup: {
    enableMigrations(host, ...given) {
      stateOf(host).settings = readMigratorOptions(given, "enableMigrations()");
    },
  },
  prepare(host) {
    // Without a database the start fails here, before anything is opened.
    if (stateOf(host).settings !== null) databaseOf(host, "enableMigrations()");
  },
  async open(host) {
    const { settings } = stateOf(host);
    if (settings === null) return;
    const { migrate } = await import("./migrator.js");
    await migrate(databaseOf(host, "enableMigrations()"), {
      ...settings,
      onEvent(event) {
        if (event.type !== "operation") host.logger.info(eventLine(event));
        settings.onEvent?.(event);
      },
    });
  },
});
