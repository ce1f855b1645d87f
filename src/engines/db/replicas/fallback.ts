import { DatabaseError } from "../errors.js";

/**
 * Errors of a replica after which the primary is asked, by SQLSTATE or its class:
 * - 08, 53, 57P, 58, XX: the replica cannot be reached, or is full, shutting down or broken.
 * - 25006, 55000, 0A000: the statement needs a primary: it writes, or reads what a replica does not have.
 * - 40001, 40P01: the replica cancelled it in favour of the changes that it replays.
 * - 3F000, 42P01, 42703, 42704, 42883: a table, column, type or function that the replica may not have yet.
 */
const classes = ["08", "53", "57P", "58", "XX"];
const needsPrimary: ReadonlySet<string> = new Set(["25006", "55000", "0A000"]);
const others: ReadonlySet<string> = new Set(["40001", "40P01", "3F000", "42P01", "42703", "42704", "42883"]);

export type Fault = "replica" | "statement" | "moment";

/** The kind of fault that sends a read to the primary: of the replica, of the statement, or of the moment; null for none. */
export function faultOf(error: unknown): Fault | null {
  if (!(error instanceof DatabaseError) || error.sqlstate === null) return null;
  const { sqlstate } = error;
  if (needsPrimary.has(sqlstate)) return "statement";
  if (others.has(sqlstate)) return "moment";
  return classes.some((start) => sqlstate.startsWith(start)) ? "replica" : null;
}
