import type { Queries } from "../../engines/db/database.js";
import { checkedOptions, type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { arrayTypeOf } from "../compile/array-types.js";
import { type Conflict, type ConflictUpdate, conflictClause } from "../compile/conflict.js";
import { ownColumn } from "../compile/scope.js";
import { type Assignment, assignments, encodeColumn, refuseView, returningPlan } from "../compile/write.js";
import { connectionFor } from "../database.js";
import { FieldError, StaleError } from "../errors.js";
import { type Condition, conditionOf } from "../expressions/q.js";
import { array } from "../fields/encode.js";
import { quote } from "../identifiers.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import { absorb, fill, valuesOf } from "./hydrate.js";
import { missingTable } from "./missing.js";
import { insertValues, metaOf } from "./persist.js";
import { savedForm, stateOf, type Values } from "./state.js";
import { keepStates } from "./undo.js";
import { versionColumn } from "./version.js";

/** `Update` are the values of an update, `Where` is a condition. */
export interface BulkCreateOptions<Name extends string = string, Update = object, Where = object> {
  /** `ignore`: rows that conflict are skipped. `update`: they are updated. */
  readonly onConflict?: "ignore" | "update" | undefined;
  /** The fields of the unique constraint. Required for `update`. */
  readonly conflictFields?: readonly Name[] | undefined;
  /** The fields that `update` writes; by default all given fields except `conflictFields`. */
  readonly updateFields?: readonly Name[] | undefined;
  /**
   * The values that `update` writes, with expressions: `{ count: F("count").plus(excluded("count")) }`. If it is given, only
   * these and `updateFields` are written.
   */
  readonly update?: Update | undefined;
  /** Rows that conflict are updated only if this holds for them, as they are in the table; otherwise they are skipped. */
  readonly conflictWhere?: Where | undefined;
  /** Rows in one statement. Default 5000. */
  readonly batchSize?: number | undefined;
}

export const readBulkCreate = checkedOptions<BulkCreateOptions>({
  onConflict: is.oneOf("ignore", "update"),
  conflictFields: is.strings,
  updateFields: is.strings,
  update: is.object,
  conflictWhere: is.object,
  batchSize: is.integer(1),
});

export const bulkUpdateOptions = options("bulkUpdate()", {
  /** Rows in one statement. Default 5000. */
  batchSize: option(is.integer(1)),
});

export interface BulkUpdateOptions extends OptionsOf<typeof bulkUpdateOptions.fields> {}

/** Inserts many rows with few statements: one array parameter for each column, whatever the number of rows. */
export async function bulkCreate(
  meta: ModelMeta,
  items: readonly object[],
  options: BulkCreateOptions,
  db: Queries | null,
): Promise<object[]> {
  if (items.length === 0) return [];
  const instances = items.map((item) => (item instanceof meta.model ? item : new meta.model(item)));
  const batchSize = batchSizeFor(meta, options.batchSize);
  const made: object[] = [];
  for (const group of bySameColumns(meta, instances)) {
    for (let i = 0; i < group.length; i += batchSize) {
      made.push(...(await insertBatch(meta, group.slice(i, i + batchSize), options, db)));
    }
  }
  if (made.length < instances.length) return made;
  return instances;
}

interface Prepared {
  readonly instance: object;
  readonly values: readonly Assignment[];
  /** The values of the instance. */
  readonly sent: readonly unknown[];
}

/** Groups rows by the columns that have values, so that the other columns get the defaults of the database. */
function bySameColumns(meta: ModelMeta, instances: readonly object[]): Prepared[][] {
  const groups = new Map<string, Prepared[]>();
  const plan = returningPlan(meta);
  for (const instance of instances) {
    const values = insertValues(instance, meta).toSorted(([a], [b]) => a.index - b.index);
    const shape = values.map(([column]) => column.index).join(",");
    const group = groups.get(shape);
    const prepared = { instance, values, sent: valuesOf(instance, plan) };
    if (group) group.push(prepared);
    else groups.set(shape, [prepared]);
  }
  return [...groups.values()];
}

async function insertBatch(
  meta: ModelMeta,
  rows: readonly Prepared[],
  options: BulkCreateOptions,
  db: Queries | null,
): Promise<object[]> {
  const columns = rows[0]!.values.map(([column]) => column);
  const conflict = conflictOf(meta, columns, options);
  const plan = returningPlan(meta);
  const source = rowSource(
    meta,
    columns,
    rows.map(({ values }) => values.map(([, value]) => value)),
  );
  const into = columns.length === 0 ? "" : ` (${columns.map((column) => quote(column.column)).join(", ")})`;
  const tail = conflict && conflictClause(meta, conflict, source.params);
  const alias = tail ? ` AS ${tail.alias}` : "";
  const text = `INSERT INTO ${meta.sqlName}${alias}${into} ${source.text}${tail?.text ?? ""} RETURNING ${plan.list}`;
  const connection = connectionFor(db);
  const given = rows.map(({ instance }) => instance);
  const part = keepStates(connection, given);
  const result = await connection.fetchArrays(text, tail?.params ?? source.params).catch(missingTable);
  // If rows were skipped, the returned rows cannot be matched with the given instances: they become new instances.
  const complete = result.rows.length === rows.length;
  const made = complete ? given : result.rows.map((row) => fill(new meta.model(), row, plan));
  if (part.undone) return made;
  if (!complete) keepStates(connection, made);
  for (const [index, row] of result.rows.entries()) {
    const instance = made[index]!;
    absorb(instance, row, plan, db, complete ? rows[index]!.sent : valuesOf(instance, plan));
  }
  return made;
}

function conflictOf(meta: ModelMeta, given: readonly ColumnMeta[], options: BulkCreateOptions): Conflict | undefined {
  if (options.onConflict === undefined) return undefined;
  const find = (name: string): ColumnMeta => ownColumn(name, { meta });
  const columns = (options.conflictFields ?? []).map(find);
  if (options.onConflict === "ignore") return { columns, update: undefined };
  if (columns.length === 0) throw new ValueError("onConflict 'update' needs 'conflictFields'");
  return { columns, update: updateOf(meta, given, columns, options, find) };
}

function updateOf(
  meta: ModelMeta,
  given: readonly ColumnMeta[],
  key: readonly ColumnMeta[],
  options: BulkCreateOptions,
  find: (name: string) => ColumnMeta,
): ConflictUpdate {
  const { updateFields, update, conflictWhere } = options;
  const others = (): ColumnMeta[] => given.filter((column) => !key.includes(column) && !column.primaryKey);
  return {
    columns: updateFields?.map(find) ?? (update === undefined ? others() : []),
    values: update === undefined ? [] : assignments(meta, update, "allowed"),
    where: conflictWhere === undefined ? undefined : conditionOf(conflictWhere as Condition),
  };
}

/** The rows as a source for SQL: one array for each column, or a list of VALUES if a column itself holds arrays. */
function rowSource(
  meta: ModelMeta,
  columns: readonly ColumnMeta[],
  rows: readonly (readonly unknown[])[],
): { text: string; params: unknown[] } {
  refuseView(meta);
  if (columns.length === 0) {
    return { text: `SELECT FROM generate_series(1, $1::int)`, params: [rows.length] };
  }
  if (columns.some((column) => column.type.kind === "array")) {
    const params: unknown[] = [];
    const lists = rows.map(
      (row) => `(${row.map((value, i) => `$${params.push(encodeColumn(meta, columns[i]!, value))}`).join(", ")})`,
    );
    return { text: `VALUES ${lists.join(", ")}`, params };
  }
  const params = columns.map((column, i) => array(undefined)(rows.map((row) => encodeColumn(meta, column, row[i]))));
  return {
    text: `SELECT * FROM unnest(${columns.map((column, i) => `$${i + 1}::${arrayTypeOf(column.type)}`).join(", ")})`,
    params,
  };
}

/** Writes fields of many instances with one statement for each batch. Returns the number of rows that were found. */
export async function bulkUpdate(
  meta: ModelMeta,
  instances: readonly object[],
  fields: readonly string[],
  batchSize: number | undefined,
  db: Queries | null,
): Promise<number> {
  if (instances.length === 0) return 0;
  if (fields.length === 0) throw new ValueError("bulkUpdate needs at least one field");
  const columns = fields.map((name) => {
    const column = ownColumn(name, { meta });
    if (column.primaryKey || column.generated !== undefined || column.version)
      throw new FieldError(`${meta.name}.${name} cannot be updated`);
    return column;
  });
  const size = batchSizeFor(meta, batchSize);
  const run = async (connection: Queries | null): Promise<number> => {
    let count = 0;
    for (let i = 0; i < instances.length; i += size)
      count += await updateBatch(meta, instances.slice(i, i + size), columns, connection);
    return count;
  };
  if (versionColumn(meta) === undefined) return run(db);
  // All rows are written, or none of them if one is stale.
  return connectionFor(db).transaction(async (tx) => {
    const found = await run(tx);
    if (found < instances.length)
      throw new StaleError(
        `${instances.length - found} of the ${meta.name} rows were changed or deleted since they were read`,
      );
    return found;
  });
}

async function updateBatch(
  meta: ModelMeta,
  instances: readonly object[],
  columns: readonly ColumnMeta[],
  db: Queries | null,
): Promise<number> {
  const version = versionColumn(meta);
  const keys = version === undefined ? meta.primaryKey : [...meta.primaryKey, version];
  const all = [...keys, ...columns];
  const rows = instances.map((instance) => {
    if (metaOf(instance).sqlName !== meta.sqlName)
      throw new FieldError(`bulkUpdate of ${meta.name} was given an instance of ${metaOf(instance).name}`);
    return all.map((column) => {
      const value = (instance as Values)[column.attribute];
      if (value === undefined) throw new FieldError(`an instance of ${meta.name} has no ${column.name}`);
      return value;
    });
  });
  const sent = rows.map((row) => row.map((value, i) => savedForm(all[i]!, value)));
  const source = rowSource(meta, all, rows);
  const names = all.map((_, index) => `c${index}`);
  // A list of VALUES has no types.
  const typed = !source.text.startsWith("VALUES");
  const cast = (column: ColumnMeta, name: string): string =>
    typed ? `v.${name}` : `v.${name}::${column.type.sqlType}`;
  const set = columns.map((column, i) => `${quote(column.column)} = ${cast(column, names[keys.length + i]!)}`);
  for (const column of meta.columns) {
    if (column.autoNow && !columns.includes(column)) set.push(`${quote(column.column)} = now()`);
    if (column === version) set.push(`${quote(column.column)} = t.${quote(column.column)} + 1`);
  }
  const on = keys.map((column, i) => `t.${quote(column.column)} = ${cast(column, names[i]!)}`);
  const text = `UPDATE ${meta.sqlName} t SET ${set.join(", ")} FROM (${source.text}) AS v(${names.join(", ")}) WHERE ${on.join(" AND ")}`;
  const connection = connectionFor(db);
  const part = keepStates(connection, instances);
  const { rowCount } = await connection.execute(text, source.params);
  if (part.undone) return rowCount;
  for (const [at, instance] of instances.entries()) {
    const { saved, offset } = stateOf(instance);
    const written = new Map(all.map((column, i) => [column, sent[at]![i]]));
    if (version !== undefined) {
      const next = (written.get(version) as number) + 1;
      written.set(version, next);
      (instance as Values)[version.attribute] = next;
    }
    if (saved !== null) for (const [column, value] of written) saved[offset + column.index] = value;
  }
  return rowCount;
}

/** The number of rows in one statement. If each value is a parameter, the limit is 65535 parameters. */
function batchSizeFor(meta: ModelMeta, size: number | undefined): number {
  const most = meta.columns.some((column) => column.type.kind === "array")
    ? Math.floor(60_000 / meta.columns.length)
    : 5000;
  return Math.min(size ?? most, most);
}
