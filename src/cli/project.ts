import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { DatabaseConfig } from "../engines/db/config.js";
import type { Database } from "../engines/db/database.js";
import { openDatabase } from "../engines/db/open-database.js";
import { ValueError } from "../kit/value-error.js";
import { exportsOf, importModule } from "../migrations/files/import-module.js";
import type { ModelConstructor, ModelMeta } from "../orm/meta.js";
import type { OptionSpecs } from "./arguments.js";
import type { CommandCall } from "./command.js";
import { type LoadedConfig, loadConfig } from "./config.js";

/** Options that tell a command about the project. They win over the config file, and that over the environment. */
export const configOption = {
  config: { kind: "text", value: "FILE", help: "the config file (stoa.config.ts, .mts, .js or .mjs in this folder)" },
} as const satisfies OptionSpecs;

export const modelsOption = {
  models: {
    kind: "list",
    value: "FILE",
    help: "a module whose exported models are taken; may be given several times",
    insteadOf: "app",
  },
} as const satisfies OptionSpecs;

export const databaseOption = {
  database: { kind: "text", value: "URL", help: "the database (DATABASE_URL in the environment)", insteadOf: "app" },
} as const satisfies OptionSpecs;

export const migrationsOption = {
  migrations: { kind: "text", value: "FOLDER", help: "the folder of the migrations (./migrations)" },
} as const satisfies OptionSpecs;

/** Options that a command does not have count as not given. */
type ProjectCall = CommandCall<
  typeof configOption & typeof modelsOption & typeof databaseOption & typeof migrationsOption
>;

/** The project that a command works on. */
export interface Project {
  readonly migrations: string;
  readonly table: string;
  /** The module that fills the database. */
  readonly seed: string | undefined;
  /** The modules of the models. */
  readonly modules: readonly string[];
  /** The models of the modules that are named. */
  models(): Promise<readonly ModelMeta[]>;
  /** The configuration of the database; throws if none is given. */
  readonly databaseConfig: () => DatabaseConfig;
  /** Opens the database for a function, and closes it. */
  withDatabase<T>(run: (database: Database) => Promise<T>): Promise<T>;
}

export async function readProject({ options, cwd, env }: ProjectCall): Promise<Project> {
  const config = await loadConfig(cwd, options.config);
  const modules = options.models?.map((path) => resolve(cwd, path)) ?? config.models;
  const databaseConfig = (): DatabaseConfig => readDatabase(options.database, config, env);
  return {
    migrations: options.migrations === undefined ? config.migrations : resolve(cwd, options.migrations),
    table: config.migrationsTable ?? "stoa_migrations",
    seed: config.seed,
    modules,
    models: () => loadModels(modules),
    databaseConfig,
    async withDatabase(run) {
      const database = await openDatabase(databaseConfig());
      try {
        return await run(database);
      } finally {
        await database.close();
      }
    },
  };
}

function readDatabase(option: string | undefined, config: LoadedConfig, env: CommandCall["env"]): DatabaseConfig {
  const given = option ?? config.database ?? (env["DATABASE_URL"] || undefined);
  if (given === undefined) {
    throw new ValueError("no database: give --database URL, set DATABASE_URL, or name it in stoa.config.ts");
  }
  const read = DatabaseConfig.from([given]);
  // A folder in the config file is relative to that file, like the other paths.
  if (option !== undefined || read.folder === null || config.database === undefined) return read;
  const url = `pglite:${encodeURIComponent(resolve(config.base, read.folder))}`;
  return typeof given === "string" || given instanceof DatabaseConfig
    ? new DatabaseConfig(url)
    : new DatabaseConfig({ ...given, url });
}

async function loadModels(files: readonly string[]): Promise<readonly ModelMeta[]> {
  if (files.length === 0) throw new ValueError("no models: give --models FILE, or name them in stoa.config.ts");
  const models = new Set<ModelConstructor>();
  for (const file of files) {
    await access(file).catch(() => {
      throw new ValueError(`the module of models ${file} is not there`);
    });
    const found = Object.values(exportsOf(await importModule(file))).filter(isModel);
    if (found.length === 0) throw new ValueError(`${file} exports no model: a class that extends Model(...)`);
    for (const model of found) models.add(model);
  }
  const metas = [...models].map((model) => model.meta);
  refuseStrangers(metas);
  return metas;
}

/** Identified by its properties: the project may use another copy of the package. */
function isModel(value: unknown): value is ModelConstructor {
  return typeof value === "function" && ["meta", "objects", "DoesNotExist"].every((name) => name in value);
}

/** Refuses models that refer to a table which is not among the models: it would be dropped, or never created. */
function refuseStrangers(metas: readonly ModelMeta[]): void {
  const known = new Set(metas.map((meta) => meta.sqlName));
  for (const meta of metas) {
    for (const { reference, name } of meta.columns) {
      if (reference === undefined || !reference.constraint || !reference.target.managed) continue;
      if (known.has(reference.target.sqlName)) continue;
      throw new ValueError(
        `${meta.name}.${name} refers to ${reference.target.name}, which is not among the models: export it from one of their modules`,
      );
    }
  }
}
