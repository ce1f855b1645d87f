/** The page that a client asks for in a query string: `?page=2&size=50`, or `?after=...&size=50` for pages by key. */

import { ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../engines/db/errors.js";
import { httpError } from "../../errors/http-error.js";
import { ValueError } from "../../kit/value-error.js";
import type { KeysetOptions } from "../run/keyset.js";

export interface PageOptions {
  /** The number of rows if the client gives none; 20 by default. */
  readonly size?: number;
  /** The largest number of rows that a client can ask for; 100 by default, or `size` if that is more. */
  readonly maxSize?: number;
  /** The largest page number; a page far into a table is slow. No limit by default. */
  readonly maxPage?: number;
}

export interface KeysetPageOptions extends Omit<PageOptions, "maxPage"> {
  readonly by: "key";
}

/** The parameters that `pageFrom` reads. `filterFrom` ignores them, and the usual name for `orderFrom`. */
export const pageParameters: readonly string[] = ["page", "size", "after", "before", "order"];

export type ClientParameters = Iterable<readonly [string, unknown]> | Readonly<Record<string, unknown>>;

export function entriesOf(input: ClientParameters): (readonly [string, unknown])[] {
  return Symbol.iterator in input ? [...(input as Iterable<readonly [string, unknown]>)] : Object.entries(input);
}

export function numberedPage(input: ClientParameters, options: PageOptions): { page: number; size: number } {
  const given = parameters(input, ["page", "size"]);
  const size = sizeFrom(given.get("size"), options);
  // A page is found by the number of rows before it, which is a number of 64 bits in PostgreSQL.
  const mostPages = Math.floor(Number.MAX_SAFE_INTEGER / size);
  const maxPage = options.maxPage === undefined ? mostPages : checkOption("maxPage", options.maxPage);
  return { page: numberFrom("page", given.get("page"), 1, Math.min(maxPage, mostPages)), size };
}

export function keysetPage(input: ClientParameters, options: KeysetPageOptions): KeysetOptions {
  const given = parameters(input, ["after", "before", "size"]);
  const [after, before] = [given.get("after"), given.get("before")];
  if (after !== undefined && before !== undefined) throw badRequest("Use either after or before.");
  return { size: sizeFrom(given.get("size"), options), after, before };
}

/** Turns the errors of a cursor into a response with status 400. */
export function refuseCursor(error: unknown): never {
  if (isOfValue(error)) throw badRequest("The cursor is not one of this list.", error);
  throw error;
}

/** Runs a function; its errors about values become responses with status 400 and the reason. */
export function refusing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw isOfValue(error) ? badRequest(error.message, error) : error;
  }
}

function isOfValue(error: unknown): error is Error {
  return (
    error instanceof ParameterValueError || error instanceof ParameterTypeError || error instanceof ParameterRangeError
  );
}

/** The parameters with these names. An empty one counts as not given, as in a form that was not filled in. */
function parameters(input: ClientParameters, names: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of entriesOf(input)) {
    if (!names.includes(name) || value === "" || value === undefined || value === null) continue;
    if (found.has(name)) throw badRequest(`${name} is given more than once.`);
    if (typeof value !== "string" && typeof value !== "number") throw badRequest(`${name} is not valid.`);
    found.set(name, String(value));
  }
  return found;
}

function sizeFrom(text: string | undefined, options: PageOptions): number {
  const { size, maxSize } = pageSizes(options);
  return numberFrom("size", text, size, maxSize);
}

/** The number of rows of a page if the client gives none, and the largest that it can give. */
export function pageSizes({ size = 20, maxSize = Math.max(size, 100) }: PageOptions): {
  size: number;
  maxSize: number;
} {
  checkOption("size", size);
  if (checkOption("maxSize", maxSize) < size) throw new ValueError("maxSize must not be less than size");
  return { size, maxSize };
}

function numberFrom(name: string, text: string | undefined, otherwise: number, most: number): number {
  if (text === undefined) return otherwise;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) throw badRequest(`${name} must be an integer from 1 to ${most}.`);
  return number;
}

function checkOption(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) throw new ValueError(`${name} must be a positive integer`);
  return value;
}

export function badRequest(detail: string, cause?: unknown): Error {
  return httpError("BAD_REQUEST", detail, cause === undefined ? {} : { cause });
}
