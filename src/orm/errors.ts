import { cure } from "../errors/describe.js";

/** The model does not have the field, lookup, order or alias. Nothing was sent to the database. */
export class FieldError extends Error {
  override name = "FieldError";
}

/** `get` found no row. Every model has its own subclass: `Book.DoesNotExist`. */
export class DoesNotExist extends Error {
  override name = "DoesNotExist";

  /** @internal */
  get [cure](): string {
    return "To respond with 404, use getOr404() in place of get(), or orNotFound().";
  }
}

/** `get` found more than one row. Every model has its own subclass: `Book.MultipleObjectsReturned`. */
export class MultipleObjectsReturned extends Error {
  override name = "MultipleObjectsReturned";
}

/** A row with a version was changed since it was read. Nothing was written. */
export class StaleError extends Error {
  override name = "StaleError";
}

/** A relation that was not loaded was read while lazy loading is forbidden (`strict`). */
export class LazyLoadError extends Error {
  override name = "LazyLoadError";
}
