import { nodeCrypto } from "../../../kit/node-modules.js";

/** The first half of the keys of the advisory locks by which readers see the appends under way. */
function lockClass(schema: string): number {
  return nodeCrypto().createHash("sha256").update(`stoa.events.${schema}`).digest().readUInt32BE() >>> 1;
}

/**
 * Positions come from a sequence, in the order of appends and not of commits: a reader that sees 8 may see 7 later. So a
 * writer takes a shared advisory lock, whose key is the last position given out, before it takes its own positions.
 * The locks that are held name the appends under way, and the lowest of their keys is the high-water mark:
 *
 * - a slow append is not skipped: its lock holds the mark below its positions until it is committed or rolled back;
 * - a rolled-back append leaves a gap that stops no reader: its lock ends with it;
 * - transactions that append nothing do not matter, however long they are.
 *
 * `high_water` reads the sequence first and the locks afterwards. A writer without a lock by then takes its positions
 * later, so they are above what was read. PostgreSQL makes a commit visible before it releases its locks. Ordering by
 * transaction ids instead would put the events of one stream out of order where an older transaction appends later.
 */
export function eventFunctions(schema: string): string {
  return `
create function "${schema}".append_events(
  p_stream text, p_category text, p_expected bigint,
  p_ids uuid[], p_types text[], p_versions int[], p_data text[], p_metadata text[],
  out outcome text, out version bigint, out "position" bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  v_count bigint := cardinality(p_ids);
  v_current bigint;
  v_found bigint;
  v_here bigint;
  v_mark text;
begin
  position := 0;
  -- Before the version is read: events are not moved to the archive between that and the insert.
  lock table "${schema}".events in row exclusive mode;
  loop
    select count(*), count(*) filter (where e.stream = p_stream), max(e.version), max(e.position)
      into v_found, v_here, version, position
      from "${schema}".events e where e.id = any (p_ids);
    if v_found > 0 then
      outcome := case when v_here = v_count then 'known' else 'mixed' end;
      return;
    end if;

    version := ${headOf(schema, "p_stream")};
    position := 0;
    if version = ${archivedHead} then
      outcome := 'archived';
      return;
    end if;
    if not (${fits("p_expected", "version")}) then
      outcome := 'conflict';
      return;
    end if;
    v_current := version;

    -- One lock for a transaction is enough, and a transaction of many appends must not fill the table of locks.
    v_mark := pg_current_xact_id()::text;
    if current_setting('stoa.appending_${schema}', true) is distinct from v_mark then
      perform ${lockText(schema)};
      perform set_config('stoa.appending_${schema}', v_mark, true);
    end if;

    insert into "${schema}".events (position, stream, version, category, id, type, schema_version, data, metadata)
    select nextval('"${schema}".events_position'), p_stream, v_current + n.ord, p_category,
           n.id, n.type, n.schema_version, n.data::jsonb, n.metadata::jsonb
      from unnest(p_ids, p_types, p_versions, p_data, p_metadata)
        with ordinality as n (id, type, schema_version, data, metadata, ord)
      on conflict do nothing;
    get diagnostics v_found = row_count;
    if v_found = v_count then
      outcome := 'stored';
      version := v_current + v_count;
      position := currval('"${schema}".events_position');
      return;
    end if;
    -- Another writer was faster with a version or an id. No part of the append may stay.
    delete from "${schema}".events e where e.stream = p_stream and e.version > v_current and e.id = any (p_ids);
  end loop;
end $$;

create function "${schema}".high_water() returns bigint language plpgsql as $$
declare
  v_last bigint;
  v_lowest bigint;
begin
  v_last := ${lastPosition(schema)};
  -- Keys hold 31 bits of a position; the nearest position with these bits is meant.
  select min(v_last - (mod(mod(v_last - objid::bigint, 2147483648) + 3221225472, 2147483648) - 1073741824))
    into v_lowest
    from pg_locks
   where locktype = 'advisory' and classid = ${lockClass(schema)} and objsubid = 2
     and database = (select oid from pg_database where datname = current_database());
  return least(v_last, v_lowest);
end $$;
`;
}

/**
 * One event, in one statement that is a transaction by itself. It costs less than the function: measured, 1.4 times a plain
 * insert with a check of the version, against 1.7 times. No row is the result where the stream has another version.
 */
export function appendOneText(schema: string): string {
  // Materialized: the planner would otherwise copy the search for the last event into each use of its version.
  return `with l as materialized (select ${lockText(schema)}),
h as materialized (select ${headOf(schema, "$1")} as version)
insert into "${schema}".events (position, stream, version, category, id, type, schema_version, data, metadata)
select nextval('"${schema}".events_position'), $1, h.version + 1, $2, $4, $5, $6, $7::text::jsonb, $8::text::jsonb
from l, h
where ${fits("$3::bigint", "h.version")}
on conflict (stream, version) do nothing returning version, position`;
}

/**
 * Several events, in the same way. There is no `on conflict`: where another writer has added fewer events in between, only
 * some of the rows would be left out.
 */
export function appendSeveralText(schema: string): string {
  return `with l as materialized (select ${lockText(schema)}),
h as materialized (select ${headOf(schema, "$1")} as version),
stored as (
  insert into "${schema}".events (position, stream, version, category, id, type, schema_version, data, metadata)
  select nextval('"${schema}".events_position'), $1, n.head + n.ord, $2, n.id, n.type, n.schema_version,
         n.data::jsonb, n.metadata::jsonb
  from (
    select h.version as head, e.* from l, h, unnest($4::uuid[], $5::text[], $6::int[], $7::text[], $8::text[])
      with ordinality as e (id, type, schema_version, data, metadata, ord)
    where ${fits("$3::bigint", "h.version")} order by e.ord) n
  returning version, position)
select max(version) as version, max(position) as position from stored having count(*) > 0`;
}

export function appendManyText(schema: string): string {
  return `select outcome, version, position from "${schema}".append_events($1, $2, $3, $4, $5, $6, $7, $8)`;
}

/** The head of an archived stream: no expected version fits it. */
const archivedHead = -3;

function headOf(schema: string, stream: string): string {
  return `coalesce(
    (select e.version from "${schema}".events e where e.stream = ${stream} order by e.version desc limit 1),
    (select ${archivedHead}::bigint from "${schema}".archived_streams a where a.stream = ${stream}), 0)`;
}

function fits(expected: string, version: string): string {
  return `case when ${expected} >= 0 then ${version} = ${expected} when ${expected} = -1 then ${version} >= 0 else ${version} > 0 end`;
}

function lockText(schema: string): string {
  return `pg_advisory_xact_lock_shared(${lockClass(schema)}, mod(${lastPosition(schema)}, 2147483648)::int)`;
}

/** The last position that was given out. */
function lastPosition(schema: string): string {
  return `coalesce(pg_sequence_last_value('"${schema}".events_position'), 0)`;
}
