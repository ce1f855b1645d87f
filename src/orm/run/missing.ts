import { DoesNotExist } from "../errors.js";
import type { ModelMeta } from "../meta.js";

/** The error for a row that is not there: of the model's own class. */
export function missing(meta: ModelMeta, what: string): Error {
  const Missing = (meta.model as unknown as { DoesNotExist?: typeof DoesNotExist }).DoesNotExist ?? DoesNotExist;
  return new Missing(`${meta.name} ${what}`);
}
