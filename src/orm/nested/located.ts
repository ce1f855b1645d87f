import { DatabaseError, NotNullViolation } from "../../engines/db/errors.js";
import { encodeColumn } from "../compile/write.js";
import { FieldError } from "../errors.js";
import type { ModelMeta } from "../meta.js";
import { insertValues } from "../run/persist.js";
import { join } from "./parts.js";

/** An instance of a new row, with its place in the argument of `create`. */
export interface Placed {
  readonly instance: object;
  readonly path: string;
}

/** Runs a function; an error of it names the place that it belongs to. */
export function at<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw named(path, error);
  }
}

/** The error of an INSERT of several rows, with the place of the row and of the column if they can be found. */
export function located(meta: ModelMeta, rows: readonly Placed[], error: unknown): unknown {
  return named(placeOf(meta, rows, error), error);
}

function named(path: string, error: unknown): unknown {
  if (path !== "" && (error instanceof DatabaseError || error instanceof FieldError))
    error.message = `${path}: ${error.message}`;
  return error;
}

function placeOf(meta: ModelMeta, rows: readonly Placed[], error: unknown): string {
  if (error instanceof NotNullViolation && error.column !== null) {
    const column = meta.column(error.column);
    const row = rows.find(({ instance }) => isMissing(meta, instance, error.column!));
    if (column && row) return join(row.path, column.name);
  }
  if (error instanceof DatabaseError && error.sqlstate === null) {
    for (const { instance, path } of rows) {
      for (const [column, value] of insertValues(instance, meta)) {
        if (isRefused(() => encodeColumn(meta, column, value))) return join(path, column.name);
      }
    }
  }
  return rows.length === 1 ? rows[0]!.path : listOf(rows);
}

/** The server does not say which row of a statement it refused: the list of the rows, or all lists of them by name. */
function listOf(rows: readonly Placed[]): string {
  const lists = new Set(rows.map(({ path }) => path.slice(0, path.lastIndexOf("["))));
  const [first] = lists as Set<string>;
  return lists.size === 1 ? first! : first!.replace(/\[\d+\]/g, "").replace(/^\./, "");
}

function isMissing(meta: ModelMeta, instance: object, name: string): boolean {
  const given = insertValues(instance, meta).find(([column]) => column.column === name);
  return given === undefined || given[1] === null;
}

function isRefused(encode: () => unknown): boolean {
  try {
    encode();
    return false;
  } catch {
    return true;
  }
}
