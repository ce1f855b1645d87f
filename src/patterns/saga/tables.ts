import { silentTables } from "../../durable/blocked-workers.js";
import type { TableSet } from "../../durable/tables.js";

export const sagaTables: TableSet = {
  component: "sagas",
  versions: [
    (schema) => `
create table "${schema}".sagas (
  id text primary key,
  -- The saga that waits for this one, and is deleted together with it.
  parent_id text references "${schema}".sagas (id) on delete cascade,
  name text not null,
  version int not null,
  status text not null default 'running'
    check (status in ('running', 'compensating', 'completed', 'compensated', 'parked', 'aborted')),
  -- The status before it was parked because no worker knows its version.
  parked_from text,
  input jsonb not null,
  results jsonb not null default '{}',
  -- The unit that is next; while it is compensated, the unit to undo next.
  step int not null default 0,
  attempt int not null default 0,
  -- Attempts of steps that run at the same time, by name.
  branches jsonb not null default '{}',
  -- Steps whose action was begun and has not ended.
  inflight text[] not null default '{}',
  -- Steps whose effect is not known.
  unknown text[] not null default '{}',
  error text,
  cancel boolean not null default false,
  -- The address in the inbox that it waits for, or a text without a message for sleep and children.
  waiting_for text,
  waiting_since timestamptz,
  wait_until timestamptz,
  owner text,
  token bigint not null default 0,
  lease_until timestamptz not null default '-infinity',
  wake_at timestamptz not null default clock_timestamp(),
  deadline timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
) with (fillfactor = 70);
create index sagas_due on "${schema}".sagas (greatest(wake_at, lease_until)) where finished_at is null and status <> 'parked';
create index sagas_finished on "${schema}".sagas (finished_at) where finished_at is not null and parent_id is null;
create index sagas_created on "${schema}".sagas (created_at desc);
create index sagas_waiting on "${schema}".sagas (waiting_for) where waiting_for is not null;
create index sagas_parent on "${schema}".sagas (parent_id) where parent_id is not null;
create index sagas_open on "${schema}".sagas (status, created_at) where finished_at is null;

create table "${schema}".saga_log (
  saga_id text not null references "${schema}".sagas (id) on delete cascade,
  number bigint generated always as identity,
  event text not null,
  step text,
  attempt int,
  token bigint not null,
  error text,
  at timestamptz not null default clock_timestamp(),
  primary key (saga_id, number)
);

create table "${schema}".saga_inbox (
  number bigint generated always as identity primary key,
  -- Signals are for one saga, and are deleted together with it.
  saga_id text references "${schema}".sagas (id) on delete cascade,
  address text not null,
  -- The id of the message: one that is delivered again is not kept twice.
  source_id text,
  value jsonb not null,
  -- The saga that has it.
  taken_by text,
  at timestamptz not null default clock_timestamp()
);
create index saga_inbox_open on "${schema}".saga_inbox (address, number) where taken_by is null;
create unique index saga_inbox_source on "${schema}".saga_inbox (address, source_id) where source_id is not null;
create index saga_inbox_saga on "${schema}".saga_inbox (saga_id) where saga_id is not null;
create index saga_inbox_at on "${schema}".saga_inbox (at) where saga_id is null;
create index saga_inbox_messages on "${schema}".saga_inbox (number) where saga_id is null;
`,
    (schema) => `
-- The headers of the trace that has started the saga.
alter table "${schema}".sagas add column if not exists trace jsonb;
`,
    silentTables,
    (schema) => `
-- The kinds and names of the parts of the definition that it was started with.
alter table "${schema}".sagas add column if not exists steps text;
`,
    (schema) => `
-- False for an id that was made up: nobody starts it again.
alter table "${schema}".sagas add column if not exists given_id boolean not null default true;
-- The ids of executions that were deleted.
create table if not exists "${schema}".saga_ids (
  id text primary key,
  name text not null,
  input_hash bytea not null,
  until timestamptz not null
);
-- Attempts without an end, because their driver was lost: they are no failures of the step.
alter table "${schema}".sagas add column if not exists lost int not null default 0;
create index if not exists saga_ids_until on "${schema}".saga_ids (until);
`,
    (schema) => `
-- Those that wait are counted apart from those that run.
drop index if exists "${schema}".sagas_open;
create index sagas_open on "${schema}".sagas (status, (waiting_for is not null)) where finished_at is null;
`,
    (schema) => `
-- With the column itself, they are counted without their rows.
drop index if exists "${schema}".sagas_open;
create index sagas_open on "${schema}".sagas (status, waiting_for) where finished_at is null;
-- Values by which executions are found.
alter table "${schema}".sagas add column if not exists attributes jsonb;
create index if not exists sagas_attributes on "${schema}".sagas using gin (attributes jsonb_path_ops) where attributes is not null;
`,
  ],
};
