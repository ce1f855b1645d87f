/** A migration that does not fit: the schema it expects, the order of the files, or what it was asked to do. */
export class MigrationError extends Error {
  override name = "MigrationError";
}
