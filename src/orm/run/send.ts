import type { Queries } from "../../engines/db/database.js";
import { DataError, ProgrammingError } from "../../engines/db/errors.js";
import { callersAreWatched, watchedCall } from "../../engines/db/log/watched-call.js";
import { httpError } from "../../errors/http-error.js";
import { connectionFor, isDatabase } from "../database.js";
import type { Query } from "../nodes.js";
import { missingTable } from "./missing.js";

/** Sends the statement of a query that reads. */
export function send<T>(query: Query, call: (connection: Queries) => Promise<T>): Promise<T> {
  const connection = lockable(query, placed(query, connectionFor(query.db)));
  const sent = callersAreWatched() ? watchedCall(cureOf(query), () => call(connection)) : call(connection);
  return sent.catch(query.client === null ? missingTable : (error) => refuseValue(error, query));
}

/** The servers that a query was given with `using("primary")`. Inside a transaction, that of the transaction. */
function placed({ place }: Query, connection: Queries): Queries {
  return place === null || !isDatabase(connection) ? connection : connection[place];
}

/** Advice for a query that runs many times in one request; null if it does not read a relation. */
function cureOf({ via }: Query): string | null {
  if (via === null) return null;
  return `${via.single ? "selectRelated" : "prefetchRelated"}("${via.name}") in the query for ${via.source.name}`;
}

/**
 * Refuses a lock outside of a transaction: PostgreSQL would release it as soon as the rows are read. A session is
 * accepted, because it may have its own `begin`.
 */
export function lockable(query: Query, connection: Queries): Queries {
  if (query.lock !== null && connection.kind === "database")
    throw new ProgrammingError("forUpdate() needs a transaction: the lock would be released at once");
  return connection;
}

/** Dates, times, time zones and intervals that PostgreSQL cannot read, or that are not in its calendar. */
const invalidTimes = ["22007", "22008", "22009", "22015"];
const invalidRegularExpression = "2201B";

/** A value or a regular expression that came through `filterFrom` and is not valid is an error of the client. */
function refuseValue(error: unknown, { client }: Query): never {
  const sqlstate = error instanceof DataError ? (error.sqlstate ?? "") : "";
  if (invalidTimes.includes(sqlstate) || (client === "patterns" && sqlstate === invalidRegularExpression))
    throw httpError("BAD_REQUEST", (error as DataError).message, { cause: error });
  missingTable(error);
}
