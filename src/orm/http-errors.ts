/** Errors of models as responses: one line in a handler turns them into 404 or 409. */

import { ExclusionViolation, ForeignKeyViolation, UniqueViolation } from "../engines/db/errors.js";
import { type HttpError, httpError } from "../errors/http-error.js";
import { DoesNotExist, StaleError } from "./errors.js";

/** The value, or a response with status 404 if it is null or the row does not exist. */
export async function orNotFound<T>(value: PromiseLike<T>, detail?: string): Promise<NonNullable<T>> {
  let found: T;
  try {
    found = await value;
  } catch (error) {
    if (!(error instanceof DoesNotExist)) throw error;
    throw notFound(detail, error);
  }
  if (found === null || found === undefined) throw notFound(detail);
  return found;
}

/**
 * The value, or a response with status 409 if a unique, exclusion or foreign key constraint refuses the write, or if the row
 * was changed since it was read. The response names the columns of the constraint, not their values.
 */
export async function orConflict<T>(value: PromiseLike<T>, detail?: string): Promise<T> {
  try {
    return await value;
  } catch (error) {
    if (error instanceof StaleError)
      throw httpError("CONFLICT", detail ?? "The resource was changed since it was read.", { cause: error });
    const refers = error instanceof ForeignKeyViolation;
    if (!(refers || error instanceof UniqueViolation || error instanceof ExclusionViolation)) throw error;
    const columns = error.column?.split(", ") ?? [];
    // A delete violates the key of another table: the row is in use.
    const reason = refers
      ? "A related resource does not exist, or is in use."
      : "Another resource has the same values.";
    throw httpError("CONFLICT", detail ?? reason, {
      cause: error,
      ...(columns.length === 0 ? {} : { extensions: { columns } }),
    });
  }
}

function notFound(detail: string | undefined, cause?: unknown): HttpError {
  return httpError("NOT_FOUND", detail ?? "There is no such resource.", { cause });
}
