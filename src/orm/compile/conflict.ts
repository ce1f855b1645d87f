/** ON CONFLICT: the treatment of rows that a unique constraint refuses. */

import { FieldError } from "../errors.js";
import { Expression } from "../expressions/expression.js";
import { quote } from "../identifiers.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import { type ConditionNode, rootQuery } from "../nodes.js";
import { Compiler } from "./compiler.js";
import { JsonPatch } from "./json/json-patch.js";
import type { Scope } from "./scope.js";
import { type Assignment, encodeColumn } from "./write.js";

/** The update of rows that conflict. */
export interface ConflictUpdate {
  /** Columns that take the value of the row that was to be inserted. */
  readonly columns: readonly ColumnMeta[];
  /** Columns with other values or expressions. */
  readonly values: readonly Assignment[];
  /** Only rows for which this holds are updated. */
  readonly where: ConditionNode | undefined;
}

export interface Conflict {
  readonly columns: readonly ColumnMeta[];
  /** Undefined: the row is left as it is. */
  readonly update: ConflictUpdate | undefined;
}

/** The clause, with the parameters of the statement before it. The table has the name `alias` in the statement. */
export function conflictClause(
  meta: ModelMeta,
  conflict: Conflict,
  params: readonly unknown[],
): { readonly text: string; readonly params: readonly unknown[]; readonly alias: string } {
  const compiler = new Compiler();
  for (const param of params) compiler.param(param);
  const scope = compiler.scope({ ...rootQuery(meta), deleted: "shown" });
  const target = targetOf(meta, conflict.columns);
  const { update } = conflict;
  const set = update === undefined ? [] : assignments(meta, update, scope, compiler);
  const where = update?.where === undefined ? "" : ` WHERE ${compiler.condition(update.where, scope)}`;
  if (scope.joins !== "") throw new FieldError("the update of a conflict cannot read a relation: use a subquery");
  const action = set.length === 0 ? "DO NOTHING" : `DO UPDATE SET ${set.join(", ")}${where}`;
  return { text: ` ON CONFLICT${target} ${action}`, params: compiler.params, alias: scope.alias };
}

/** The columns of the constraint. A partial unique index is found by its condition, which is part of the clause. */
function targetOf(meta: ModelMeta, columns: readonly ColumnMeta[]): string {
  if (columns.length === 0) return "";
  const names = columns.map((column) => column.column);
  const index = meta.indexes.find(
    ({ unique, parts }) =>
      unique && parts.length === names.length && parts.every((part) => names.includes(part.column ?? "")),
  );
  const where = index?.where === undefined ? "" : ` WHERE ${index.where}`;
  return ` (${names.map(quote).join(", ")})${where}`;
}

function assignments(meta: ModelMeta, update: ConflictUpdate, scope: Scope, compiler: Compiler): string[] {
  const given = new Set(update.values.map(([column]) => column));
  const copied = update.columns.filter((column) => !given.has(column));
  const set = copied.map((column) => `${quote(column.column)} = EXCLUDED.${quote(column.column)}`);
  for (const [column, value] of update.values) {
    set.push(`${quote(column.column)} = ${valueSql(meta, column, value, scope, compiler)}`);
  }
  if (set.length === 0) return [];
  const written = new Set([...given, ...copied]);
  for (const column of meta.columns) {
    if (written.has(column)) continue;
    if (column.autoNow) set.push(`${quote(column.column)} = EXCLUDED.${quote(column.column)}`);
    if (column.version) set.push(`${quote(column.column)} = ${scope.column(column)} + 1`);
  }
  return set;
}

function valueSql(meta: ModelMeta, column: ColumnMeta, value: unknown, scope: Scope, compiler: Compiler): string {
  if (value instanceof Expression) return compiler.expression(value.node, scope);
  if (value instanceof JsonPatch) return value.compile(scope.column(column), scope, compiler);
  return compiler.param(encodeColumn(meta, column, value));
}
