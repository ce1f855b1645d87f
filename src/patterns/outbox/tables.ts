import { silentTables } from "../../durable/blocked-workers.js";
import type { TableSet } from "../../durable/tables.js";

/**
 * States of a message in the outbox:
 * - ready: to be published.
 * - delayed: ready at `due_at`.
 * - failed: its publish failed and is tried again at `due_at`.
 * - stuck: its publish failed too often. A person decides.
 * - held: waits behind a message with its key that has failed or is stuck.
 *
 * A message that was published is deleted, so the table is as large as the backlog. Autovacuum comes early: a queue leaves
 * more dead rows than live ones.
 */
export const outboxTables: TableSet = {
  component: "outbox",
  versions: [
    (schema) => `
create table "${schema}".outbox (
  id bigint generated always as identity primary key,
  broker text not null,
  topic text not null,
  key text,
  message_id text not null,
  headers json not null,
  body text,
  bytes bytea,
  size int not null,
  state text not null default 'ready' check (state in ('ready', 'delayed', 'failed', 'stuck', 'held')),
  attempts int not null default 0,
  replays int not null default 0,
  error text,
  due_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  ready_at timestamptz,
  failed_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index outbox_ready on "${schema}".outbox (broker, id) where state = 'ready';
create index outbox_due on "${schema}".outbox (broker, due_at) where due_at is not null;
create index outbox_failed on "${schema}".outbox (broker, topic, key) where state in ('failed', 'stuck');
create index outbox_held on "${schema}".outbox (broker, topic, key) where state = 'held';

create table "${schema}".outbox_relays (
  broker text primary key,
  owner text,
  token bigint not null default 0,
  lease_until timestamptz not null default '-infinity'
);
`,
    silentTables,
  ],
};

export const inboxTables: TableSet = {
  component: "inbox",
  versions: [
    (schema) => `
create table "${schema}".inbox (
  consumer text not null,
  message_id text not null,
  handled_at timestamptz not null default clock_timestamp(),
  primary key (consumer, message_id)
);
create index inbox_handled on "${schema}".inbox (handled_at);
`,
  ],
};
