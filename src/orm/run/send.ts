import type { Queries } from "../../engines/db/database.js";
import { DataError, ParameterValueError, ProgrammingError } from "../../engines/db/errors.js";
import { connectionFor } from "../database.js";
import type { Query } from "../nodes.js";
import { missingTable } from "./missing-table.js";

/** Sends the statement of a query that reads. */
export function send<T>(query: Query, call: (connection: Queries) => Promise<T>): Promise<T> {
  const connection = lockable(query, connectionFor(query.db));
  return call(connection).catch(query.clientPattern ? refusePattern : missingTable);
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

const invalidRegularExpression = "2201B";

/** An invalid regular expression that came through `filterFrom` is an error of the client. */
function refusePattern(error: unknown): never {
  if (error instanceof DataError && error.sqlstate === invalidRegularExpression)
    throw new ParameterValueError(error.message, { sqlstate: error.sqlstate, cause: error });
  missingTable(error);
}
