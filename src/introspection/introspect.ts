import type { Queries } from "../engines/db/database.js";
import { type OptionsOf, option, options } from "../kit/config.js";
import { is } from "../kit/options.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import { joinName } from "../orm/schema/names.js";
import type { SchemaState, TableState, ViewState } from "../orm/schema/state.js";
import { tidyView } from "../orm/schema/tidy.js";
import * as catalog from "./catalog.js";
import { catalogName, hasDot, shown } from "./names.js";
import { leftOutOf, tableState } from "./table-state.js";

const introspectOptions = options("introspect", {
  /** The schemas to read; by default those of the search path, without system schemas. */
  schemas: option(is.strings),
  /** Only these tables, named as in a state: `books`, `shop.lines`. */
  tables: option(is.strings),
  /** All tables except these. */
  exclude: option(is.strings),
});

export interface IntrospectOptions extends OptionsOf<typeof introspectOptions.fields> {}

/** A view or a foreign table. */
export interface UnmanagedTable extends TableState {
  readonly kind: "view" | "materialized view" | "foreign table";
}

/** The state of a database, and the relations that are no tables. */
export interface Introspection extends SchemaState {
  readonly unmanaged: Readonly<Record<string, UnmanagedTable>>;
  /** Sentences about parts of a table that its state cannot express, such as exclusion constraints. By table. */
  readonly leftOut: Readonly<Record<string, readonly string[]>>;
}

/** The table in which migrations are recorded. */
const ownTable = "stoa_migrations";

/**
 * Reads the schema of a database. Names of tables in the search path have no schema, all others have one. Expressions are
 * as PostgreSQL writes them.
 */
export async function introspect(db: Queries, chosen?: IntrospectOptions): Promise<Introspection> {
  const given = introspectOptions.read([chosen]);
  // One connection, so that one search path holds for all names.
  return db.transaction(async (tx) => readSchemas(tx, await chosenSchemas(tx, given.schemas), given));
}

interface ReadOptions extends Omit<IntrospectOptions, "schemas"> {
  /** The treatment of tables with a dot in their name, which have no name in a state. Default: refuse. */
  readonly dots?: "refuse" | "skip";
}

/** The same for schemas that are known to be there, on one connection. */
export async function readSchemas(
  db: Queries,
  schemas: readonly string[],
  options: ReadOptions = {},
): Promise<Introspection> {
  const relations = chosenRelations(await catalog.readRelations(db, schemas), options);
  const ids = [...relations.values()].map(({ id }) => id);
  const columns = byRelation(await catalog.readColumns(db, ids));
  const constraints = byRelation(await catalog.readConstraints(db, ids));
  const indexes = byRelation(await catalog.readIndexes(db, ids));
  const tables: [string, TableState][] = [];
  const unmanaged: [string, UnmanagedTable][] = [];
  const views: [string, ViewState][] = [];
  const leftOut: [string, string[]][] = [];
  for (const [name, { id, kind, comment, definition }] of relations) {
    const rows = [columns.get(id) ?? [], constraints.get(id) ?? [], indexes.get(id) ?? []] as const;
    const state = tableState(name, ...rows, comment);
    const sentences = leftOutOf(...rows);
    if (sentences.length > 0) leftOut.push([name, sentences]);
    const other = otherKinds[kind];
    if (other) unmanaged.push([name, { kind: other, ...state }]);
    else tables.push([name, state]);
    if (definition !== null)
      views.push([name, tidyView({ as: definition, materialized: kind === "m", indexes: state.indexes ?? {} })]);
  }
  return {
    tables: Object.fromEntries(tables),
    enums: await readEnums(db, schemas, [...columns.values()].flat(), options.tables !== undefined),
    ...(views.length > 0 && { views: Object.fromEntries(views) }),
    unmanaged: Object.fromEntries(unmanaged),
    leftOut: Object.fromEntries(leftOut),
  };
}

const otherKinds: Readonly<Partial<Record<string, UnmanagedTable["kind"]>>> = {
  v: "view",
  m: "materialized view",
  f: "foreign table",
};

async function chosenSchemas(db: Queries, wanted: readonly string[] | undefined): Promise<readonly string[]> {
  if (wanted === undefined) {
    const path = await catalog.searchPath(db);
    return path.filter((name) => !isSystemSchema(name));
  }
  const known = await catalog.schemaNames(db);
  const missing = wanted.find((name) => !known.includes(name));
  if (missing !== undefined)
    throw new ValueError(`the database has no schema ${shown(missing)}${didYouMean(missing, known)}`);
  return wanted;
}

export function isSystemSchema(name: string): boolean {
  return name.startsWith("pg_") || name === "information_schema";
}

/** By the names that they have in a state. */
function chosenRelations(
  rows: readonly catalog.RelationRow[],
  { tables, exclude = [], dots }: ReadOptions,
): Map<string, catalog.RelationRow> {
  const chosen = new Map<string, catalog.RelationRow>();
  for (const row of rows) {
    const names = spellings(row);
    if (row.name === ownTable || names.some((name) => exclude.includes(name))) continue;
    if (tables !== undefined && !names.some((name) => tables.includes(name))) continue;
    if (dots === "skip" && hasDot(row)) continue;
    chosen.set(catalogName(row), row);
  }
  const known = new Set(rows.flatMap(spellings));
  const missing = tables?.find((name) => !known.has(name));
  if (missing !== undefined)
    throw new ValueError(`the database has no table ${shown(missing)}${didYouMean(missing, known)}`);
  return chosen;
}

function spellings({ schema, name, visible }: catalog.RelationRow): string[] {
  return visible ? [name, joinName(schema, name)] : [joinName(schema, name)];
}

/** All enums of the schemas; with a choice of tables, those that they use. */
async function readEnums(
  db: Queries,
  schemas: readonly string[],
  columns: readonly catalog.ColumnRow[],
  usedOnly: boolean,
): Promise<Record<string, readonly string[]>> {
  const used = columns.filter((row) => row.enumName !== null);
  const usedNames = new Set(used.map((row) => joinName(row.enumSchema!, row.enumName!)));
  const rows = await catalog.readEnums(db, [...new Set([...schemas, ...used.map((row) => row.enumSchema!)])]);
  const isTold = (row: catalog.EnumRow): boolean =>
    usedNames.has(joinName(row.schema, row.name)) || (!usedOnly && schemas.includes(row.schema));
  return Object.fromEntries(
    rows.filter((row) => isTold(row) && !hasDot(row)).map((row) => [catalogName(row), row.values]),
  );
}

function byRelation<R extends { readonly relation: string }>(rows: readonly R[]): Map<string, R[]> {
  const groups = new Map<string, R[]>();
  for (const row of rows) {
    const group = groups.get(row.relation);
    if (group) group.push(row);
    else groups.set(row.relation, [row]);
  }
  return groups;
}
