import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { option, options } from "../kit/config.js";
import { is } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import type { StoaConfig } from "../migrations/config.js";
import { exportsOf, importModule } from "../migrations/files/import-module.js";

/** A config that was read, and the file it stands in. */
export interface LoadedConfig {
  readonly config: StoaConfig;
  readonly file: string | null;
}

/** Reads the named file, or the one in the folder when there is one. */
export async function loadConfig(cwd: string, named: string | undefined): Promise<LoadedConfig> {
  const file = named === undefined ? await findConfig(cwd) : resolve(cwd, named);
  if (file === null) return { config: {}, file };
  if (named !== undefined && !(await exists(file))) throw new ValueError(`the config file ${file} is not there`);
  const given = exportsOf(await importModule(file))["default"];
  if (given === undefined) {
    throw new ValueError(`${file} has no default export: \`export default defineConfig({ ... })\``);
  }
  return { config: configOptions.readGiven([given], file), file };
}

const names = ["stoa.config.ts", "stoa.config.mts", "stoa.config.js", "stoa.config.mjs"];

async function findConfig(cwd: string): Promise<string | null> {
  for (const name of names) {
    const file = join(cwd, name);
    if (await exists(file)) return file;
  }
  return null;
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

const configOptions = options("the config file", {
  app: option(is.text),
  models: option(is.either(is.text, is.list(is.text))),
  // Checked by DatabaseConfig, whose messages do not show what was given.
  database: option<NonNullable<StoaConfig["database"]>>(is.anything),
  migrations: option(is.text),
  migrationsTable: option(is.text),
  seed: option(is.text),
});
