import type { Database, Queries } from "../engines/db/database.js";

/** Which database models use when nobody says: `app.enableDatabase` binds its own when it starts. */
let bound: Database | null = null;
let strict = false;

/** Binds all models to a database; null unbinds them. */
export function bindDatabase(db: Database | null): void {
  bound = db;
}

/** Unbinds the models from a database that is closed, unless they are bound to another by now. */
export function unbindDatabase(db: Database): void {
  if (bound === db) bound = null;
}

/** With true, reading a relation that was not loaded throws `LazyLoadError`, whatever the query. */
export function strictRelations(value = true): void {
  strict = value;
}

/** The database, or the transaction that surrounds the caller. */
export function connectionFor(given: Queries | null): Queries {
  if (given !== null) return "current" in given ? (given as Database).current : given;
  if (bound === null) {
    throw new Error(
      "no database for models: call app.enableDatabase(...) or bindDatabase(db), or pass one with using(db)",
    );
  }
  return bound.current;
}

export function strictByDefault(): boolean {
  return strict;
}
