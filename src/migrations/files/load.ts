import { readdir } from "node:fs/promises";
import { join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import { MigrationError } from "../errors.js";
import { readDefinition } from "../migration.js";
import type { Migration, MigrationDefinition } from "../operation.js";
import { checksumOf } from "./checksum.js";
import { exportsOf, importModule } from "./import-module.js";

/** A migration and the file that it stands in. */
export interface LoadedMigration extends Migration {
  readonly file: string;
}

/** Reads the migrations of a folder, by name. Files that begin with `_` or `.` and declarations are none. */
export async function loadMigrations(directory: string | URL): Promise<LoadedMigration[]> {
  const folder = folderOf(directory);
  const migrations: LoadedMigration[] = [];
  for (const [name, file] of await filesOf(folder)) {
    const path = join(folder, file);
    const definition = exportsOf(await importModule(path))["default"];
    if (definition === undefined) {
      throw new MigrationError(
        `${path} has no default export: \`export default migration({ ... })\`; the name of a file that is no migration begins with _`,
      );
    }
    migrations.push({ ...readMigration(name, definition, path), file: path });
  }
  return migrations;
}

/** Checks what a file says, and fills in what it leaves out. */
export function readMigration(name: string, given: unknown, source = `migration ${name}`): Migration {
  let definition: Partial<MigrationDefinition>;
  try {
    if (given === null || given === undefined) throw new Error(`${source} must be an object of options, not ${given}`);
    definition = readDefinition(source, given);
  } catch (error) {
    throw new MigrationError((error as Error).message, { cause: error });
  }
  const { dependsOn = [], replaces = [], transaction = true, operations, assured } = definition;
  if (operations === undefined) throw new MigrationError(`option 'operations' is required in ${source}`);
  if (dependsOn.includes(name)) throw new MigrationError(`${name} depends on itself`);
  if (replaces.includes(name)) throw new MigrationError(`${name} replaces itself`);
  const checksum = checksumOf(operations);
  return { name, dependsOn, replaces, transaction, operations, checksum, ...(assured !== undefined && { assured }) };
}

function folderOf(directory: string | URL): string {
  return directory instanceof URL || directory.startsWith("file:") ? fileURLToPath(directory) : directory;
}

/** The files by the names of their migrations, in order. */
async function filesOf(folder: string): Promise<[name: string, file: string][]> {
  const files = new Map<string, string>();
  for (const file of (await list(folder)).sort()) {
    if (!/^[^._].*\.m?[jt]s$/.test(file) || /\.d\.m?ts$/.test(file)) continue;
    const { name } = parse(file);
    const other = files.get(name);
    if (other !== undefined) {
      throw new MigrationError(`${join(folder, other)} and ${file} have the same name: keep one of them`);
    }
    files.set(name, file);
  }
  return [...files];
}

async function list(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new MigrationError(
      missing
        ? `the folder of migrations ${folder} is not there; \`stoa migrate make\` makes it with the first migration`
        : `the folder of migrations ${folder} cannot be read: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
