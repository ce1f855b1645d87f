import { setTimeout as delay } from "node:timers/promises";
import type { Database, Transaction } from "../engines/db/database.js";
import { DatabaseError } from "../engines/db/errors.js";
import { boundedTransaction } from "./bounded-transaction.js";

/** The tables of one feature: a script for each version of them, applied in order. */
export interface TableSet {
  readonly component: string;
  /** Each script is applied once, and never changed after a release. */
  readonly versions: readonly ((schema: string) => string)[];
}

/**
 * The milliseconds that a change of tables waits for transactions that use them, and how often it is tried. While it waits,
 * other processes cannot use the tables, not even to renew their leases. They continue between two tries.
 */
const patience = 500;
const mostTries = 120;
const lockNotAvailable = "55P03";

/**
 * Creates the tables of a feature, or brings them up to date. Safe when many processes start at the same time: an
 * advisory lock lets one of them work, and the version row tells the others that there is nothing left to do.
 */
export async function installTables(db: Database, schema: string, set: TableSet): Promise<void> {
  const wanted = set.versions.length;
  if ((await installedVersion(db, schema, set)) === wanted) return;
  for (let tries = 1; ; tries++) {
    try {
      return await install(db, schema, set);
    } catch (error) {
      const inUse = error instanceof DatabaseError && error.sqlstate === lockNotAvailable;
      if (!inUse || tries === mostTries) throw error;
    }
    await delay(patience);
  }
}

function install(db: Database, schema: string, set: TableSet): Promise<void> {
  const wanted = set.versions.length;
  return boundedTransaction(db, async (tx) => {
    await tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`stoa tables ${schema}`]);
    const known = await tx.fetchval("select to_regnamespace($1) is not null", [schema]);
    // Roles without the right to create schemas can still use one that was made for them.
    if (known !== true) await tx.script(`create schema "${schema}"`);
    await tx.script(`create table if not exists "${schema}".versions (
      component text primary key, version int not null, installed_at timestamptz not null default now())`);
    const found = (await installedVersion(tx, schema, set)) ?? 0;
    if (found > wanted) throw newer(schema, set, found);
    if (found > 0) await tx.execute(`set local lock_timeout = ${patience}`);
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
