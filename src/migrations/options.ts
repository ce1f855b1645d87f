import { type OptionsOf, option, options, type SettingsOf } from "../kit/config.js";
import { type Check, is } from "../kit/options.js";
import { MigrationError } from "./errors.js";
import type { MigrationEvent } from "./event.js";
import type { MigrationDefinition } from "./operation.js";

const isUrl: Check<URL> = (value) => (value instanceof URL ? undefined : "a URL");

const migratorOptions = options(
  "Migrator",
  {
    /** The folder of the migration files. */
    directory: option(is.either(is.text, isUrl)),
    /** The migrations by their names, instead of a folder, for programs that are bundled into one file. */
    migrations: option<Readonly<Record<string, MigrationDefinition>>>(is.object),
    /** The table that records applied migrations. Default `stoa_migrations`. */
    table: option(is.text, "stoa_migrations"),
    /** Time to wait for another process that migrates the same database. Default 1 minute. */
    lockTimeout: option.duration("1m", 0, "24d"),
    /** Time that a statement may wait for a locked table before the migration fails; 0 for no limit. Default 0. */
    tableLockTimeout: option.duration(0, 0, "24d"),
    /** Continues if an applied migration was changed since, or if its file is missing. Default false. */
    allowDrift: option(is.boolean, false),
    /** Called for each event. */
    onEvent: option<(event: MigrationEvent) => void>(is.function),
    /** Cancels the running statement; its transaction is rolled back. */
    signal: option(is.signal),
  },
  { order: ["directory"] },
);

export interface MigratorOptions extends OptionsOf<typeof migratorOptions.fields> {}
export type MigratorSettings = SettingsOf<typeof migratorOptions.fields>;

/** The options of `new Migrator()` and `app.enableMigrations()`; `place` names the call in errors. */
export function readMigratorOptions(given: readonly unknown[], place: string): MigratorSettings {
  const settings = migratorOptions.read(given, place);
  if ((settings.directory === undefined) === (settings.migrations === undefined)) {
    throw new MigrationError(`${place} needs either 'directory' or 'migrations'`);
  }
  return settings;
}
