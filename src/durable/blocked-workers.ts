/**
 * Workers whose event loop is blocked. Their threads say so (`pulse.ts`), and their leases are not taken during that time,
 * although they are not renewed. A row counts until its time is over; rows that are long over are deleted with the next one.
 */
export function silentTables(schema: string): string {
  return `create table if not exists "${schema}".silent_workers (owner text primary key, until timestamptz not null);`;
}

/** The statement of the thread: $1 is the list of owners, $2 the milliseconds for which it speaks. */
export function silentText(schema: string): string {
  return `with gone as (delete from "${schema}".silent_workers where until < clock_timestamp() - interval '1 hour')
insert into "${schema}".silent_workers (owner, until)
select owner, clock_timestamp() + $2 * interval '1 millisecond' from unnest($1::text[]) as g (owner) order by owner
on conflict (owner) do update set until = excluded.until`;
}

/** The condition of rows whose lease is over or was given back, and whose owner is not just silent. */
export function freeText(schema: string, row: string, now: string): string {
  return `(${row}.lease_until = '-infinity' or ${row}.lease_until <= ${now} and not exists (
    select from "${schema}".silent_workers w where w.owner = ${row}.owner and w.until > ${now}))`;
}
