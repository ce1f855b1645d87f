import { nodeCrypto } from "../../internal/node-modules.js";
import type { TableSet } from "../storage/tables.js";

/** The first half of the keys of the advisory locks by which readers see the appends under way. */
function lockClass(schema: string): number {
  return nodeCrypto().createHash("sha256").update(`stoa.events.${schema}`).digest().readUInt32BE() >>> 1;
}

/**
 * Positions come from a sequence, in the order of appends and not of commits: a reader that sees 8 may see 7 later. So a
 * writer takes a shared advisory lock, whose key is the last position given out, before it takes positions of its own.
 * The locks that are held name the appends under way, and the lowest of their keys is the high-water mark:
 *
 * - a slow append is not skipped: its lock holds the mark below its positions until it is committed or rolled back;
 * - a rolled-back append leaves a gap that stops nobody: its lock ends with it;
 * - transactions that append nothing do not matter, however long they are.
 *
 * `high_water_1` reads the sequence first and the locks afterwards. A writer without a lock by then takes its positions
 * later, so they are above what was read. PostgreSQL makes a commit visible before it releases its locks. Ordering by
 * transaction ids instead would put the events of one stream out of order where an older transaction appends later.
 */
export const eventTables: TableSet = {
  component: "events",
  versions: [
    (schema) => `
create sequence "${schema}".events_position;

create table "${schema}".streams (
  stream text primary key,
  version bigint not null
);

create table "${schema}".events (
  position bigint primary key,
  stream text not null,
  version bigint not null,
  category text not null,
  id uuid not null,
  type text not null,
  schema_version int not null,
  data jsonb not null,
  metadata jsonb not null,
  recorded_at timestamptz not null default clock_timestamp(),
  constraint events_stream_version unique (stream, version),
  constraint events_id unique (id)
);
create index events_category on "${schema}".events (category, position);

create table "${schema}".snapshots (
  stream text primary key,
  version bigint not null,
  event_id uuid not null,
  schema text not null,
  state text not null,
  checksum text not null,
  taken_at timestamptz not null default clock_timestamp()
);

create table "${schema}".subscriptions (
  name text primary key,
  position bigint not null,
  owner text not null,
  token bigint not null,
  lease_until timestamptz not null,
  updated_at timestamptz not null default clock_timestamp()
);

create table "${schema}".projections (
  name text primary key,
  live text not null,
  build text,
  swapped_at timestamptz not null default clock_timestamp()
);

create function "${schema}".append_events_1(
  p_stream text, p_category text, p_expected bigint,
  p_ids uuid[], p_types text[], p_versions int[], p_data text[], p_metadata text[]
) returns table (outcome text, version bigint, "position" bigint) language plpgsql as $$
#variable_conflict use_column
declare
  v_current bigint;
  v_found bigint;
  v_here bigint;
  v_last bigint;
  v_position bigint;
  v_mark text;
begin
  select s.version into v_current from "${schema}".streams s where s.stream = p_stream for update;
  if not found then
    if p_expected > 0 or p_expected = -2 then
      return query select 'conflict', 0::bigint, 0::bigint;
      return;
    end if;
    insert into "${schema}".streams (stream, version) values (p_stream, 0) on conflict do nothing;
    select s.version into v_current from "${schema}".streams s where s.stream = p_stream for update;
  end if;

  select count(*), count(*) filter (where e.stream = p_stream), max(e.version), max(e.position)
    into v_found, v_here, v_last, v_position
    from "${schema}".events e where e.id = any (p_ids);
  if v_found > 0 then
    if v_here = cardinality(p_ids) then
      return query select 'known', v_last, v_position;
    else
      return query select 'mixed', v_current, 0::bigint;
    end if;
    return;
  end if;

  if (p_expected >= 0 and p_expected <> v_current) or (p_expected = -2 and v_current = 0) then
    return query select 'conflict', v_current, 0::bigint;
    return;
  end if;

  v_mark := pg_current_xact_id()::text;
  if current_setting('stoa.appending_${schema}', true) is distinct from v_mark then
    select case when is_called then last_value else last_value - 1 end into v_last from "${schema}".events_position;
    perform pg_advisory_xact_lock_shared(${lockClass(schema)}, mod(v_last, 2147483648)::int);
    perform set_config('stoa.appending_${schema}', v_mark, true);
  end if;

  insert into "${schema}".events (position, stream, version, category, id, type, schema_version, data, metadata)
  select nextval('"${schema}".events_position'), p_stream, v_current + n.ord, p_category,
         n.id, n.type, n.schema_version, n.data::jsonb, n.metadata::jsonb
    from unnest(p_ids, p_types, p_versions, p_data, p_metadata)
      with ordinality as n (id, type, schema_version, data, metadata, ord);
  update "${schema}".streams s set version = v_current + cardinality(p_ids) where s.stream = p_stream;
  return query select 'stored', v_current + cardinality(p_ids), currval('"${schema}".events_position');
end $$;

create function "${schema}".high_water_1() returns bigint language plpgsql as $$
declare
  v_last bigint;
  v_lowest bigint;
begin
  select case when is_called then last_value else last_value - 1 end into v_last from "${schema}".events_position;
  -- Keys hold 31 bits of a position; the nearest position with these bits is meant.
  select min(v_last - (mod(mod(v_last - objid::bigint, 2147483648) + 3221225472, 2147483648) - 1073741824))
    into v_lowest
    from pg_locks
   where locktype = 'advisory' and classid = ${lockClass(schema)} and objsubid = 2
     and database = (select oid from pg_database where datname = current_database());
  return least(v_last, v_lowest);
end $$;
`,
  ],
};
