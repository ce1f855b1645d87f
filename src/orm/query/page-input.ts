/** The page that a client asks for in a query string: `?page=2&size=50`, or `?after=...&size=50` for pages by key. */

import { ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../engines/db/errors.js";
import { httpError } from "../../errors/http-error.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { DescribedSchema } from "../../validation/body-validator.js";
import type { StandardSchema } from "../../validation/standard-schema.js";
import type { KeysetOptions } from "../run/keyset.js";

/** The options of `listOptions` and `pageFrom`: applications give both calls the same object. */
const fields = {
  /** The keys that the handler passes to `filterFrom`. */
  filters: option(is.strings, []),
  /** The names that the handler passes to `orderFrom`. */
  orders: option(is.strings, []),
  /** The number of rows if the client gives none. Default 20, or `maxSize` if that is less. */
  size: option(is.integer(1), 20, "20, or `maxSize` if that is less"),
  /** The largest number of rows that a client can ask for. Default 100, or `size` if that is more. */
  maxSize: option(is.integer(1), 100, "100, or `size` if that is more"),
  /** The largest page number; a page far into a table is slow. Default: no limit. */
  maxPage: option(is.integer(1), Number.MAX_SAFE_INTEGER, "no limit"),
  /** `key` for pages that begin after a row, in place of pages with numbers. */
  by: option(is.oneOf("key")),
  /** False if the handler returns all rows, as a list. Default true. */
  pages: option(is.boolean, true),
  /** A schema of the rows if they are not those of the model: with `values()`, annotations or related rows. */
  row: option<StandardSchema | DescribedSchema>(is.anything),
};

export const listFields = options("listOptions()", fields, { refine: sizesIn("listOptions()") });
export const pageFields = options("pageFrom()", fields, { refine: sizesIn("pageFrom()") });

interface Sizes {
  readonly size: number;
  readonly maxSize: number;
}

/** The default of each size depends on the other. */
function sizesIn(call: string): (settings: Sizes, given: Partial<Sizes>) => Sizes {
  return ({ size, maxSize }, given) => {
    if (given.maxSize === undefined) return { size, maxSize: Math.max(size, maxSize) };
    if (given.size === undefined) return { size: Math.min(size, maxSize), maxSize };
    if (maxSize < size) throw new ValueError(`option 'maxSize' in ${call} must be at least size, ${size}`);
    return { size, maxSize };
  };
}

export interface ListOptions extends OptionsOf<typeof listFields.fields> {}
export interface PageOptions extends Pick<ListOptions, "size" | "maxSize" | "maxPage"> {}
export interface KeysetPageOptions extends Pick<ListOptions, "size" | "maxSize"> {
  readonly by: "key";
}

export type ListSettings = SettingsOf<typeof listFields.fields>;

/** The parameters that `pageFrom` reads. `filterFrom` ignores them, and the usual name for `orderFrom`. */
export const pageParameters: readonly string[] = ["page", "size", "after", "before", "order"];

export type ClientParameters = Iterable<readonly [string, unknown]> | Readonly<Record<string, unknown>>;

export function entriesOf(input: ClientParameters): (readonly [string, unknown])[] {
  return Symbol.iterator in input ? [...(input as Iterable<readonly [string, unknown]>)] : Object.entries(input);
}

export function numberedPage(input: ClientParameters, settings: ListSettings): { page: number; size: number } {
  const given = parameters(input, ["page", "size"]);
  const size = sizeFrom(given.get("size"), settings);
  // A page is found by the number of rows before it, which is a number of 64 bits in PostgreSQL.
  const mostPages = Math.floor(Number.MAX_SAFE_INTEGER / size);
  return { page: numberFrom("page", given.get("page"), 1, Math.min(settings.maxPage, mostPages)), size };
}

export function keysetPage(input: ClientParameters, settings: ListSettings): KeysetOptions {
  const given = parameters(input, ["after", "before", "size"]);
  const [after, before] = [given.get("after"), given.get("before")];
  if (after !== undefined && before !== undefined) throw badRequest("Use either after or before.");
  return { size: sizeFrom(given.get("size"), settings), after, before };
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

function sizeFrom(text: string | undefined, { size, maxSize }: ListSettings): number {
  return numberFrom("size", text, size, maxSize);
}

function numberFrom(name: string, text: string | undefined, otherwise: number, most: number): number {
  if (text === undefined) return otherwise;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) throw badRequest(`${name} must be an integer from 1 to ${most}.`);
  return number;
}

export function badRequest(detail: string, cause?: unknown): Error {
  return httpError("BAD_REQUEST", detail, cause === undefined ? {} : { cause });
}
