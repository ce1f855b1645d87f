import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { option, options } from "../kit/config.js";
import { is } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import type { StoaConfig } from "../migrations/config.js";
import { exportsOf, importModule, isTypeScript } from "../migrations/files/import-module.js";

/** A config that was read. Its paths are absolute. */
export interface LoadedConfig extends StoaConfig {
  readonly models: readonly string[];
  readonly migrations: string;
  /**
   * The folder that the path of an embedded database is relative to: that of the file, and for a compiled one that of its
   * source. There the program finds it too.
   */
  readonly base: string;
}

/** Reads the named file, or the one in the folder when there is one. */
export async function loadConfig(cwd: string, named: string | undefined): Promise<LoadedConfig> {
  const file = named === undefined ? findConfig(cwd) : resolve(cwd, named);
  const given = file === null ? {} : await readConfig(file, named !== undefined);
  const base = file === null ? cwd : dirname(file);
  const compiled = file !== null && !isTypeScript(file);
  const path = (name: string): string => modulePath(resolve(base, name), compiled);
  return {
    ...given,
    base: named === undefined ? cwd : base,
    models: [given.models ?? []].flat().map(path),
    migrations: resolve(base, given.migrations ?? "migrations"),
    ...(given.app !== undefined && { app: path(given.app) }),
    ...(given.client !== undefined && { client: resolve(base, given.client) }),
    ...(given.seed !== undefined && { seed: path(given.seed) }),
  };
}

/** In a folder of compiled files `./src/app.ts` is `./src/app.js`: compilers do not change the paths of a config. */
function modulePath(path: string, compiled: boolean): string {
  if (!compiled || !isTypeScript(path) || existsSync(path)) return path;
  return path.replace(/ts$/, "js");
}

async function readConfig(file: string, mustExist: boolean): Promise<StoaConfig> {
  if (mustExist && !existsSync(file)) throw new ValueError(`the config file ${file} is not there`);
  const given = exportsOf(await importModule(file))["default"];
  if (given === undefined) {
    throw new ValueError(`${file} has no default export: \`export default defineConfig({ ... })\``);
  }
  return configOptions.readGiven([given], file);
}

const names = ["stoa.config.ts", "stoa.config.mts", "stoa.config.js", "stoa.config.mjs"];
/** What `tsc` writes, for a folder without sources: an image has nothing else. */
const compiledNames = ["dist/stoa.config.js", "dist/stoa.config.mjs"];

export function findConfig(cwd: string): string | null {
  return [...names, ...compiledNames].map((name) => join(cwd, name)).find(existsSync) ?? null;
}

const configOptions = options("the config file", {
  app: option(is.text),
  client: option(is.text),
  models: option(is.either(is.text, is.list(is.text))),
  // Checked by DatabaseConfig, whose messages do not show what was given.
  database: option<NonNullable<StoaConfig["database"]>>(is.anything),
  migrations: option(is.text),
  migrationsTable: option(is.text),
  seed: option(is.text),
});
