import type { TableSet } from "../storage/tables.js";

export const sagaTables: TableSet = {
  component: "sagas",
  versions: [
    (schema) => `
create table "${schema}".sagas (
  id text primary key,
  name text not null,
  version int not null,
  status text not null default 'running'
    check (status in ('running', 'compensating', 'completed', 'compensated', 'parked', 'aborted')),
  input jsonb not null,
  results jsonb not null default '{}',
  -- The step that is next; while it is compensated, the step to undo next.
  step int not null default 0,
  attempt int not null default 0,
  -- The step whose action was begun and has not ended.
  inflight text,
  -- Steps whose effect is not known.
  unknown text[] not null default '{}',
  error text,
  cancel boolean not null default false,
  owner text,
  token bigint not null default 0,
  lease_until timestamptz not null default '-infinity',
  wake_at timestamptz not null default clock_timestamp(),
  deadline timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);
create index sagas_due on "${schema}".sagas (greatest(wake_at, lease_until)) where finished_at is null and status <> 'parked';
create index sagas_finished on "${schema}".sagas (finished_at) where finished_at is not null;
create index sagas_created on "${schema}".sagas (created_at desc);

create table "${schema}".saga_log (
  number bigint generated always as identity primary key,
  saga_id text not null references "${schema}".sagas (id) on delete cascade,
  event text not null,
  step text,
  attempt int,
  token bigint not null,
  error text,
  at timestamptz not null default clock_timestamp()
);
create index saga_log_saga on "${schema}".saga_log (saga_id, number);
`,
  ],
};
