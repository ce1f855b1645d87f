import { ParameterValueError } from "../../engines/db/errors.js";
import { FieldError } from "../errors.js";
import { Expression } from "../expressions/expression.js";
import { hasRules, refusalOf } from "../fields/rules.js";
import { quote } from "../identifiers.js";
import { isSameKey } from "../key-values.js";
import type { ColumnMeta, ColumnType, ForeignKeyMeta, ModelConstructor, ModelMeta } from "../meta.js";
import { type Query, rootQuery } from "../nodes.js";
import { isLimited, keysOf } from "./chosen-rows.js";
import { type Compiled, Compiler } from "./compiler.js";
import { JsonPatch, jsonKey } from "./json/json-patch.js";
import { encodeNamed, keyOfInstance, keysOfQuery, queryOf } from "./operands.js";
import type { RowPlan } from "./row-plan.js";
import { noField, type Scope } from "./scope.js";
import { splitByWindows, usesWindow } from "./windows.js";

/** A column and the value to write. */
export type Assignment = readonly [column: ColumnMeta, value: unknown];

/** The columns that an object of values names, by field, attribute or relation. */
export function assignments(meta: ModelMeta, values: object, keys: "refused" | "allowed" = "refused"): Assignment[] {
  const list: Assignment[] = [];
  const seen = new Set<ColumnMeta>();
  const patches = new Map<ColumnMeta, JsonPatch>();
  const valueBeside = ({ name, attribute, column }: ColumnMeta): unknown => {
    const given = [name, attribute].map((key) => (values as Record<string, unknown>)[key]);
    return [...given, list.find(([each]) => each.column === column)?.[1]].find((value) => value !== undefined);
  };
  for (const key of Object.keys(values)) {
    const value = (values as Record<string, unknown>)[key];
    if (value === undefined) continue;
    const column = meta.column(key);
    if (column === undefined) {
      const composite = meta.foreignKeys.find(({ name }) => name === key);
      if (composite) {
        list.push(...keyAssignments(meta, composite, value, valueBeside));
        continue;
      }
      const inside = keys === "allowed" ? jsonKey(meta, key) : undefined;
      if (inside) {
        patchOf(meta, inside.column, patches, list, seen).set(inside.keys, value);
        continue;
      }
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

/** The columns of a foreign key over several columns, except those that are given beside it with the same value. */
function keyAssignments(
  meta: ModelMeta,
  key: ForeignKeyMeta,
  value: unknown,
  valueBeside: (column: ColumnMeta) => unknown,
): Assignment[] {
  const owner = `${meta.name}.${key.name}`;
  const assigned = value === null ? nulls(owner, key) : keyOfRow(owner, key, value);
  return assigned.filter(([column, own]) => {
    const other = valueBeside(column);
    if (other !== undefined && !isSame(meta, column, own, other))
      throw new FieldError(`${owner} and ${meta.name}.${column.name} are both given, and differ`);
    return other === undefined;
  });
}

/** True if two values of a column are the same to the database. One may be an instance, or a Date and the other a text. */
function isSame(meta: ModelMeta, column: ColumnMeta, own: unknown, other: unknown): boolean {
  if (own === other) return true;
  if (own === null || other === null || other instanceof Expression) return false;
  return isSameKey(encodeColumn(meta, column, own), encodeColumn(meta, column, other));
}

function nulls(owner: string, { columns }: ForeignKeyMeta): Assignment[] {
  const nullable = columns.filter((column) => column.nullable);
  if (nullable.length === 0) throw new FieldError(`${owner} cannot be null`);
  return nullable.map((column): Assignment => [column, null]);
}

function keyOfRow(owner: string, { columns, target, references }: ForeignKeyMeta, value: unknown): Assignment[] {
  const meta =
    typeof value === "object" ? (value!.constructor as Partial<ModelConstructor> | undefined)?.meta : undefined;
  if (meta?.sqlName !== target.sqlName) throw new FieldError(`${owner} takes an instance of ${target.name}`);
  return columns.map((column, at): Assignment => {
    const { attribute, name } = references[at]!;
    const found = (value as Record<string, unknown>)[attribute];
    if (found === undefined || found === null)
      throw new FieldError(`the instance of ${target.name} given for ${owner} is not saved: it has no ${name}`);
    return [column, found];
  });
}

function patchOf(
  meta: ModelMeta,
  column: ColumnMeta,
  patches: Map<ColumnMeta, JsonPatch>,
  list: Assignment[],
  seen: Set<ColumnMeta>,
): JsonPatch {
  let patch = patches.get(column);
  if (patch === undefined) {
    if (seen.has(column)) throw new FieldError(`${meta.name}.${column.name} and a key inside of it are both given`);
    // They see whole values, and the other keys are in the database alone.
    if (hasRules(column.type))
      throw new FieldError(`${meta.name}.${column.name} has rules: update its whole value, not a key inside of it`);
    seen.add(column);
    patches.set(column, (patch = new JsonPatch(column.name)));
    list.push([column, patch]);
  }
  return patch;
}

export function encodeColumn(meta: ModelMeta, column: ColumnMeta, value: unknown): unknown {
  const name = `${meta.name}.${column.name}`;
  const plain = keyOfInstance({ column, name }, value);
  const { type, reference } = column;
  if (plain === null) return plain;
  // The rules of a key hold for the row that it refers to.
  if (reference === undefined && hasRules(type)) return encodeNamed(name, (given) => encodeRuled(type, given), plain);
  return type.encode === undefined ? plain : encodeNamed(name, type.encode, plain);
}

function encodeRuled(type: ColumnType, value: unknown): unknown {
  const encoded = type.encode === undefined ? value : type.encode(value);
  const refusal = refusalOf(type, value, encoded);
  if (refusal !== undefined) throw new ParameterValueError(refusal.msg);
  return encoded;
}

/** Every statement that writes rows of a model asks here first. */
export function refuseView({ view, name }: ModelMeta): void {
  if (view) throw new FieldError(`${name} is a view: its rows are read only`);
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

const insertTexts = new WeakMap<ModelMeta, Map<string, string>>();

/** INSERT of one row, which returns all of its columns. */
export function insertStatement(meta: ModelMeta, values: readonly Assignment[], unlessThere = false): Compiled {
  refuseView(meta);
  const tail = unlessThere ? " ON CONFLICT DO NOTHING" : "";
  if (values.some(([, value]) => value instanceof Expression)) return insertWithExpressions(meta, values, tail);
  const params = values.map(([column, value]) => encodeColumn(meta, column, value));
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

function insertWithExpressions(meta: ModelMeta, values: readonly Assignment[], tail: string): Compiled {
  const compiler = new Compiler();
  const scope = compiler.scope(rootQuery(meta));
  const places = values.map(([column, value]) =>
    value instanceof Expression
      ? compiler.expression(value.node, scope)
      : compiler.param(encodeColumn(meta, column, value)),
  );
  return { text: insertText(meta, values, places, tail), params: compiler.params };
}

function insertText(meta: ModelMeta, values: readonly Assignment[], places: readonly string[], tail: string): string {
  const { list } = returningPlan(meta);
  if (values.length === 0) return `INSERT INTO ${meta.sqlName} DEFAULT VALUES${tail} RETURNING ${list}`;
  const columns = values.map(([column]) => quote(column.column)).join(", ");
  return `INSERT INTO ${meta.sqlName} (${columns}) VALUES (${places.join(", ")})${tail} RETURNING ${list}`;
}

/** UPDATE of the rows of a query. It returns these columns of the rows, if they are given. */
export function updateStatement(
  query: Query,
  values: readonly Assignment[],
  returning?: readonly ColumnMeta[],
): Compiled {
  const { meta } = query;
  refuseView(meta);
  const compiler = new Compiler();
  const scope = compiler.scope(query);
  const set = withAutomatic(meta, values).map(([column, value]) => {
    if (value === autoNow) return `${quote(column.column)} = ${column.type.kind === "date" ? "CURRENT_DATE" : "now()"}`;
    if (value === nextVersion) return `${quote(column.column)} = ${scope.column(column)} + 1`;
    if (value instanceof JsonPatch)
      return `${quote(column.column)} = ${value.compile(scope.column(column), scope, compiler)}`;
    if (value instanceof Expression) {
      const sql = compiler.expression(value.node, scope);
      if (scope.joins !== "")
        throw new FieldError(`${meta.name}.${column.name} cannot be set from a relation: use a subquery`);
      if (usesWindow(value.node, query.annotations))
        throw new FieldError(`${meta.name}.${column.name} cannot be set from a window function: use a subquery`);
      return `${quote(column.column)} = ${sql}`;
    }
    const inner = queryOf(value);
    if (inner) {
      const keys = keysOfQuery({ column, name: `${meta.name}.${column.name}` }, inner);
      return `${quote(column.column)} = (${compiler.subselect(keys, scope, "values")})`;
    }
    return `${quote(column.column)} = ${compiler.param(encodeColumn(meta, column, value))}`;
  });
  const where = whereForWrite(query, compiler, scope);
  return {
    text: `UPDATE ${meta.sqlName} ${scope.alias} SET ${set.join(", ")}${where}${returningSql(scope, returning)}`,
    params: compiler.params,
  };
}

function returningSql(scope: Scope, columns: readonly ColumnMeta[] | undefined): string {
  if (columns === undefined) return "";
  const list = columns.map((column) => {
    const sql = scope.column(column);
    return column.type.selectSql ? column.type.selectSql(sql) : sql;
  });
  return ` RETURNING ${list.join(", ")}`;
}

const autoNow = Symbol("now");
const nextVersion = Symbol("version");

/** The values, and those of the columns that change with every update: the time, the version. */
function withAutomatic(meta: ModelMeta, values: readonly Assignment[]): Assignment[] {
  const given = new Set(values.map(([column]) => column));
  const automatic = meta.columns.filter((column) => (column.autoNow || column.version) && !given.has(column));
  return [...values, ...automatic.map((column): Assignment => [column, column.autoNow ? autoNow : nextVersion])];
}

export function deleteStatement(query: Query, returning?: readonly ColumnMeta[]): Compiled {
  refuseView(query.meta);
  const compiler = new Compiler();
  const scope = compiler.scope(query);
  const where = whereForWrite(query, compiler, scope);
  const text = `DELETE FROM ${query.meta.sqlName} ${scope.alias}${where}${returningSql(scope, returning)}`;
  return { text, params: compiler.params };
}

/** The condition of an UPDATE or DELETE. It is by primary key if joins or a limit are needed to find the rows. */
function whereForWrite(query: Query, compiler: Compiler, scope: Scope): string {
  if (query.combined) throw new FieldError("a union cannot be written to");
  if (query.distinct !== false) throw new FieldError("a queryset with distinct() cannot be written to");
  if (query.selection) throw new FieldError("a queryset of values cannot be written to");
  if (splitByWindows(query).windows.length === 0 && query.sources.length === 0 && !isLimited(query)) {
    const before = compiler.params.length;
    const where = compiler.where(query, scope);
    if (scope.joins === "") return where;
    compiler.params.length = before;
  }
  return ` WHERE ${compiler.condition({ type: "chosen", query: keysOf(query) }, scope)}`;
}
