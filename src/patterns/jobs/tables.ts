import { silentTables } from "../../durable/blocked-workers.js";
import type { TableSet } from "../../durable/tables.js";

export const jobTables: TableSet = {
  component: "jobs",
  versions: [
    (schema) => `
create table "${schema}".jobs (
  id bigint generated always as identity primary key,
  name text not null,
  key text,
  status text not null default 'waiting' check (status in ('waiting', 'done', 'failed', 'cancelled')),
  value jsonb not null,
  priority smallint not null default 0,
  attempts int not null default 0,
  progress jsonb,
  error text,
  cancel boolean not null default false,
  owner text,
  token bigint not null default 0,
  lease_until timestamptz not null default '-infinity',
  run_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);
create index jobs_due on "${schema}".jobs (name, priority desc, run_at, id) where finished_at is null;
create index jobs_delayed on "${schema}".jobs (name, run_at) where finished_at is null;
create unique index jobs_key on "${schema}".jobs (name, key) where finished_at is null and key is not null;
create index jobs_failed on "${schema}".jobs (id) where status = 'failed';
create index jobs_finished on "${schema}".jobs (finished_at) where finished_at is not null;

create table "${schema}".job_schedules (
  name text primary key,
  schedule text not null,
  next_at timestamptz not null
);
`,
    (schema) => `
-- The headers of the trace that has added the job.
alter table "${schema}".jobs add column if not exists trace jsonb;
`,
    silentTables,
    (schema) => `
-- A claim finds room on the page of its job, and leaves the indexes alone.
alter table "${schema}".jobs set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
`,
    (schema) => `
-- Keys that stand for their job after its end.
create table if not exists "${schema}".job_keys (
  name text not null,
  key text not null,
  job_id bigint not null,
  until timestamptz not null,
  primary key (name, key)
);
create index if not exists job_keys_until on "${schema}".job_keys (until);
-- Attempts whose worker has died or was paused: they are no failures of the job.
alter table "${schema}".jobs add column if not exists lost int not null default 0;
`,
    (schema) => `
-- The begins of jobs that have a limit: those in progress, and those of the last time.
create table if not exists "${schema}".job_starts (
  job_id bigint not null,
  token bigint not null,
  name text not null,
  key text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (job_id, token)
);
create index if not exists job_starts_name on "${schema}".job_starts (name, at);
alter table "${schema}".jobs add column if not exists limit_key text;
create index if not exists jobs_limited on "${schema}".jobs (name, limit_key, priority desc, run_at, id)
  where finished_at is null and limit_key is not null;
-- Names whose jobs are not begun.
create table if not exists "${schema}".job_pauses (name text primary key, since timestamptz not null default clock_timestamp());
`,
  ],
};
