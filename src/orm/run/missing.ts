import { ProgrammingError } from "../../engines/db/errors.js";
import { DoesNotExist } from "../errors.js";
import type { ModelMeta } from "../meta.js";

/** The error for a row that is not there: of the model's own class. */
export function missing(meta: ModelMeta, what: string): Error {
  const Missing = (meta.model as unknown as { DoesNotExist?: typeof DoesNotExist }).DoesNotExist ?? DoesNotExist;
  return new Missing(`${meta.name} ${what}`);
}

const undefinedTable = "42P01";
const undefinedColumn = "42703";

/** Adds the cure to the error of a model whose table, or one of its columns, is not in the database. */
export function missingTable(error: unknown): never {
  const state = error instanceof ProgrammingError ? error.sqlstate : null;
  if (state !== undefinedTable && state !== undefinedColumn) throw error;
  const { message } = error as ProgrammingError;
  const cure = "the database does not fit the models: run stoa migrate make, then stoa migrate up";
  throw new ProgrammingError(`${message}; ${cure}`, { sqlstate: state, cause: error });
}
