import { cure } from "../../errors/describe.js";

/** The contract's RuntimeError: the base class of all errors of the database. */
export class RuntimeError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The details of an error, if the server sent them or they can be derived. */
export interface DatabaseErrorDetails {
  readonly sqlstate?: string | null | undefined;
  readonly detail?: string | null | undefined;
  readonly hint?: string | null | undefined;
  readonly schema?: string | null | undefined;
  readonly table?: string | null | undefined;
  readonly column?: string | null | undefined;
  readonly constraint?: string | null | undefined;
  /** The statement in one line, cut to the part around the position of the error; without its parameters. */
  readonly statement?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A failure of the database. The attributes are getters, so that a log or a printed error shows its message but
 * not `detail`, in which the server quotes values of the row.
 */
export class DatabaseError extends RuntimeError {
  readonly #details: DatabaseErrorDetails;
  /** The statement in one line, cut to the part around the position of the error (`>>>`); without its parameters. */
  declare readonly statement?: string;

  constructor(message?: string, details: DatabaseErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.#details = details;
    if (details.statement !== undefined) this.statement = details.statement;
  }

  /** The five characters by which SQL names the condition: `23505`. Null when the failure did not come from the server. */
  get sqlstate(): string | null {
    return this.#details.sqlstate ?? null;
  }

  /** The server's explanation: `Key (email)=(ada@example.org) already exists.` It may quote values. */
  get detail(): string | null {
    return this.#details.detail ?? null;
  }

  get hint(): string | null {
    return this.#details.hint ?? null;
  }

  get schema(): string | null {
    return this.#details.schema ?? null;
  }

  get table(): string | null {
    return this.#details.table ?? null;
  }

  /** The column; several, separated by `, `, where a constraint spans them. */
  get column(): string | null {
    return this.#details.column ?? null;
  }

  get constraint(): string | null {
    return this.#details.constraint ?? null;
  }
}

/** The states for which `orConflict` responds with 409: unique, foreign key, exclusion. */
const conflicts: ReadonlySet<string | null> = new Set(["23505", "23503", "23P01"]);

/** A constraint of the schema does not allow the change. */
export class IntegrityError extends DatabaseError {
  /** @internal */
  get [cure](): string | undefined {
    return conflicts.has(this.sqlstate)
      ? "To respond with 409, put orConflict() of stoa/orm around the call."
      : undefined;
  }
}
export class UniqueViolation extends IntegrityError {}
export class NotNullViolation extends IntegrityError {}
export class ForeignKeyViolation extends IntegrityError {}
export class CheckViolation extends IntegrityError {}
export class ExclusionViolation extends IntegrityError {}

/** A value that its type does not allow: out of range, malformed, too long; division by zero. */
export class DataError extends DatabaseError {}

/** The database could not do its work, through no fault of the statement: unreachable, overloaded, cancelled, deadlock. */
export class OperationalError extends DatabaseError {}

/** The statement is wrong: its syntax, a table that does not exist, a missing permission. */
export class ProgrammingError extends DatabaseError {
  /** @internal */
  get [cure](): string | undefined {
    if (this.sqlstate !== "42P01" || this.message.includes("stoa migrate")) return undefined;
    return "If a migration creates the table, run npx stoa migrate up.";
  }
}

/** A parameter of a type that cannot be sent, or not for the type that the statement expects. */
export class ParameterTypeError extends DatabaseError {}

/** A parameter of the right type whose value cannot be sent: text with U+0000, an invalid date. */
export class ParameterValueError extends DatabaseError {}

/** A parameter outside of the range of its type; or more parameters than a statement can have. */
export class ParameterRangeError extends DatabaseError {}

/** The statement has another number of parameters than were given. */
export function parameterCountError(given: number, expected: number): ProgrammingError {
  const count = expected === 1 ? "1 parameter" : `${expected} parameters`;
  return new ProgrammingError(`the statement has ${count}, not ${given}`, { sqlstate: "08P01" });
}
