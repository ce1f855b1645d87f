import { isDeepStrictEqual } from "node:util";
import { snakeCase } from "../../kit/names.js";
import { ValueError } from "../../kit/value-error.js";
import { innermost } from "../fields/column-types.js";
import { literal, shortName } from "../identifiers.js";
import type { ColumnMeta, ForeignKeyMeta, IndexMeta, ModelMeta } from "../meta.js";
import { keyAttribute } from "../model/columns.js";
import { joinName, usualForeignKeyName, usualIndexName, usualUniqueName } from "./names.js";
import type {
  ColumnState,
  ForeignKeyState,
  IndexState,
  SchemaState,
  TableState,
  UniqueState,
  ViewState,
} from "./state.js";
import { tidyState } from "./tidy.js";
import { normalizeType } from "./type-names.js";
import { viewSelect } from "./views.js";

/** The schema of the models, with the previous names that `renamedFrom` gives. */
export interface DesiredSchema {
  readonly state: SchemaState;
  /** Previous names by the current name of the table, the likeliest first. */
  readonly renamedTables?: Readonly<Record<string, readonly string[]>>;
  /** Previous names by the current names of table and column. */
  readonly renamedColumns?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** The join tables of many-to-many relations. Their columns are named after tables and are renamed with them. */
  readonly automaticTables?: readonly string[];
}

/** The schema of models, with join tables and without unmanaged models. */
export function stateOf(models: readonly ModelMeta[]): SchemaState {
  const metas = withThroughTables(models);
  return tidyState({
    tables: Object.fromEntries(metas.map((meta) => [tableName(meta), tableOf(meta)])),
    enums: enumsOf([...metas, ...managedViews(models)]),
    views: Object.fromEntries(managedViews(models).map((meta) => [tableName(meta), viewOf(meta)])),
  });
}

/** The schema of models, with the previous names that `renamedFrom` gives. */
export function desiredSchema(models: readonly ModelMeta[]): DesiredSchema {
  const metas = withThroughTables(models);
  return {
    state: stateOf(models),
    renamedTables: { ...renamedThroughTables(models), ...renamedTables(metas) },
    renamedColumns: renamedColumns(metas),
    automaticTables: metas.filter((meta) => meta.automatic).map(tableName),
  };
}

/** The managed models together with the tables that their many-to-many relations need. */
function withThroughTables(models: readonly ModelMeta[]): ModelMeta[] {
  const all = new Map(models.map((meta) => [meta.sqlName, meta]));
  for (const meta of models) {
    for (const { through } of meta.relations.values()) {
      if (through?.own && !all.has(through.meta.sqlName)) all.set(through.meta.sqlName, through.meta);
    }
  }
  return [...all.values()].filter((meta) => meta.managed && meta.view === undefined);
}

function managedViews(models: readonly ModelMeta[]): ModelMeta[] {
  return models.filter((meta) => meta.managed && meta.view !== undefined);
}

/** A materialized view has a unique index over its key, which `refresh({ concurrently })` needs. */
function viewOf(meta: ModelMeta): ViewState {
  const as = viewSelect(meta);
  if (!meta.view!.materialized) return { as };
  const name = tableName(meta);
  const key = { on: namesOf(meta.primaryKey), unique: true };
  const others = [
    ...uniquesOf(meta, name).map(([index, { columns, ...rest }]): [string, IndexState] => [
      index,
      { on: columns, unique: true, ...rest },
    ]),
    ...indexesOf(meta, name).filter(([, { on }]) => !isDeepStrictEqual(on, key.on)),
  ];
  return {
    as,
    materialized: true,
    indexes: Object.fromEntries([[usualIndexName(name, key), key], ...others]),
  };
}

function tableName(meta: ModelMeta): string {
  if (meta.table.includes(".") || meta.schema?.includes(".")) {
    throw new ValueError(`${meta.name}: the name of a table or a schema cannot hold a dot; the schema is an option`);
  }
  return joinName(meta.schema, meta.table);
}

function tableOf(meta: ModelMeta): TableState {
  const name = tableName(meta);
  return {
    columns: Object.fromEntries(meta.columns.map((column) => [column.column, columnOf(column)])),
    primaryKey: meta.primaryKey.map((column) => column.column),
    unique: Object.fromEntries(uniquesOf(meta, name)),
    foreignKeys: foreignKeysOf(meta, name),
    checks: Object.fromEntries(meta.checks.map((check) => [check.name, check.sql])),
    indexes: Object.fromEntries(indexesOf(meta, name)),
    ...(meta.comment === undefined ? {} : { comment: meta.comment }),
  };
}

function columnOf(column: ColumnMeta): ColumnState {
  const value = defaultSql(column);
  return {
    type: column.type.sqlType,
    nullable: column.nullable,
    identity: column.autoIncrement,
    ...(value === undefined ? {} : { default: value }),
    ...(column.generated === undefined ? {} : { generated: column.generated }),
    ...(column.collation === undefined ? {} : { collation: column.collation }),
    ...(column.comment === undefined ? {} : { comment: column.comment }),
  };
}

/** The primary key is unique already: a one-to-one relation that is the key needs no second constraint. */
function uniquesOf(meta: ModelMeta, table: string): [string, UniqueState][] {
  const key = JSON.stringify(meta.primaryKey.map((column) => column.column));
  const all = [
    ...meta.columns
      .filter((column) => column.unique)
      .map(({ column }): [string, UniqueState] => [usualUniqueName(table, [column]), { columns: [column] }]),
    ...meta.foreignKeys
      .filter((key) => key.unique)
      .map((key): [string, UniqueState] => {
        const columns = namesOf(key.columns);
        return [usualUniqueName(table, columns), { columns }];
      }),
    ...meta.uniques.map(({ name, ...unique }): [string, UniqueState] => [name, unique]),
  ];
  return all.filter(([, { columns }]) => JSON.stringify(columns) !== key);
}

function foreignKeysOf(meta: ModelMeta, table: string): Record<string, ForeignKeyState> {
  const keys = new Map(meta.columns.flatMap((column) => foreignKeyOf(table, column)));
  for (const key of meta.foreignKeys.filter((each) => each.constraint && !each.target.view)) {
    const [name, state] = compositeKeyOf(table, key);
    if (keys.has(name))
      throw new ValueError(
        `${meta.table}.${key.name}: another foreign key has the constraint ${name}: add constraint: false to one of them`,
      );
    keys.set(name, state);
  }
  return Object.fromEntries(keys);
}

function foreignKeyOf(table: string, { column, reference }: ColumnMeta): [string, ForeignKeyState][] {
  // A view has no key that a constraint could refer to.
  if (!reference?.constraint || reference.target.view) return [];
  const key: ForeignKeyState = {
    columns: [column],
    table: tableName(reference.target),
    references: [reference.column.column],
    onDelete: reference.onDelete,
    onUpdate: reference.onUpdate,
    deferred: reference.deferred,
  };
  return [[constraintName(reference, table, [column]), key]];
}

function constraintName({ constraint }: Pick<ForeignKeyMeta, "constraint">, table: string, columns: string[]): string {
  return typeof constraint === "string" ? constraint : usualForeignKeyName(table, columns);
}

function compositeKeyOf(table: string, key: ForeignKeyMeta): [string, ForeignKeyState] {
  const columns = namesOf(key.columns);
  const state: ForeignKeyState = {
    columns,
    table: tableName(key.target),
    references: namesOf(key.references),
    onDelete: key.onDelete,
    onUpdate: key.onUpdate,
    ...(key.setNull === undefined ? {} : { onDeleteColumns: namesOf(key.setNull) }),
    matchFull: key.matchFull,
    deferred: key.deferred,
  };
  return [constraintName(key, table, columns), state];
}

function namesOf(columns: readonly ColumnMeta[]): string[] {
  return columns.map(({ column }) => column);
}

/** The indexes that the model names, and those of single columns and of composite keys. */
function indexesOf(meta: ModelMeta, table: string): [string, IndexState][] {
  const single = meta.columns
    .filter((column) => column.indexed)
    .map(({ column, type }): [string, IndexState] => [
      usualIndexName(table, { on: [column] }),
      { on: [column], method: type.kind === "searchVector" ? "gin" : "btree" },
    ]);
  const composite = meta.foreignKeys
    .filter((key) => key.indexed)
    .map((key): [string, IndexState] => {
      const on = namesOf(key.columns);
      return [usualIndexName(table, { on }), { on }];
    });
  return [
    ...single,
    ...composite,
    ...meta.indexes.map((index): [string, IndexState] => [index.name, indexState(index)]),
  ];
}

function indexState({ parts, unique, method, nullsNotDistinct, where, include }: IndexMeta): IndexState {
  return { on: parts, unique, method, nullsNotDistinct, include, ...(where === undefined ? {} : { where }) };
}

function enumsOf(metas: readonly ModelMeta[]): Record<string, readonly string[]> {
  const types = new Map<string, { values: readonly string[]; owner: string }>();
  for (const meta of metas) {
    for (const column of meta.columns) {
      const { enumName, choices = [] } = innermost(column.type);
      if (enumName === undefined) continue;
      if (enumName.includes(".")) throw new ValueError(`the name of the enum '${enumName}' cannot hold a dot`);
      const owner = `${meta.name}.${column.name}`;
      const other = types.get(enumName);
      if (other && other.values.join("\0") !== choices.join("\0")) {
        throw new ValueError(`the enum '${enumName}' has other values in ${owner} than in ${other.owner}`);
      }
      types.set(enumName, { values: choices, owner });
    }
  }
  return Object.fromEntries([...types].map(([name, { values }]) => [name, values]));
}

function renamedTables(metas: readonly ModelMeta[]): Record<string, readonly string[]> {
  const renamed = metas.filter((meta) => meta.renamedFrom !== undefined);
  return Object.fromEntries(
    renamed.map((meta) => [tableName(meta), candidates(joinName(meta.schema, meta.renamedFrom!), meta.renamedFrom!)]),
  );
}

/** A join table is named after the model's table and is renamed with it. */
function renamedThroughTables(models: readonly ModelMeta[]): Record<string, readonly string[]> {
  const renamed: [string, readonly string[]][] = [];
  for (const meta of models.filter((each) => each.renamedFrom !== undefined)) {
    const former = meta.renamedFrom!.slice(meta.renamedFrom!.indexOf(".") + 1);
    for (const { name, through, source } of meta.relations.values()) {
      if (!through?.own || source.sqlName !== meta.sqlName) continue;
      const table = shortName(`${former}_${snakeCase(name)}`);
      renamed.push([tableName(through.meta), candidates(joinName(meta.schema, table), table)]);
    }
  }
  return Object.fromEntries(renamed);
}

/** `renamedFrom` is the name of a field. The column may be named after that field, or after the key of a relation. */
function renamedColumns(metas: readonly ModelMeta[]): Record<string, Record<string, readonly string[]>> {
  return Object.fromEntries(
    metas.map((meta) => {
      const renamed = meta.columns.filter((column) => column.renamedFrom !== undefined);
      return [tableName(meta), Object.fromEntries(renamed.map((column) => [column.column, formerNames(column)]))];
    }),
  );
}

function formerNames({ renamedFrom = "", reference }: ColumnMeta): readonly string[] {
  const names = candidates(snakeCase(renamedFrom), renamedFrom);
  const key = snakeCase(keyAttribute(renamedFrom));
  return reference === undefined ? [...names, key] : [key, ...names];
}

function candidates(...names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

/**
 * The default of a column in the database, as SQL. It is undefined for a function, because only the application can
 * call it.
 */
function defaultSql(column: ColumnMeta): string | undefined {
  if (column.autoNowAdd || column.autoNow) return column.type.kind === "date" ? "CURRENT_DATE" : "CURRENT_TIMESTAMP";
  switch (column.default?.from) {
    case "sql":
      return column.default.sql;
    case "value":
      return valueSql(column, column.default.value);
    default:
      return undefined;
  }
}

function valueSql({ type }: ColumnMeta, value: unknown): string {
  if (value === null) return "NULL";
  const parameter = type.encode ? type.encode(value) : value;
  if (typeof parameter === "boolean") return parameter ? "true" : "false";
  if (typeof parameter === "number" && Number.isFinite(parameter)) return String(parameter);
  const text = parameter instanceof Uint8Array ? `\\x${Buffer.from(parameter).toString("hex")}` : String(parameter);
  switch (type.kind) {
    case "decimal":
    case "bigInt":
      return text;
    case "char":
    case "text":
      return literal(text);
    default:
      return `${literal(text)}::${normalizeType(type.sqlType)}`;
  }
}
