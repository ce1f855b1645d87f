import { NamedLeases } from "../../durable/named-leases.js";
import type { Database, Queries } from "../../engines/db/database.js";
import type { BrokerName, OutgoingRecord } from "../../engines/messaging/broker.js";
import { frameworkHeaders } from "../../engines/messaging/headers.js";
import { sizeOf } from "../../engines/messaging/publish/size.js";
import { ValueError } from "../../kit/value-error.js";

/** A message that the relay is to publish. */
export interface StoredMessage {
  readonly id: number;
  readonly message_id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly bytes: Uint8Array | null;
  readonly stored_at: number;
  readonly state: "ready" | "failed";
  readonly attempts: number;
  /** True if a message with its key has failed, or waits behind one that had. */
  readonly blocked: boolean;
}

/** A message that was not published. */
export interface Failure {
  readonly id: number;
  readonly error: string;
  /** Milliseconds until the next attempt; null for a message that is stuck. */
  readonly pause: number | null;
}

/** The outcome of a batch. */
export interface Settlement {
  readonly published: readonly number[];
  readonly failed: readonly Failure[];
  /** Messages behind one that failed. */
  readonly held: readonly number[];
}

/** The right to publish after a settlement. */
export interface SettledLease {
  readonly held: boolean;
  /** Milliseconds until the next delayed or failed message is due; null if there is none. */
  readonly nextDue: number | null;
}

/** Bytes of the messages that are read or stored at a time. */
const mostBytes = 8 * 1024 * 1024;
/** The most messages that one statement stores. */
const insertAtOnce = 1000;
const failedAtOnce = 100;
const promotedAtOnce = 10_000;
/** Bytes of a key. An index takes 2704 with the topic, and a failed message that it refuses would stop the relay. */
const longestKey = 2400;

const fields = `o.id, o.message_id, o.topic, o.key, o.headers, o.body, o.bytes, o.state, o.attempts,
  (extract(epoch from o.created_at) * 1000)::float8 as stored_at`;

/** The statements of the relay. Each change checks the token of its lease. */
export class OutboxStorage {
  readonly table: string;
  readonly relays: string;
  /** The right to publish the messages of a broker: one process has it at a time. */
  readonly leases: NamedLeases<{ readonly token: number }>;

  constructor(
    readonly db: Database,
    schema: string,
  ) {
    this.table = `"${schema}".outbox`;
    this.relays = `"${schema}".outbox_relays`;
    this.leases = new NamedLeases(db, schema, "outbox_relays", "broker");
  }

  /** Stores records, in this order. */
  async insert(broker: BrokerName, records: readonly OutgoingRecord[], within: Queries): Promise<void> {
    for (const rows of chunksOf(records.map(rowOf))) {
      await (rows.length === 1 ? this.#insertOne(broker, rows[0]!, within) : this.#insertAll(broker, rows, within));
    }
  }

  async #insertOne(broker: BrokerName, row: NewRow, within: Queries): Promise<void> {
    const { topic, key, id, headers, body, bytes, size, delay } = row;
    const [columns, values] =
      delay > 0
        ? [", state, due_at", ", 'delayed', clock_timestamp() + $9::float8 * interval '1 millisecond'"]
        : ["", ""];
    await within.execute(
      `insert into ${this.table} (broker, topic, key, message_id, headers, body, bytes, size${columns})
       values ($1, $2, $3, $4, $5, $6, $7, $8${values})`,
      [broker, topic, key, id, headers, body, bytes, size, ...(delay > 0 ? [delay] : [])],
    );
  }

  async #insertAll(broker: BrokerName, rows: readonly NewRow[], within: Queries): Promise<void> {
    // One parameter: arrays of each column would be written and read element by element.
    const json = JSON.stringify(rows.map((row) => ({ ...row, bytes: row.bytes && toBase64(row.bytes) })));
    await within.execute(
      `insert into ${this.table} (broker, topic, key, message_id, headers, body, bytes, size, state, due_at)
       select $1, topic, key, id, headers::json, body, decode(bytes, 'base64'), size,
         case when delay > 0 then 'delayed' else 'ready' end,
         case when delay > 0 then clock_timestamp() + delay * interval '1 millisecond' end
       from rows from (json_to_recordset($2::json) as (topic text, key text, id text, headers text, body text, bytes text,
         size int, delay float8)) with ordinality as r (topic, key, id, headers, body, bytes, size, delay, n)
       order by n`,
      [broker, json],
    );
  }

  /** The oldest messages that are ready and whose topic does not rest, as far as they are not too large together. */
  ready(broker: BrokerName, limit: number, resting: readonly string[]): Promise<StoredMessage[]> {
    return this.db.fetch<StoredMessage>(
      `select ${fields}, o.key is not null and exists (select from ${this.table} f
         where f.broker = o.broker and f.topic = o.topic and f.key = o.key and f.state in ('failed', 'stuck'))
         or o.key is not null and exists (select from ${this.table} h
         where h.broker = o.broker and h.topic = o.topic and h.key = o.key and h.state = 'held' and h.id < o.id) as blocked
       from (select *, sum(size) over (order by id) - size as before
         from (select * from ${this.table} where broker = $1 and state = 'ready' and topic <> all($3::text[])
           order by id limit $2) r) o
       where o.before < ${mostBytes} order by o.id`,
      [broker, limit, resting],
    );
  }

  /** Milliseconds until the next delayed or failed message is due; null if there is none. */
  nextDue(broker: BrokerName): Promise<number | null> {
    return this.db.fetchval<number>(`select ${this.#dueIn}`, [broker]);
  }

  /** Messages that have failed and are due again. */
  failedAndDue(broker: BrokerName, resting: readonly string[]): Promise<StoredMessage[]> {
    return this.db.fetch<StoredMessage>(
      `select ${fields}, false as blocked
       from (select *, sum(size) over (order by id) - size as before
         from (select * from ${this.table} where broker = $1 and state = 'failed' and due_at <= statement_timestamp()
           and topic <> all($2::text[]) order by id limit ${failedAtOnce}) r) o
       where o.before < ${mostBytes} order by o.id`,
      [broker, resting],
    );
  }

  /** Makes messages ready whose delay is over. */
  async promote(broker: BrokerName): Promise<void> {
    await this.db.execute(
      `update ${this.table} set state = 'ready', due_at = null, ready_at = clock_timestamp()
       where id = any (array(select id from ${this.table}
         where broker = $1 and state = 'delayed' and due_at <= statement_timestamp() order by due_at limit ${promotedAtOnce}))`,
      [broker],
    );
  }

  /** The clock of the database, in seconds. */
  async clock(): Promise<number> {
    return (await this.db.fetchval<number>("select extract(epoch from clock_timestamp())::float8"))!;
  }

  /**
   * Moves the times of messages that were stored or failed in the future, as they are after the clock of the database was set
   * back: the latest of them to the present, the others by as much.
   */
  async afterSetBack(broker: BrokerName): Promise<void> {
    await this.db.execute(
      `with f as materialized (
         select id, greatest(created_at, failed_at) - statement_timestamp() as ahead from ${this.table}
         where broker = $1 and due_at is not null
           and greatest(created_at, failed_at) > statement_timestamp() + interval '10 seconds'
         order by id for update),
       t as materialized (select statement_timestamp() as now, max(ahead) as ahead from f)
       update ${this.table} o set due_at = due_at - t.ahead, created_at = least(created_at, now), failed_at = least(failed_at, now)
       from f, t where o.id = f.id`,
      [broker],
    );
  }

  /** Makes messages ready that nothing holds any more. */
  async releaseHeld(broker: BrokerName): Promise<number> {
    const { rowCount } = await this.db.execute(
      `update ${this.table} o set state = 'ready' where o.broker = $1 and o.state = 'held' and not exists (
         select from ${this.table} f
         where f.broker = o.broker and f.topic = o.topic and f.key = o.key and f.state in ('failed', 'stuck'))`,
      [broker],
    );
    return rowCount;
  }

  /**
   * Records the outcome of a batch and renews the lease, in one statement: nothing is changed if another process is the
   * relay now. The row lock on the lease makes that decision final until the statement is committed.
   */
  async settle(
    broker: BrokerName,
    token: number,
    leaseMs: number,
    { published, failed, held }: Settlement,
  ): Promise<SettledLease> {
    const rare = failed.length + held.length > 0;
    const row = await this.db.fetchrow<{ held: boolean; next_due: number | null }>(
      `with lease as (
         update ${this.relays} set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
         where broker = $1 and token = $2 returning 1),
       published as (
         delete from ${this.table} where id = any($4::bigint[]) and exists (select from lease))
       ${rare ? this.#rare() : ""}
       select exists (select from lease) as held, ${this.#dueIn} as next_due`,
      [
        broker,
        token,
        leaseMs,
        published,
        ...(rare
          ? [failed.map(({ id }) => id), failed.map(({ error }) => error), failed.map(({ pause }) => pause), held]
          : []),
      ],
      { timeout: leaseMs / 1000 },
    );
    return { held: row!.held, nextDue: row!.next_due };
  }

  get #dueIn(): string {
    return `(select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8
         from ${this.table} where broker = $1 and due_at is not null)`;
  }

  #rare(): string {
    return `, failed as (
         update ${this.table} o set state = case when f.pause is null then 'stuck' else 'failed' end,
           attempts = attempts + 1, error = f.error, failed_at = clock_timestamp(),
           due_at = clock_timestamp() + f.pause * interval '1 millisecond'
         from unnest($5::bigint[], $6::text[], $7::float8[]) as f (id, error, pause)
         where o.id = f.id and exists (select from lease)),
       held as (
         update ${this.table} set state = 'held', due_at = null where id = any($8::bigint[]) and exists (select from lease))`;
  }
}

type NewRow = ReturnType<typeof rowOf>;

/** The rows in parts that one statement can store. */
function* chunksOf(rows: readonly NewRow[]): Generator<readonly NewRow[]> {
  for (let at = 0; at < rows.length; ) {
    let [end, bytes] = [at, 0];
    while (end < rows.length && end - at < insertAtOnce && (end === at || bytes < mostBytes))
      bytes += rows[end++]!.size;
    yield rows.slice(at, end);
    at = end;
  }
}

function rowOf(record: OutgoingRecord) {
  const { topic, id, key, delayMs, body } = record;
  if (key !== null) checkKey(key);
  const text = record.headers[frameworkHeaders.contentType] === "application/json" ? textOf(body) : null;
  return {
    topic,
    id,
    // JSON can hold half of a surrogate pair, PostgreSQL cannot.
    key: key?.toWellFormed() ?? null,
    delay: delayMs,
    headers: JSON.stringify(record.headers),
    body: text,
    bytes: text === null ? body : null,
    size: sizeOf(record),
  };
}

function checkKey(key: string): void {
  if (key.includes("\0")) throw new ValueError("the key of a message in the outbox must not contain U+0000");
  if (key.length * 3 <= longestKey || Buffer.byteLength(key) <= longestKey) return;
  throw new ValueError(`a key in the outbox has at most ${longestKey} bytes`);
}

function toBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Text that operators can read in the table. Null for bytes that only claim to be JSON, and for text with U+0000. */
function textOf(body: Uint8Array): string | null {
  if (body.includes(0)) return null;
  try {
    return decoder.decode(body);
  } catch {
    return null;
  }
}
