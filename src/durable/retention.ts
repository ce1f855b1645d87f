import type { Database } from "../engines/db/database.js";

export interface Retention {
  /** Seconds. */
  readonly age: number;
  readonly count: number;
}

/** Rows of a kind that are counted at most: a backlog must not make its own measuring slow. */
export const mostCounted = 100_000;

/** Rows deleted in one statement: a table that was never cleaned must not be locked for long. */
export const atOnce = 1000;

/** The most ids and keys that are kept after the end of their work. */
export const mostKept = 1_000_000;

/** Deletes finished rows that are older than the limit, or beyond the number that is kept. */
export async function deleteFinished(db: Database, table: string, { age, count }: Retention): Promise<number> {
  return inBatches(
    db,
    `delete from ${table} where id in (
       select id from ${table}
       where finished_at <= statement_timestamp() - $1 * interval '1 second'
         or (finished_at, id) <= (select finished_at, id from ${table} where finished_at is not null
           order by finished_at desc, id desc offset $2 limit 1)
       order by finished_at limit ${atOnce} for update skip locked)`,
    [age, count],
  );
}

/** Deletes rows whose time (`until`) is over, and the earliest ones beyond the number that is kept. */
export function deleteKept(db: Database, table: string, count: number): Promise<number> {
  return inBatches(
    db,
    `delete from ${table} where ctid = any (array(
       select ctid from ${table}
       where until <= greatest(statement_timestamp(), (select until from ${table} order by until desc offset $1 limit 1))
       order by until limit ${atOnce} for update skip locked))`,
    [count],
  );
}

/** Repeats a statement that changes up to `atOnce` rows until none are left. Returns the number of rows. */
export async function inBatches(db: Database, text: string, params: readonly unknown[]): Promise<number> {
  for (let total = 0; ; ) {
    const { rowCount } = await db.execute(text, params);
    total += rowCount;
    if (rowCount < atOnce) return total;
  }
}
