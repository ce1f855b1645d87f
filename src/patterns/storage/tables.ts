import type { Database, Transaction } from "../../engines/db/database.js";
import { boundedTransaction } from "./bounded-transaction.js";

/** The tables of one feature: a script for each version of them, applied in order. */
export interface TableSet {
  readonly component: string;
  /** Each script is applied once, and never changed after a release. */
  readonly versions: readonly ((schema: string) => string)[];
}

/**
 * Creates the tables of a feature, or brings them up to date. Safe when many processes start at the same time: an
 * advisory lock lets one of them work, and the version row tells the others that there is nothing left to do.
 */
export async function installTables(db: Database, schema: string, set: TableSet): Promise<void> {
  const wanted = set.versions.length;
  if ((await installedVersion(db, schema, set)) === wanted) return;
  await boundedTransaction(db, async (tx) => {
    await tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`stoa tables ${schema}`]);
    const known = await tx.fetchval("select to_regnamespace($1) is not null", [schema]);
    // Roles without the right to create schemas can still use one that was made for them.
    if (known !== true) await tx.script(`create schema "${schema}"`);
    await tx.script(`create table if not exists "${schema}".versions (
      component text primary key, version int not null, installed_at timestamptz not null default now())`);
    const found = (await installedVersion(tx, schema, set)) ?? 0;
    if (found > wanted) throw newer(schema, set, found);
    for (const script of set.versions.slice(found)) await tx.script(script(schema));
    await tx.execute(
      `insert into "${schema}".versions (component, version) values ($1, $2)
       on conflict (component) do update set version = excluded.version, installed_at = now()`,
      [set.component, wanted],
    );
  });
}

async function installedVersion(
  queries: Database | Transaction,
  schema: string,
  set: TableSet,
): Promise<number | null> {
  const exists = await queries.fetchval("select to_regclass($1) is not null", [`"${schema}".versions`]);
  if (exists !== true) return null;
  const version = await queries.fetchval<number>(`select version from "${schema}".versions where component = $1`, [
    set.component,
  ]);
  if (version !== null && version > set.versions.length) throw newer(schema, set, version);
  return version;
}

function newer(schema: string, { component, versions }: TableSet, found: number): Error {
  return new Error(
    `the tables of ${component} in the schema "${schema}" have version ${found}, made by a newer stoa; this one knows ${versions.length}`,
  );
}
