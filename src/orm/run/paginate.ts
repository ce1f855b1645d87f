import { ParameterRangeError, ParameterTypeError } from "../../engines/db/errors.js";

/** Checks a number of rows to return or to skip: an integer of at least 0. */
export function checkCount(name: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value)) throw new ParameterTypeError(`${name} must be an integer`);
  if (value < 0 || !Number.isSafeInteger(value)) throw new ParameterRangeError(`${name} must be at least 0`);
  return value;
}

/** A page by number. */
export interface Page<T> {
  readonly items: T[];
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  readonly pages: number;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}

/** A page that starts after a key. The last page is as fast as the first, and pages do not shift while rows are added. */
export interface KeysetPage<T> {
  readonly items: T[];
  /** The value of `after` for the next page; null on the last page. */
  readonly next: string | null;
  /** The value of `before` for the previous page; null on the first page. */
  readonly previous: string | null;
}
