import { OperationalError } from "../errors.js";
import type { Execution } from "../pool/execution.js";
import type { ServerError } from "../translate-error.js";

/** False for an error of the driver itself. */
export function isFromServer(error: ServerError | Error): error is ServerError {
  const { severity, code } = error as ServerError;
  return severity !== undefined && code !== undefined;
}

/** True if the session ends with the error. */
export function endsSession({ severity }: ServerError): boolean {
  return severity === "FATAL" || severity === "PANIC";
}

/** True for an error about the name of a prepared statement of ours, not about one that the statement itself names. */
export function isAboutName(execution: Execution, error: ServerError): boolean {
  if (error.code !== "26000" && error.code !== "42P05") return false;
  return execution.prepare && (error.message ?? "").includes(execution.info.name);
}

export function sharedSessionError(error: ServerError): OperationalError {
  return new OperationalError(
    `${error.message}: a pooler in transaction mode shares the session with others; set preparedStatements: false, or ` +
      "?pgbouncer=true in the URL",
    { sqlstate: error.code, cause: error },
  );
}

export function outdatedError(error: ServerError): OperationalError {
  return new OperationalError(
    "a table has changed since the statement was prepared; run the transaction again, or use its option 'retry'",
    { sqlstate: error.code, cause: error },
  );
}
