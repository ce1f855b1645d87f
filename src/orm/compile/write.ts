import { FieldError } from "../errors.js";
import { Expression } from "../expressions/expression.js";
import { quote } from "../identifiers.js";
import type { ColumnMeta, ColumnType, ModelMeta } from "../meta.js";
import { type Query, rootQuery } from "../nodes.js";
import { type Compiled, Compiler } from "./compiler.js";
import { encodeNamed, keyOfInstance, queryOf } from "./operands.js";
import type { RowPlan } from "./row-plan.js";
import { noField } from "./scope.js";
import { conditionUsesWindow } from "./windows.js";

/** A column and the value to write. */
export type Assignment = readonly [column: ColumnMeta, value: unknown];

/** The columns that an object of values names, by field, attribute or relation. */
export function assignments(meta: ModelMeta, values: object): Assignment[] {
  const list: Assignment[] = [];
  const seen = new Set<ColumnMeta>();
  for (const key of Object.keys(values)) {
    const value = (values as Record<string, unknown>)[key];
    if (value === undefined) continue;
    const column = meta.column(key);
    if (column === undefined) {
      if (meta.relations.has(key))
        throw new FieldError(`${meta.name}.${key} is on the other side of a relation and cannot be set here`);
      throw noField(meta, key);
    }
    if (column.generated !== undefined) throw new FieldError(`${meta.name}.${column.name} is computed by the database`);
    if (seen.has(column)) throw new FieldError(`${meta.name}.${column.name} is given twice`);
    seen.add(column);
    list.push([column, value]);
  }
  return list;
}

export function encodeColumn(meta: ModelMeta, column: ColumnMeta, value: unknown): unknown {
  const name = `${meta.name}.${column.name}`;
  const plain = keyOfInstance({ column, name }, value);
  if (plain === null || column.type.encode === undefined) return plain;
  return encodeNamed(name, column.type.encode, plain);
}

/** The plan of the rows that a write returns: all columns, in order. */
export function returningPlan(meta: ModelMeta): RowPlan & { readonly list: string } {
  const known = plans.get(meta);
  if (known) return known;
  const list = meta.columns
    .map((column) => (column.type.selectSql ? column.type.selectSql(quote(column.column)) : quote(column.column)))
    .join(", ");
  const plan = { meta, columns: meta.columns, at: 0, related: [], extras: [], list };
  plans.set(meta, plan);
  return plan;
}

const plans = new WeakMap<ModelMeta, RowPlan & { readonly list: string }>();

export interface ConflictClause {
  readonly columns: readonly ColumnMeta[];
  /** Undefined: leave the row as it is. */
  readonly update: readonly ColumnMeta[] | undefined;
}

export function conflictSql(conflict: ConflictClause | undefined): string {
  if (conflict === undefined) return "";
  const target =
    conflict.columns.length === 0 ? "" : ` (${conflict.columns.map((column) => quote(column.column)).join(", ")})`;
  if (conflict.update === undefined || conflict.update.length === 0) return ` ON CONFLICT${target} DO NOTHING`;
  const set = conflict.update.map((column) => `${quote(column.column)} = EXCLUDED.${quote(column.column)}`);
  return ` ON CONFLICT${target} DO UPDATE SET ${set.join(", ")}`;
}

const insertTexts = new WeakMap<ModelMeta, Map<string, string>>();

/** INSERT of one row, which returns all of its columns. */
export function insertStatement(meta: ModelMeta, values: readonly Assignment[], conflict?: ConflictClause): Compiled {
  if (values.some(([, value]) => value instanceof Expression)) return insertWithExpressions(meta, values, conflict);
  const params = values.map(([column, value]) => encodeColumn(meta, column, value));
  const tail = conflictSql(conflict);
  const shape = `${values.map(([column]) => column.index).join(",")}${tail}`;
  let texts = insertTexts.get(meta);
  if (texts === undefined) insertTexts.set(meta, (texts = new Map()));
  let text = texts.get(shape);
  if (text === undefined) {
    text = insertText(
      meta,
      values,
      values.map((_, index) => `$${index + 1}`),
      tail,
    );
    // Shapes are few, unless clients can choose them.
    if (texts.size < 200) texts.set(shape, text);
  }
  return { text, params };
}

function insertWithExpressions(
  meta: ModelMeta,
  values: readonly Assignment[],
  conflict: ConflictClause | undefined,
): Compiled {
  const compiler = new Compiler();
  const scope = compiler.scope(rootQuery(meta));
  const places = values.map(([column, value]) =>
    value instanceof Expression
      ? compiler.expression(value.node, scope)
      : compiler.param(encodeColumn(meta, column, value)),
  );
  return { text: insertText(meta, values, places, conflictSql(conflict)), params: compiler.params };
}

function insertText(meta: ModelMeta, values: readonly Assignment[], places: readonly string[], tail: string): string {
  const { list } = returningPlan(meta);
  if (values.length === 0) return `INSERT INTO ${meta.sqlName} DEFAULT VALUES${tail} RETURNING ${list}`;
  const columns = values.map(([column]) => quote(column.column)).join(", ");
  return `INSERT INTO ${meta.sqlName} (${columns}) VALUES (${places.join(", ")})${tail} RETURNING ${list}`;
}

/** UPDATE of the rows of a query. */
export function updateStatement(query: Query, values: readonly Assignment[], returning = false): Compiled {
  const compiler = new Compiler();
  const scope = compiler.scope(query);
  const { meta } = query;
  const set = withAutoNow(meta, values).map(([column, value]) => {
    if (value === autoNow) return `${quote(column.column)} = ${column.type.kind === "date" ? "CURRENT_DATE" : "now()"}`;
    if (value instanceof Expression) {
      const sql = compiler.expression(value.node, scope);
      if (scope.joins !== "")
        throw new FieldError(`${meta.name}.${column.name} cannot be set from a relation: use a subquery`);
      return `${quote(column.column)} = ${sql}`;
    }
    const inner = queryOf(value);
    if (inner) return `${quote(column.column)} = (${compiler.subselect(inner, scope, "values")})`;
    return `${quote(column.column)} = ${compiler.param(encodeColumn(meta, column, value))}`;
  });
  const where = whereForWrite(query, compiler, scope);
  const tail = returning ? ` RETURNING ${aliased(meta, scope.alias)}` : "";
  return {
    text: `UPDATE ${meta.sqlName} ${scope.alias} SET ${set.join(", ")}${where}${tail}`,
    params: compiler.params,
  };
}

function aliased(meta: ModelMeta, alias: string): string {
  return meta.columns
    .map((column) => {
      const sql = `${alias}.${quote(column.column)}`;
      return column.type.selectSql ? column.type.selectSql(sql) : sql;
    })
    .join(", ");
}

const autoNow = Symbol("now");

function withAutoNow(meta: ModelMeta, values: readonly Assignment[]): Assignment[] {
  const given = new Set(values.map(([column]) => column));
  const automatic = meta.columns.filter((column) => column.autoNow && !given.has(column));
  return [...values, ...automatic.map((column): Assignment => [column, autoNow])];
}

export function deleteStatement(query: Query): Compiled {
  const compiler = new Compiler();
  const scope = compiler.scope(query);
  const where = whereForWrite(query, compiler, scope);
  return { text: `DELETE FROM ${query.meta.sqlName} ${scope.alias}${where}`, params: compiler.params };
}

/** The condition of an UPDATE or DELETE. It is by primary key if joins or a limit are needed to find the rows. */
function whereForWrite(query: Query, compiler: Compiler, scope: ReturnType<Compiler["scope"]>): string {
  if (query.combined) throw new FieldError("a union cannot be written to");
  if (query.distinct !== false) throw new FieldError("a queryset with distinct() cannot be written to");
  if (query.selection) throw new FieldError("a queryset of values cannot be written to");
  const windows = query.where.some((condition) => conditionUsesWindow(condition, query.annotations));
  const limited = windows || query.sources.length > 0 || query.limit !== null || query.offset !== null;
  if (!limited) {
    const before = compiler.params.length;
    const where = compiler.where(query, scope);
    if (scope.joins === "") return where;
    compiler.params.length = before;
  }
  const keys = query.meta.primaryKey;
  const inner = compiler.scope(query);
  const list = keys.map((column) => inner.column(column));
  const select = compiler.assemble(limited ? query : { ...query, orderBy: [], reversed: false }, inner, list);
  return ` WHERE (${keys.map((column) => scope.column(column)).join(", ")}) IN (${select})`;
}

/** The type of an array that holds a column's values, without limits: a cast would apply them silently. */
export function arrayTypeOf(type: ColumnType): string {
  if (type.kind === "char" || (type.kind === "enum" && type.enumName === undefined)) return "text[]";
  return type.kind === "decimal" ? "numeric[]" : `${type.sqlType}[]`;
}
