/** A migration does not fit the schema, the order of the files or the request. */
export class MigrationError extends Error {
  override name = "MigrationError";
}
