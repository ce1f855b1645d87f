import type { Database } from "./database.js";

/** The database that models use unless a query names one with `using()`. `app.enableDatabase` binds its own at startup. */
let bound: Database | null = null;

/** Binds all models to a database; null unbinds them. */
export function bindDatabase(db: Database | null): void {
  bound = db;
}

/** Unbinds the models from a database that is closed, unless they are bound to another one now. */
export function unbindDatabase(db: Database): void {
  if (bound === db) bound = null;
}

export function boundDatabase(): Database | null {
  return bound;
}
