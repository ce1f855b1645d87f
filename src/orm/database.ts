import type { Database, Queries } from "../engines/db/database.js";
import { boundDatabase } from "../engines/db/default-database.js";

let strict = false;

/** With true, reading a relation that was not loaded throws `LazyLoadError`, also in queries without `strict()`. */
export function strictRelations(value = true): void {
  strict = value;
}

export function strictByDefault(): boolean {
  return strict;
}

/** The given database or the bound one; inside a transaction or session of it, that transaction or session. */
export function connectionFor(given: Queries | null): Queries {
  const queries = given ?? boundDatabase();
  if (queries === null) {
    throw new Error(
      "no database for models: call app.enableDatabase(...) or bindDatabase(db), or pass one with using(db)",
    );
  }
  return isDatabase(queries) ? queries.current : queries;
}

export function isDatabase(queries: Queries): queries is Database {
  return queries.kind === "database";
}
