/** Checks of the paths that a query is given: to one value, or to many. */

import type { Left } from "../compile/operands.js";
import {
  type KeyResolution,
  keyPaths,
  type Resolution,
  resolveJoined,
  resolveLookup,
  resolvePath,
  type Scope,
  shown,
} from "../compile/scope.js";
import { transform } from "../compile/transforms.js";
import { FieldError } from "../errors.js";
import type { ColumnMeta } from "../meta.js";
import type { Query } from "../nodes.js";

/** The path if it exists and leads to one value. For a composite key, the paths of its columns. */
export function columnPaths(scope: Scope, path: string, query: Query): readonly string[] {
  const names = query.selection?.fields.map((field) => field.name) ?? [];
  if (names.includes(path)) return [path];
  const found = resolveLookup(scope, path);
  if (found.kind === "key" && found.rest.length === 0) return keyPaths(found);
  if (found.kind === "many")
    throw new FieldError(`${shown(path)} goes through ${found.relation.name}, of which there are many`);
  checkEnd(found, path);
  return [path];
}

/** Checks a field of `values()`. True if it leads through a to-many relation. */
export function checkValue(scope: Scope, path: string): boolean {
  const many = resolvePath(scope, path).kind === "many";
  checkEnd(resolveJoined(scope, path), path);
  return many;
}

function checkEnd(found: Exclude<Resolution, { kind: "many" }> | KeyResolution, path: string): void {
  if (found.rest.length > 0 && !(found.kind === "column" && isWithin(found.column, found.rest)))
    throw new FieldError(`${shown(path)} is not the name of a field`);
}

/** True for keys of JSON, and for transforms such as the year of a date. */
function isWithin(column: ColumnMeta, rest: readonly string[]): boolean {
  if (column.type.kind === "json") return true;
  let left: Left | undefined = { sql: "", type: column.type, column, name: column.name };
  for (const part of rest) left = left && transform(left, part);
  return left !== undefined;
}
