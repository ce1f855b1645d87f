import type { DataFolder } from "./data-folder.js";
import type { Pglite, PgliteModule, PgliteOptions } from "./pglite-module.js";
import { forgetFreshDatabase, freshDatabase } from "./template.js";

/** Opens the database in a folder; creates it if there is none. */
export async function openFolder(module: PgliteModule, { path, initialised, create }: DataFolder): Promise<Pglite> {
  const { PGlite } = module;
  if (!(await initialised())) {
    await withTemplate(module, (template) =>
      create(async (dataDir) => (await PGlite.create({ ...template, dataDir })).close()),
    );
  }
  return PGlite.create({ dataDir: path });
}

/** Creates a database in memory. */
export function createFresh(module: PgliteModule): Promise<Pglite> {
  return withTemplate(module, (template) => module.PGlite.create(template));
}

/** Makes a new database from the files that are kept for this; without them it takes longer. */
async function withTemplate<T>(module: PgliteModule, make: (template: PgliteOptions) => Promise<T>): Promise<T> {
  try {
    return await make({ loadDataDir: await freshDatabase(module) });
  } catch {
    // The kept files may be damaged.
    await forgetFreshDatabase();
    return make({});
  }
}
