import type { Queries, Statement } from "../../engines/db/database.js";
import type { ExtraPlan, RowPlan } from "../compile/row-plan.js";
import { connectionFor, strictByDefault } from "../database.js";
import { FieldError } from "../errors.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import { hydrate } from "./hydrate.js";

/**
 * Runs a statement and returns its rows as instances. Columns are matched by name; other columns become annotations.
 */
export async function rawRows(
  meta: ModelMeta,
  statement: Statement,
  params: readonly unknown[] | undefined,
  db: Queries | null,
): Promise<object[]> {
  const { columns, rows } = await connectionFor(db).fetchArrays(statement, params);
  const known: { readonly column: ColumnMeta; readonly at: number }[] = [];
  const extras: ExtraPlan[] = [];
  columns.forEach((name, at) => {
    const column =
      meta.columns.find((each) => each.column === name) ?? meta.columns.find((each) => each.attribute === name);
    if (column) known.push({ column, at });
    else extras.push({ name, at, type: undefined });
  });
  const missing = meta.primaryKey.find((key) => !known.some(({ column }) => column === key));
  if (missing) throw new FieldError(`the statement for ${meta.name} must select its primary key, ${missing.column}`);
  for (const { name } of extras) {
    if (!/^[A-Za-z_]\w*$/.test(name) || name in meta.model.prototype)
      throw new FieldError(`the statement for ${meta.name} selects a column that cannot be named '${name}'`);
  }
  // Models are built by position: their columns first, in the order of the model.
  known.sort((a, b) => a.column.index - b.column.index);
  const ordered = rows.map((row) => [...known.map(({ at }) => row[at]), ...extras.map(({ at }) => row[at])]);
  const plan: RowPlan = {
    meta,
    columns: known.map(({ column }) => column),
    at: 0,
    related: [],
    extras: extras.map(({ name, type }, index) => ({ name, type, at: known.length + index })),
  };
  return hydrate(ordered, plan, { db, strict: strictByDefault() });
}
