import { silentTables } from "../../../durable/blocked-workers.js";
import type { TableSet } from "../../../durable/tables.js";
import { eventFunctions } from "./postgres-functions.js";

/**
 * The version of a stream is that of its last event: the unique constraint on stream and version is the optimistic check,
 * and an append writes no row but its events. Events of archived streams are in a separate table, so that the indexes
 * of the hot one stay small.
 */
export const eventTables: TableSet = {
  component: "events",
  versions: [
    (schema) => `
create sequence "${schema}".events_position;

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

create table "${schema}".archived_events (
  like "${schema}".events including defaults,
  primary key (position),
  unique (stream, version)
);
create index on "${schema}".archived_events (category, position);

create table "${schema}".archived_streams (
  stream text primary key,
  version bigint not null,
  archived_at timestamptz not null default clock_timestamp()
);

create table "${schema}".snapshots (
  stream text primary key,
  version bigint not null,
  event_id uuid not null,
  schema text not null,
  state text not null,
  checksum text not null,
  taken_at timestamptz not null default clock_timestamp()
);

create table "${schema}".personal_keys (
  id text primary key,
  subject text not null unique,
  master text not null,
  wrapped text not null,
  created_at timestamptz not null default clock_timestamp()
);

create table "${schema}".personal_streams (
  subject text not null,
  stream text not null,
  forgotten_at timestamptz,
  primary key (subject, stream)
);
create index on "${schema}".personal_streams (stream) where forgotten_at is not null;

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
  live_shards int not null default 1,
  build text,
  build_shards int not null default 1,
  swapped_at timestamptz not null default clock_timestamp()
);
${eventFunctions(schema)}`,
    silentTables,
  ],
};
