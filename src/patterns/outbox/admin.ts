import { mostCounted } from "../../durable/retention.js";
import type { Database } from "../../engines/db/database.js";
import type { BrokerName } from "../../engines/messaging/broker.js";
import { assertChoice } from "../../kit/options.js";
import {
  filterOptions,
  type OutboxFailure,
  type OutboxFilter,
  type OutboxMessage,
  type OutboxState,
  type OutboxStatus,
} from "./message.js";
import type { OutboxStorage } from "./storage.js";

/** Equal for messages that fail in the same way: the error without its numbers, as for dead letters. */
const failure = `left(regexp_replace(error, '[0-9]+', '#', 'g'), 200)`;
const chosen = `state in ('failed', 'stuck') and ($1::text[] is null or message_id = any($1)) and ($2::text is null or ${failure} = $2)
  and ($3::text is null or topic = $3)`;

const statusAge = 1000;

/** The outbox for operators: its backlog, and the messages that cannot be published. */
export class OutboxAdmin {
  readonly #db: Database;
  readonly #storage: OutboxStorage;
  readonly #ring: () => void;
  #status: { readonly at: number; readonly value: Promise<OutboxStatus> } | null = null;

  constructor(db: Database, storage: OutboxStorage, ring: () => void) {
    this.#db = db;
    this.#storage = storage;
    this.#ring = ring;
  }

  /** The backlog. Callers within a second share one look. */
  status(): Promise<OutboxStatus> {
    if (this.#status === null || performance.now() - this.#status.at > statusAge) {
      this.#status = { at: performance.now(), value: this.#readStatus() };
    }
    return this.#status.value;
  }

  /** Messages that have failed or are stuck, the oldest first. */
  async list(filter?: OutboxFilter): Promise<OutboxMessage[]> {
    const { limit, params } = readFilter("outbox.list()", filter);
    return this.#db.fetch<OutboxMessage>(
      `select message_id as id, broker, topic, key, state, headers, body as text, size, attempts, replays, error,
         ${failure} as failure, due_at as "dueAt", created_at as "storedAt", failed_at as "failedAt"
       from ${this.#storage.table} where ${chosen} order by ${this.#storage.table}.id limit $4`,
      [...params, limit],
    );
  }

  /** The failures with the number of their messages, most frequent first. */
  failures(): Promise<OutboxFailure[]> {
    return this.#db.fetch<OutboxFailure>(
      `select ${failure} as failure, topic, max(error) as error, count(*)::int as count,
         (count(*) filter (where state = 'stuck'))::int as stuck, max(replays) as replays, min(failed_at) as first, max(failed_at) as last
       from ${this.#storage.table} where state in ('failed', 'stuck') group by 1, 2 order by count(*) desc, 1 limit 1000`,
    );
  }

  /** Tries to publish messages again at once, with all attempts before them. Resolves to the number. */
  async retry(filter: OutboxFilter): Promise<number> {
    const { limit, params } = readFilter("outbox.retry()", filter);
    const { rowCount } = await this.#db.execute(
      `update ${this.#storage.table} set state = 'failed', attempts = 0, replays = replays + 1, due_at = created_at
       where id in (select id from ${this.#storage.table} where ${chosen} order by id limit $4 for update)`,
      [...params, limit],
    );
    this.#ring();
    return rowCount;
  }

  /** Deletes messages that cannot be published. Those behind them continue. Resolves to the number. */
  async discard(filter: OutboxFilter): Promise<number> {
    assertChoice("outbox.discard()", filter, filterOptions.readGiven([filter], "outbox.discard()"));
    const { limit, params } = readFilter("outbox.discard()", filter);
    const gone = await this.#db.fetch<{ broker: BrokerName }>(
      `delete from ${this.#storage.table}
       where id in (select id from ${this.#storage.table} where ${chosen} order by id limit $4 for update)
       returning broker`,
      [...params, limit],
    );
    for (const broker of new Set(gone.map((row) => row.broker))) await this.#storage.releaseHeld(broker);
    this.#ring();
    return gone.length;
  }

  /** Messages that are to be published now; not shared with other callers. */
  async ready(): Promise<number> {
    return (await this.#readStatus()).ready;
  }

  async #readStatus(): Promise<OutboxStatus> {
    const { table } = this.#storage;
    const row = await this.#db.fetchrow<{ counts: Partial<Record<OutboxState, number>> | null; lag: number | null }>(
      `select (select json_object_agg(state, n) from (
           select state, count(*) as n from (select state from ${table} limit ${mostCounted}) s group by state) c) as counts,
         (select max(age) from (
           select distinct broker from (select broker from ${table} where state = 'ready' limit ${mostCounted}) b) brokers,
           lateral (select extract(epoch from clock_timestamp() - coalesce(ready_at, created_at))::float8 as age from ${table}
             where broker = brokers.broker and state = 'ready' order by id limit 1) oldest) as lag`,
    );
    const none = { ready: 0, delayed: 0, failed: 0, stuck: 0, held: 0 };
    return { ...none, ...row?.counts, lag: Math.max(0, row?.lag ?? 0) };
  }
}

function readFilter(call: string, filter: unknown): { readonly limit: number; readonly params: readonly unknown[] } {
  const { ids = null, failure = null, topic = null, limit } = filterOptions.read([filter], call);
  return { limit, params: [ids, failure, topic] };
}
