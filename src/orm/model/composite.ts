import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import type { CompositeOptions, FieldSpec } from "../fields/definition.js";
import type { ColumnMeta, ForeignKeyMeta, ModelMeta, RelationMeta } from "../meta.js";
import { targetMeta } from "./columns.js";

type CompositeSpec = Extract<FieldSpec, { form: "composite" }>;

/** A foreign key over several columns of a model. The columns it refers to may be declared later. */
export function compositeKey(
  source: ModelMeta,
  name: string,
  { fields, target, options }: CompositeSpec,
): ForeignKeyMeta {
  const owner = `${source.table}.${name}`;
  if (source.column(name)) throw new ValueError(`${owner} has the name of a column`);
  const columns = fields.map((field) => columnFor(owner, source, field));
  checkNulls(owner, columns, options);
  const setNull = options.setNull?.map((field) => columnFor(owner, source, field));
  if (options.onDelete === "set null") checkSetNull(owner, columns, setNull ?? columns);
  const unique = options.unique === true;
  let found: { readonly target: ModelMeta; readonly references: readonly ColumnMeta[] } | undefined;
  const resolved = (): NonNullable<typeof found> => (found ??= resolve(owner, target, columns, options.references));
  return {
    name,
    columns,
    get target() {
      return resolved().target;
    },
    get references() {
      return resolved().references;
    },
    nullable: options.null === true,
    unique,
    indexed: options.index !== false && !unique && !columns.every((column, at) => source.primaryKey[at] === column),
    onDelete: options.onDelete ?? "cascade",
    onUpdate: options.onUpdate ?? "no action",
    setNull,
    matchFull: options.matchFull === true,
    deferred: options.deferred === true,
    constraint: options.constraint ?? true,
  };
}

/** The relation of a foreign key over several columns. */
export function compositeRelation(source: ModelMeta, name: string): RelationMeta {
  const key = source.foreignKeys.find((each) => each.name === name)!;
  return {
    name,
    kind: key.unique ? "oneToOne" : "foreignKey",
    single: true,
    nullable: key.nullable,
    source,
    sourceColumn: key.columns[0]!,
    sourceColumns: key.columns,
    get target() {
      return key.target;
    },
    get targetColumn() {
      return key.references[0]!;
    },
    get targetColumns() {
      return key.references;
    },
    through: undefined,
  };
}

function columnFor(owner: string, meta: ModelMeta, name: string): ColumnMeta {
  const column = meta.column(name);
  if (column) return column;
  const known = meta.columns.map((each) => each.name);
  throw new ValueError(`${owner}: ${meta.name} has no field '${name}'${didYouMean(name, known)}`);
}

/** PostgreSQL does not check a foreign key with a null in it: then there is no row, and the type must say so. */
function checkNulls(owner: string, columns: readonly ColumnMeta[], options: CompositeOptions): void {
  const nullable = columns.find((column) => column.nullable);
  if (nullable && options.null !== true) throw new ValueError(`${owner}: ${nullable.name} can be null: add null: true`);
  if (!nullable && options.null === true) throw new ValueError(`${owner}: null: true needs a field that can be null`);
}

function checkSetNull(owner: string, columns: readonly ColumnMeta[], set: readonly ColumnMeta[]): void {
  for (const column of set) {
    if (!columns.includes(column))
      throw new ValueError(`${owner}: 'setNull' names ${column.name}, which is no field of the key`);
    if (!column.nullable)
      throw new ValueError(`${owner}: ${column.name} cannot be null: name the fields to set to null with 'setNull'`);
  }
}

function resolve(
  owner: string,
  thunk: () => unknown,
  columns: readonly ColumnMeta[],
  names: readonly string[] | undefined,
): { target: ModelMeta; references: readonly ColumnMeta[] } {
  const target = targetMeta(owner, thunk);
  const references = names === undefined ? target.primaryKey : names.map((name) => columnFor(owner, target, name));
  if (references.length !== columns.length) {
    throw new ValueError(
      `${owner} has ${columns.length} fields, but the primary key of ${target.name} has ${references.length}: name the fields it refers to with 'references'`,
    );
  }
  return { target, references };
}
