/** Reads the arguments in migration files: checks them key by key and brings them into the form of states. */

import { checkedOptions } from "../../kit/config.js";
import { type Check, is, isPlainObject, required, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { checkIdentifier } from "../../orm/identifiers.js";
import { splitName } from "../../orm/schema/names.js";
import type {
  ColumnState,
  ForeignKeyState,
  IndexPart,
  IndexState,
  ReferentialRule,
  TableState,
  UniqueState,
  ViewState,
} from "../../orm/schema/state.js";
import {
  mapValues,
  only,
  tidyColumn,
  tidyForeignKey,
  tidyIndex,
  tidyTable,
  tidyUnique,
  tidyView,
} from "../../orm/schema/tidy.js";

export function readName(owner: string, given: unknown): string {
  return checkIdentifier(owner, given);
}

/** The name of a table or a type, with or without its schema. */
export function readQualifiedName(owner: string, given: unknown): string {
  if (typeof given !== "string" || given === "") throw new ValueError(`${owner} must be a non-empty string`);
  const { schema, name } = splitName(given);
  if (schema !== undefined) checkIdentifier(`the schema in ${owner}`, schema);
  if (name.includes(".")) throw new ValueError(`${owner} takes 'table' or 'schema.table', not ${show(given)}`);
  checkIdentifier(owner, name);
  return given;
}

export function readNames(owner: string, given: unknown): readonly string[] {
  if (!Array.isArray(given) || given.length === 0)
    throw new ValueError(`${owner} takes a list of names, not ${show(given)}`);
  const names = given.map((name) => readName(`a name in ${owner}`, name));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ValueError(`${owner} names '${twice}' twice`);
  return names;
}

export function readText(owner: string, given: unknown): string {
  if (typeof given !== "string" || given.trim() === "") throw new ValueError(`${owner} must be a non-empty string`);
  return given;
}

const columnFields = checkedOptions<ColumnState>({
  type: is.text,
  nullable: is.boolean,
  default: is.text,
  identity: is.boolean,
  generated: is.text,
  collation: is.text,
  comment: is.string,
});

export function readColumn(owner: string, given: unknown): ColumnState {
  const options = columnFields(owner, demandObject(owner, given));
  const column = tidyColumn({ ...options, type: required(owner, options, "type") });
  checkColumn(owner, column);
  return column;
}

/** Refuses what no column of PostgreSQL can be. */
function checkColumn(owner: string, column: ColumnState): void {
  if (/^(small|big)?serial$/.test(column.type)) {
    const type = column.type.replace("serial", "int").replace(/^int$/, "integer");
    throw new ValueError(`${owner}: ${column.type} is no type of a column; use { type: "${type}", identity: true }`);
  }
  if (column.identity && !["smallint", "integer", "bigint"].includes(column.type)) {
    throw new ValueError(`${owner}: identity takes smallint, integer or bigint, not ${column.type}`);
  }
  if (column.identity && column.nullable) throw new ValueError(`${owner}: identity and nullable exclude one another`);
  const sources = [
    column.default !== undefined && "default",
    column.identity && "identity",
    column.generated !== undefined && "generated",
  ];
  const given = sources.filter((source) => typeof source === "string");
  if (given.length > 1) throw new ValueError(`${owner}: ${given.join(" and ")} exclude one another`);
}

/** Changes to a column; null takes away. */
export interface ColumnChanges {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly default?: string | null;
  readonly identity?: boolean;
  readonly generated?: string | null;
  readonly collation?: string | null;
  readonly comment?: string | null;
}

const orNull = (check: Check): Check => is.either(check, (value) => (value === null ? undefined : "null"));

const changeFields = checkedOptions<ColumnChanges>({
  type: is.text,
  nullable: is.boolean,
  default: orNull(is.text),
  identity: is.boolean,
  generated: orNull(is.text),
  collation: orNull(is.text),
  comment: orNull(is.string),
});

export function readColumnChanges(owner: string, given: unknown): ColumnChanges {
  const changes = changeFields(owner, demandObject(owner, given));
  if (Object.keys(changes).length === 0) throw new ValueError(`${owner} names no change`);
  return changes;
}

/** The column after changes. */
export function changedColumn(owner: string, column: ColumnState, changes: ColumnChanges): ColumnState {
  const merged = { ...column, ...changes };
  const kept = Object.fromEntries(
    Object.entries(merged).filter(([, value]) => value !== null),
  ) as unknown as ColumnState;
  const changed = tidyColumn(kept);
  checkColumn(owner, changed);
  return changed;
}

const uniqueFields = checkedOptions<UniqueState>({ columns: is.strings, nullsNotDistinct: is.boolean });

export function readUnique(owner: string, given: unknown): UniqueState {
  const options = Array.isArray(given)
    ? { columns: given as string[] }
    : uniqueFields(owner, demandObject(owner, given));
  return tidyUnique({ ...options, columns: readNames(`'columns' in ${owner}`, options.columns) });
}

const rule = is.oneOf("cascade", "restrict", "set null", "set default", "no action" satisfies ReferentialRule);

const foreignKeyFields = checkedOptions<ForeignKeyState>({
  columns: is.strings,
  table: is.text,
  references: is.strings,
  onDelete: rule,
  onUpdate: rule,
  onDeleteColumns: is.strings,
  matchFull: is.boolean,
  deferred: is.boolean,
});

export function readForeignKey(owner: string, given: unknown): ForeignKeyState {
  const options = foreignKeyFields(owner, demandObject(owner, given));
  const columns = readNames(`'columns' in ${owner}`, options.columns);
  const references = readNames(`'references' in ${owner}`, options.references);
  if (columns.length !== references.length) {
    throw new ValueError(`${owner} has ${columns.length} columns but refers to ${references.length}`);
  }
  const table = readQualifiedName(`'table' in ${owner}`, options.table);
  checkOnDelete(owner, columns, options);
  return tidyForeignKey({ ...options, columns, table, references });
}

function checkOnDelete(
  owner: string,
  columns: readonly string[],
  { onDelete, onDeleteColumns }: Partial<ForeignKeyState>,
): void {
  if (onDeleteColumns === undefined) return;
  if (onDelete !== "set null" && onDelete !== "set default")
    throw new ValueError(`${owner}: 'onDeleteColumns' needs onDelete: "set null" or "set default"`);
  const other = readNames(`'onDeleteColumns' in ${owner}`, onDeleteColumns).find((name) => !columns.includes(name));
  if (other !== undefined) throw new ValueError(`${owner}: '${other}' of 'onDeleteColumns' is not among its columns`);
}

const indexFields = checkedOptions<IndexState>({
  on: is.list(is.either(is.text, is.object)),
  unique: is.boolean,
  method: is.oneOf("btree", "hash", "gin", "gist", "brin", "spgist"),
  nullsNotDistinct: is.boolean,
  where: is.text,
  include: is.strings,
});

export function readIndex(owner: string, given: unknown): IndexState {
  const options = indexFields(owner, demandObject(owner, given));
  const parts = required(owner, options, "on").map((part) => readPart(`a part of ${owner}`, part));
  if (parts.length === 0) throw new ValueError(`'on' in ${owner} takes columns or expressions, and at least one`);
  return tidyIndex({ ...options, on: parts });
}

const partFields = checkedOptions<IndexPart>({
  column: is.text,
  expression: is.text,
  descending: is.boolean,
  nulls: is.oneOf("first", "last"),
  operatorClass: is.text,
});

function readPart(owner: string, given: string | IndexPart): string | IndexPart {
  if (typeof given === "string") return given;
  const part = partFields(owner, given);
  if ((part.column === undefined) === (part.expression === undefined)) {
    throw new ValueError(`${owner} takes either a column or an expression`);
  }
  return part;
}

const tableFields = checkedOptions<TableState>({
  columns: is.object,
  primaryKey: is.strings,
  primaryKeyName: is.text,
  unique: is.object,
  foreignKeys: is.object,
  checks: is.object,
  indexes: is.object,
  comment: is.string,
});

export function readTable(name: string, given: unknown): TableState {
  const owner = `the table '${name}'`;
  const options = tableFields(owner, demandObject(owner, given));
  const part = <T>(
    of: Readonly<Record<string, unknown>> | undefined,
    word: string,
    read: (owner: string, given: unknown) => T,
  ) =>
    of &&
    mapValues(of, (value, key) =>
      read(`the ${word} '${readName(`the name of a ${word} of ${name}`, key)}' of ${name}`, value),
    );
  return tidyTable(
    only({
      columns: part(required(owner, options, "columns"), "column", readColumn)!,
      primaryKey: options.primaryKey && readNames(`the primary key of ${name}`, options.primaryKey),
      primaryKeyName: options.primaryKeyName,
      unique: part(options.unique, "unique constraint", readUnique),
      foreignKeys: part(options.foreignKeys, "foreign key", readForeignKey),
      checks: part(options.checks, "check", readText),
      indexes: part(options.indexes, "index", readIndex),
      comment: options.comment,
    }),
  );
}

const viewFields = checkedOptions<ViewState>({ as: is.text, materialized: is.boolean, indexes: is.object });

export function readView(owner: string, given: unknown): ViewState {
  const { indexes = {}, ...options } = viewFields(owner, demandObject(owner, given));
  if (Object.keys(indexes).length > 0 && !options.materialized)
    throw new ValueError(`${owner}: only a materialized view has indexes`);
  return tidyView({
    ...options,
    as: required(owner, options, "as"),
    indexes: mapValues(indexes, (index, name) =>
      readIndex(`the index '${readName("the name of an index", name)}'`, index),
    ),
  });
}

function demandObject(owner: string, given: unknown): object {
  if (!isPlainObject(given)) throw new ValueError(`${owner} takes an object, not ${show(given)}`);
  return given;
}
