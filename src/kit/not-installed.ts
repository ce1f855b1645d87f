/**
 * Handles the failed import of an optional package, by throwing it again: bundlers accept a package that they do not
 * find where its absence is handled.
 */
export function notInstalled(error: unknown): never {
  throw error;
}
