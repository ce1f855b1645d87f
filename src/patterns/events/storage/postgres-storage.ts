import { Doorbell } from "../../../durable/doorbell.js";
import type { ShownLease } from "../../../durable/lease-panel.js";
import { NamedLeases } from "../../../durable/named-leases.js";
import { installTables } from "../../../durable/tables.js";
import type { Database, Queries, Transaction } from "../../../engines/db/database.js";
import { UniqueViolation } from "../../../engines/db/errors.js";
import type { Logger } from "../../../kit/logger.js";
import { categoryOf } from "../event.js";
import { workerPrefix } from "../share.js";
import { PostgresArchive } from "./postgres-archive.js";
import { appendManyText, appendOneText, appendSeveralText } from "./postgres-functions.js";
import { PostgresReads } from "./postgres-reads.js";
import { eventTables } from "./postgres-tables.js";
import type {
  AppendOutcome,
  CheckpointStep,
  Claim,
  EventStorage,
  EventToStore,
  FinishedPart,
  FinishedStreams,
  ReadFilter,
  ReplayedEvent,
  StoredEvent,
  StoredSnapshot,
  StreamRange,
  SubscriptionState,
} from "./storage.js";

/** The other rows only tell that a worker lives. */
const isWork = `not starts_with(name, '${workerPrefix}') and not starts_with(name, 'projection-worker:')`;

/** Events in PostgreSQL or PGlite. Every call takes part in the transaction around it, or in the one it is given. */
export class PostgresStorage implements EventStorage {
  readonly #db: Database;
  readonly #schema: string;
  readonly #doorbell: Doorbell;
  readonly #appendOne: string;
  readonly #appendSeveral: string;
  readonly #appendMany: string;
  readonly #reads: PostgresReads;
  readonly #archive: PostgresArchive;
  readonly #leases: NamedLeases<Claim>;

  constructor(db: Database, schema: string, logger: Logger) {
    this.#db = db;
    this.#schema = schema;
    this.#doorbell = new Doorbell(db, `${schema}_events`, logger);
    this.#appendOne = appendOneText(schema);
    this.#appendSeveral = appendSeveralText(schema);
    this.#appendMany = appendManyText(schema);
    this.#reads = new PostgresReads(schema);
    this.#archive = new PostgresArchive(db, schema);
    this.#leases = new NamedLeases(db, schema, "subscriptions", "name", "position");
  }

  async open(): Promise<void> {
    await installTables(this.#db, this.#schema, eventTables);
    await this.#doorbell.open();
  }

  close(): Promise<void> {
    return this.#doorbell.close();
  }

  onChange(listener: () => void): () => void {
    return this.#doorbell.onRing(listener);
  }

  async append(
    stream: string,
    expected: number,
    events: readonly EventToStore[],
    within: Queries = this.#db.current,
  ): Promise<AppendOutcome> {
    const values =
      events.length === 1 ? oneEvent(stream, expected, events[0]!) : severalEvents(stream, expected, events);
    const stored = within.kind === "database" ? await this.#store(values, events.length) : null;
    if (stored !== null) {
      this.#doorbell.ring();
      return stored;
    }
    const row = await within.fetchrow<AppendOutcome>(this.#appendMany, severalEvents(stream, expected, events));
    if (row!.outcome === "stored") this.#doorbell.ringAfter(within);
    return row!;
  }

  /** Stores events in a separate statement; null if the function has to find out why that is not possible. */
  async #store(values: readonly unknown[], count: number): Promise<AppendOutcome | null> {
    const text = count === 1 ? this.#appendOne : this.#appendSeveral;
    try {
      const row = await this.#db.fetchrow<{ version: number; position: number }>(text, values);
      return row && { outcome: "stored", version: row.version, position: row.position };
    } catch (error) {
      if (error instanceof UniqueViolation) return null;
      throw error;
    }
  }

  readStream(stream: string, range: StreamRange, within: Queries = this.#db.current): Promise<StoredEvent[]> {
    return this.#reads.stream(stream, range, within);
  }

  replay(stream: string, range: StreamRange, within: Queries = this.#db.current): Promise<ReplayedEvent[]> {
    return this.#reads.replay(stream, range, within);
  }

  readAll(filter: ReadFilter, from: number, upTo: number, backwards: boolean, limit: number): Promise<StoredEvent[]> {
    return this.#reads.all(filter, { from, upTo, backwards, limit }, this.#db.current);
  }

  archive(stream: string): Promise<number> {
    return this.#archive.archive(stream);
  }

  restore(stream: string): Promise<number> {
    return this.#archive.restore(stream);
  }

  truncate(stream: string, before: number, keep: boolean): Promise<number> {
    return this.#archive.truncate(stream, before, keep);
  }

  finished(policy: FinishedStreams, from: number): Promise<FinishedPart> {
    return this.#archive.finished(policy, from);
  }

  async streamVersion(stream: string): Promise<number> {
    const text = `select max(version) from ${this.#table("events")} where stream = $1`;
    return (await this.#db.current.fetchval<number>(text, [stream])) ?? 0;
  }

  async highWaterMark(): Promise<number> {
    return (await this.#db.current.fetchval<number>(`select "${this.#schema}".high_water()`))!;
  }

  loadSnapshot(stream: string, within: Queries = this.#db.current): Promise<StoredSnapshot | null> {
    return within.fetchrow<StoredSnapshot & object>(
      `select s.version, s.event_id as "eventId", s.schema, s.state, s.checksum
       from ${this.#table("snapshots")} s join ${this.#table("events")} e
         on e.stream = s.stream and e.version = s.version and e.id = s.event_id
       where s.stream = $1`,
      [stream],
    );
  }

  async saveSnapshot(stream: string, { version, eventId, schema, state, checksum }: StoredSnapshot): Promise<void> {
    // A worker may still have the data in memory of a person who was forgotten, and whose streams have no snapshots for a while.
    // Of two writers the one with fewer events must not win. One that replaces an unusable snapshot has another checksum.
    await this.#db.execute(
      `insert into ${this.#table("snapshots")} as s (stream, version, event_id, schema, state, checksum)
       select $1, $2, $3, $4, $5, $6
       where not exists (select from ${this.#table("personal_streams")} p
         where p.stream = $1 and p.forgotten_at > clock_timestamp() - interval '1 hour')
       on conflict (stream) do update set version = excluded.version, event_id = excluded.event_id,
         schema = excluded.schema, state = excluded.state, checksum = excluded.checksum, taken_at = clock_timestamp()
       where (s.version < excluded.version or s.schema <> excluded.schema or s.event_id <> excluded.event_id)
         and (s.schema <> '' or s.taken_at <= clock_timestamp() - interval '1 hour')`,
      [stream, version, eventId, schema, state, checksum],
    );
  }

  /**
   * A row without a schema takes the place of a snapshot. A delete would not be enough: a snapshot that is written at the same
   * time is not there yet. With the row it waits for the end of this transaction, and then finds its place taken.
   */
  async forbidSnapshots(streams: readonly string[]): Promise<void> {
    await this.#db.current.execute(
      `insert into ${this.#table("snapshots")} (stream, version, event_id, schema, state, checksum)
       select stream, 0, '00000000-0000-0000-0000-000000000000', '', '', '' from unnest($1::text[]) as g (stream) order by stream
       on conflict (stream) do update set version = excluded.version, event_id = excluded.event_id,
         schema = excluded.schema, state = excluded.state, checksum = excluded.checksum, taken_at = clock_timestamp()`,
      [streams],
    );
  }

  afterCommit(run: () => void, within: Queries = this.#db.current): void {
    if (within.kind === "transaction") (within as Transaction).onCommit(run);
    else run();
  }

  claim(name: string, owner: string, leaseMs: number, start: number): Promise<Claim | null> {
    return this.#leases.claim(name, owner, leaseMs, start);
  }

  renew(name: string, token: number, leaseMs: number): Promise<boolean> {
    return this.#leases.renew(name, token, leaseMs);
  }

  async advance(name: string, token: number, position: number, within?: CheckpointStep): Promise<boolean> {
    const { rowCount } = await (within?.tx ?? this.#db).execute(
      `update ${this.#table("subscriptions")} set position = greatest(position, $3), updated_at = clock_timestamp()
       where name = $1 and token = $2${within === undefined ? "" : " and position = $4"}`,
      [name, token, position, ...(within === undefined ? [] : [within.from])],
    );
    return rowCount === 1;
  }

  async noteHandled(name: string, from: number, position: number): Promise<void> {
    await this.#db.execute(
      `update ${this.#table("subscriptions")} set position = $3, updated_at = clock_timestamp()
       where name = $1 and position >= $2 and position < $3`,
      [name, from, position],
    );
  }

  async release(name: string, token: number): Promise<void> {
    await this.#leases.release(name, token);
    this.#doorbell.ring();
  }

  checkpoint(name: string): Promise<number | null> {
    const text = `select position from ${this.#table("subscriptions")} where name = $1`;
    return this.#db.fetchval<number>(text, [name]);
  }

  subscriptions(prefix?: string): Promise<SubscriptionState[]> {
    return this.#db.fetch<SubscriptionState>(
      `select name, position, case when lease_until > clock_timestamp() then owner end as owner
       from ${this.#table("subscriptions")}
       where not starts_with(name, 'archive:') and ${isWork} and starts_with(name, $1) order by name limit $2`,
      [prefix ?? "", prefix === undefined ? 1000 : null],
    );
  }

  leases(): Promise<ShownLease[]> {
    return this.#leases.shown(isWork);
  }

  #table(name: string): string {
    return `"${this.#schema}".${name}`;
  }
}

function oneEvent(
  stream: string,
  expected: number,
  { id, type, schemaVersion, data, metadata }: EventToStore,
): readonly unknown[] {
  return [stream, categoryOf(stream), expected, id, type, schemaVersion, data, metadata];
}

function severalEvents(stream: string, expected: number, events: readonly EventToStore[]): readonly unknown[] {
  return [
    stream,
    categoryOf(stream),
    expected,
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ schemaVersion }) => schemaVersion),
    events.map(({ data }) => data),
    events.map(({ metadata }) => metadata),
  ];
}
