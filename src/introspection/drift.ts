import type { Queries } from "../engines/db/database.js";
import { type OptionsOf, option, options, type SettingsOf } from "../kit/config.js";
import { is } from "../kit/options.js";
import { splitName } from "../orm/schema/names.js";
import type { SchemaState } from "../orm/schema/state.js";
import { mapValues, tidyState } from "../orm/schema/tidy.js";
import { schemaNames, searchPath } from "./catalog.js";
import { compareStates } from "./compare.js";
import { isSystemSchema, readSchemas } from "./introspect.js";
import { shown } from "./names.js";
import { tryNormalize } from "./normalize.js";

const driftOptions = options("databaseDrift", {
  /** Tables to ignore. */
  exclude: option(is.strings, []),
  /** False: ignores tables and enums that are not expected. */
  unexpected: option(is.boolean, true),
});

export interface DriftOptions extends OptionsOf<typeof driftOptions.fields> {}

/**
 * Lists the differences between a database and a schema, one line each: `table books: column year is text, expected
 * integer`. Expressions that PostgreSQL only writes differently are equal.
 */
export async function databaseDrift(db: Queries, wanted: SchemaState, given?: DriftOptions): Promise<string[]> {
  const settings = driftOptions.read([given]);
  return db.transaction((tx) => driftIn(tx, wanted, settings));
}

async function driftIn(
  db: Queries,
  wanted: SchemaState,
  { exclude, unexpected }: SettingsOf<typeof driftOptions.fields>,
): Promise<string[]> {
  const path = await searchPath(db);
  const excluded = new Set(exclude.flatMap((name) => [name, withoutSchema(name, path)]));
  const expected = withoutTables(asPathTells(tidyState(wanted), path), excluded);
  const { state, problems } = await tryNormalize(db, expected);
  const real = await readSchemas(db, await schemasToRead(db, path, expected), { exclude: [...excluded], dots: "skip" });
  const unmanaged = new Map(Object.entries(real.unmanaged).map(([name, { kind }]) => [name, kind]));
  const otherKinds = Object.keys(state.tables).filter((name) => unmanaged.has(name));
  const refused = problems.filter(({ table }) => table === undefined || Object.hasOwn(real.tables, table));
  return [
    ...refused.map(({ text }) => text),
    ...otherKinds.map((name) => `table ${shown(name)}: is a ${unmanaged.get(name)}, expected a table`),
    ...compareStates(unexpected ? real : onlyExpected(real, state), withoutTables(state, new Set(otherKinds))),
  ];
}

/** Removes the schema from names that the search path leads to, as `introspect` does. */
function asPathTells(state: SchemaState, path: readonly string[]): SchemaState {
  const told = (members: object) => (given: string) => {
    const name = withoutSchema(given, path);
    return Object.hasOwn(members, name) ? given : name;
  };
  const table = told(state.tables);
  return {
    tables: rename(
      mapValues(state.tables, ({ foreignKeys, ...rest }) => ({
        ...rest,
        ...(foreignKeys ? { foreignKeys: mapValues(foreignKeys, (key) => ({ ...key, table: table(key.table) })) } : {}),
      })),
      table,
    ),
    enums: rename(state.enums, told(state.enums)),
    views: rename(state.views ?? {}, told(state.views ?? {})),
  };
}

function withoutSchema(given: string, path: readonly string[]): string {
  const { schema, name } = splitName(given);
  return schema !== undefined && path.includes(schema) ? name : given;
}

async function schemasToRead(db: Queries, path: readonly string[], expected: SchemaState): Promise<string[]> {
  const named = [...Object.keys(expected.tables), ...Object.keys(expected.views ?? {})].map(
    (table) => splitName(table).schema,
  );
  const known = new Set(await schemaNames(db));
  return [...new Set([...path.filter((schema) => !isSystemSchema(schema)), ...named])].filter(
    (schema) => schema !== undefined && known.has(schema),
  ) as string[];
}

function withoutTables(state: SchemaState, names: ReadonlySet<string>): SchemaState {
  return { ...state, tables: Object.fromEntries(Object.entries(state.tables).filter(([name]) => !names.has(name))) };
}

function onlyExpected(state: SchemaState, expected: SchemaState): SchemaState {
  const among = <T>(members: Readonly<Record<string, T>>, wanted: object): Record<string, T> =>
    Object.fromEntries(Object.entries(members).filter(([name]) => Object.hasOwn(wanted, name)));
  return { ...state, tables: among(state.tables, expected.tables), enums: among(state.enums, expected.enums) };
}

function rename<T>(members: Readonly<Record<string, T>>, change: (name: string) => string): Record<string, T> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [change(name), member]));
}
