import {
  CheckViolation,
  DatabaseError,
  type DatabaseErrorDetails,
  DataError,
  ExclusionViolation,
  ForeignKeyViolation,
  IntegrityError,
  NotNullViolation,
  OperationalError,
  ProgrammingError,
  parameterCountError,
  UniqueViolation,
} from "./errors.js";

/** An error as both drivers report it: the fields of PostgreSQL's ErrorResponse, `code` being the SQLSTATE. */
export interface ServerError {
  readonly message?: string | undefined;
  readonly severity?: string | undefined;
  readonly code?: string | undefined;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly constraint?: string | undefined;
  /** The number of the character in the statement, from 1. */
  readonly position?: string | undefined;
}

type DatabaseErrorClass = new (message?: string, details?: DatabaseErrorDetails) => DatabaseError;

const byState: Readonly<Record<string, DatabaseErrorClass>> = {
  "23001": ForeignKeyViolation,
  "23502": NotNullViolation,
  "23503": ForeignKeyViolation,
  "23505": UniqueViolation,
  "23514": CheckViolation,
  "23P01": ExclusionViolation,
  // The statement has another number of parameters than were given: a mistake of the caller, in spite of its class.
  "08P01": ProgrammingError,
  // The server takes no changes: a standby, or one that was demoted.
  "25006": OperationalError,
  // The server ended the session because a transaction took too long.
  "25P03": OperationalError,
  "25P04": OperationalError,
};

/** By the class of the condition, the first two characters; PostgreSQL's documentation, appendix A. */
const byClass: Readonly<Record<string, DatabaseErrorClass>> = {
  "08": OperationalError,
  "0A": ProgrammingError,
  "20": ProgrammingError,
  "21": ProgrammingError,
  "22": DataError,
  "23": IntegrityError,
  "24": ProgrammingError,
  "25": ProgrammingError,
  "26": ProgrammingError,
  "28": OperationalError,
  "34": ProgrammingError,
  "3B": ProgrammingError,
  "3D": OperationalError,
  "3F": ProgrammingError,
  "40": OperationalError,
  "42": ProgrammingError,
  "44": CheckViolation,
  "53": OperationalError,
  "54": OperationalError,
  "55": OperationalError,
  "57": OperationalError,
  "58": OperationalError,
  P0: ProgrammingError,
  XX: OperationalError,
};

/** The contract's error for an error of a driver; `text` is the statement, where there is one. */
export function translateError(error: unknown, text?: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const server = error as ServerError & { code?: string };
  const sqlstate = typeof server?.code === "string" && /^[0-9A-Z]{5}$/.test(server.code) ? server.code : null;
  // A driver's own error: Node gives socket errors a code such as ECONNRESET, which is no SQLSTATE. Five capitals that
  // are an errno (EPIPE, EPERM) have no severity.
  if (sqlstate === null || server.severity === undefined) return connectionError(error);
  const counts = sqlstate === "08P01" ? /supplies (\d+) parameters.* requires (\d+)/.exec(server.message ?? "") : null;
  if (counts) return parameterCountError(Number(counts[1]), Number(counts[2]));
  const Class = byState[sqlstate] ?? byClass[sqlstate.slice(0, 2)] ?? DatabaseError;
  const said = server.message ?? "the database reported an error";
  const message = withoutValues(sqlstate, said);
  const cure = sqlstate === "42601" && text?.includes("?") ? "; placeholders are $1, $2 and so on, not ?" : "";
  return new Class(message + cure, {
    sqlstate,
    detail: server.detail ?? (message === said ? null : said),
    hint: server.hint,
    schema: server.schema,
    table: server.table,
    constraint: server.constraint,
    column: server.column ?? columnOf(server),
    statement: text === undefined ? undefined : excerpt(text, Number(server.position)),
  });
}

/** Characters of a statement that are shown on each side of the error. */
const shown = 80;

/** The part of a statement around a position: `select * >>>fro books`. PostgreSQL counts whole characters, not units of UTF-16. */
function excerpt(text: string, position: number): string {
  let at = position > 0 ? 0 : -1;
  for (let i = 1; i < position && at < text.length; i++) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  const start = Math.max(0, at - shown);
  const end = Math.max(at, 0) + shown;
  const part = at === -1 ? text.slice(0, end) : `${text.slice(start, at)}>>>${text.slice(at, end)}`;
  const line = part.replace(/\s+/g, " ").trim();
  return `${start > 0 ? "..." : ""}${line}${end < text.length ? "..." : ""}`;
}

/** The connection was lost, or never came about. */
export function connectionError(cause: unknown, what = "the connection to the database was lost"): OperationalError {
  // Each call gets its own error, which will have that call's stack.
  if (cause instanceof OperationalError)
    return new OperationalError(cause.message, { sqlstate: cause.sqlstate, cause });
  const reason = cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : "";
  return new OperationalError(`${what}${reason}`, { sqlstate: "08006", cause });
}

/**
 * PostgreSQL names the column for not-null violations only. The detail lists the key in every language of the server as
 * `(a, b)=(1, 2)`; where there is none, the default name of a constraint, `table_column_key`, gives it.
 */
function columnOf({ code, detail, table, constraint }: ServerError): string | undefined {
  if (!code?.startsWith("23")) return undefined;
  const key = detail === undefined ? undefined : /\(([^()=]+)\)=\(/.exec(detail)?.[1];
  if (key !== undefined) return key.split(", ").map(unquote).join(", ");
  if (table === undefined || constraint === undefined || !constraint.startsWith(`${table}_`)) return undefined;
  return /^(.+)_(?:key|fkey|check|excl)\d*$/.exec(constraint.slice(table.length + 1))?.[1];
}

function unquote(name: string): string {
  return name.startsWith('"') && name.endsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

/**
 * Messages of class 22 quote the offending value, which is usually a parameter; errors are logged, and values of
 * parameters must not be. The full text remains in `detail`, which is not logged.
 */
function withoutValues(sqlstate: string, message: string): string {
  if (!sqlstate.startsWith("22")) return message;
  return withoutQuotedStart(withoutQuotedEnd(message));
}

/** `invalid input syntax for type integer: "x"`. Without an expression, as the value can be long and hold anything. */
function withoutQuotedEnd(message: string): string {
  const start = message.indexOf(': "');
  if (start === -1 || !message.endsWith('"') || start + 3 >= message.length) return message;
  return `${message.slice(0, start)}: "..."`;
}

/** `value "x" is out of range for type integer`. */
function withoutQuotedStart(message: string): string {
  const end = message.lastIndexOf('" is');
  if (!message.startsWith('value "') || end < 'value "'.length) return message;
  return `value "...${message.slice(end)}`;
}
