import { Batch } from "../../durable/batch.js";
import { freeText } from "../../durable/blocked-workers.js";
import { boundedTransaction } from "../../durable/bounded-transaction.js";
import type { Leased, Renewals } from "../../durable/leased-worker.js";
import type { StoredTrace } from "../../durable/stored-trace.js";
import type { Database, Queries } from "../../engines/db/database.js";
import { type NewJob, recordColumns, recordsText } from "./new-job.js";
import type { JobStatus } from "./records.js";

export interface JobRow extends Leased {
  readonly value: unknown;
  /** All attempts, with the present one. */
  readonly attempts: number;
  /** Those without an end: their worker has died, or was paused past its lease. */
  readonly lost: number;
  /** The error of the last attempt, or the reason why it was given back. */
  readonly error: string | null;
  readonly cancel: boolean;
  readonly limitKey: string | null;
  readonly trace: StoredTrace | null;
}

export interface InsertedJob {
  readonly id: string;
  readonly isNew: boolean;
}

/** The end of an attempt. */
export interface JobOutcome {
  readonly status: JobStatus;
  readonly error: string | null;
  /** Milliseconds until the next attempt. */
  readonly retryAfter?: number;
}

/** The keys whose jobs are claimed. */
export interface KeyPlace {
  /** Keys after this one. */
  readonly after: string;
  /** The most jobs of a key, unless `rooms` has another number for it. */
  readonly most: number;
  readonly rooms: ReadonlyMap<string, number>;
}

/** Times until the next job: milliseconds, null if there is none. */
export interface JobLook {
  /** The time of this look, in seconds of the clock of the database. */
  readonly at: number;
  readonly due: number | null;
  /** Until the first lease ends; not positive if a job is due that no worker has. Null if leases were not looked at. */
  readonly lease: number | null;
}

/** The most jobs that one look reads: beside a larger backlog there is always something due. */
const mostLooked = 1000;

/** The statements that add and run jobs. Each change of a claimed job checks its token. */
export class JobStorage {
  readonly table: string;
  readonly keys: string;
  readonly pauses: string;
  readonly #added = new Batch<NewJob, string>((items) => this.#add(items, this.db));
  readonly #done = new Batch<Leased, boolean>((items) => this.#finish(items));
  readonly #settled = new Batch<Leased & JobOutcome, boolean>((items) => this.#settle(items));

  constructor(
    readonly db: Database,
    readonly schema: string,
    readonly owner: string,
    readonly leaseMs: number,
    /** Called after jobs were added outside of a transaction. */
    readonly onAdded: () => void = () => {},
  ) {
    this.table = `"${schema}".jobs`;
    this.keys = `"${schema}".job_keys`;
    this.pauses = `"${schema}".job_pauses`;
  }

  /** Adds a job outside of a transaction. Those without a key that are added at the same time share a statement. */
  add(job: NewJob): Promise<string> {
    if (job.key === null) return this.#added.add(job);
    return this.insert(job, this.db).then(({ id, isNew }) => {
      if (isNew) this.onAdded();
      return id;
    });
  }

  /** Adds a job; if one with its key is not finished yet, or its key is kept, returns that one. */
  async insert(job: NewJob, within: Queries): Promise<InsertedJob> {
    const { name, key, keepKey = 0 } = job;
    if (keepKey === 0) return this.#insert(job, within);
    if (within.kind !== "transaction") return boundedTransaction(within, (tx) => this.insert(job, tx));
    // Others with this key wait here for the end of the transaction.
    const kept = await within.fetchval<string>(
      `with k as (insert into ${this.keys} (name, key, job_id, until) values ($1, $2, 0, '-infinity')
         on conflict (name, key) do update set name = excluded.name returning job_id, until)
       select job_id::text from k where until > clock_timestamp()`,
      [name, key],
    );
    if (kept !== null) return { id: kept, isNew: false };
    const added = await this.#insert(job, within);
    await within.execute(
      `update ${this.keys} set job_id = $3, until = clock_timestamp() + $4::float8 * interval '1 second'
       where name = $1 and key = $2`,
      [name, key, added.id, keepKey],
    );
    return added;
  }

  async #insert(job: NewJob, within: Queries): Promise<InsertedJob> {
    const kept = `select job_id as id from ${this.keys} where name = $1 and key = $2 and until > clock_timestamp()`;
    for (;;) {
      const id = await within.fetchval<string>(
        `insert into ${this.table} (name, key, value, run_at, priority, trace, limit_key)
         select $1, $2, $3, clock_timestamp() + $4::float8 * interval '1 millisecond', $5, $6, $7 where not exists (${kept})
         on conflict (name, key) where finished_at is null and key is not null do nothing returning id::text`,
        [
          job.name,
          job.key,
          job.value,
          job.delay,
          job.priority,
          job.trace == null ? null : JSON.stringify(job.trace),
          job.limitKey ?? null,
        ],
      );
      if (id !== null) return { id, isNew: true };
      const text = `select id::text from (${kept}
        union all select id from ${this.table} where name = $1 and key = $2 and finished_at is null) j limit 1`;
      const known = await within.fetchval<string>(text, [job.name, job.key]);
      // Finished between the two statements: then there is room for a new one.
      if (known !== null) return { id: known, isNew: false };
    }
  }

  /** Adds jobs by one statement, with the rule of `insert` for keys. */
  async addMany(items: readonly NewJob[], within: Queries): Promise<string[]> {
    if (items.length === 0) return [];
    if (items.every(({ key }) => key === null)) return this.#add(items, within);
    const ids: (string | null)[] = items.map(() => null);
    for (;;) {
      const missing = items.filter((_, index) => ids[index] === null);
      const rows = await within.fetch<{ id: string | null }>(
        `with g as materialized (
           select * from rows from (jsonb_to_recordset($1::jsonb) as (${recordColumns}))
             with ordinality as g (name, value, delay, priority, key, limit_key, trace, n)),
         k as materialized (
           select g.n, k.job_id from g join ${this.keys} k on k.name = g.name and k.key = g.key and k.until > clock_timestamp()),
         i as (
           insert into ${this.table} (name, key, value, run_at, priority, limit_key, trace)
           select name, key, coalesce(value, 'null'), clock_timestamp() + delay * interval '1 millisecond', priority, limit_key, trace
           from g where not exists (select from k where k.n = g.n) order by key, n
           on conflict (name, key) where finished_at is null and key is not null do nothing returning id, key)
         select coalesce(i.id, k.job_id, o.id)::text as id from g left join i on i.key = g.key left join k on k.n = g.n
         left join ${this.table} o on o.name = g.name and o.key = g.key and o.finished_at is null order by g.n`,
        [recordsText(missing)],
      );
      if (within.kind === "database") this.onAdded();
      let at = 0;
      for (const [index, id] of ids.entries()) ids[index] = id ?? rows[at++]!.id;
      // Another transaction has added one in between: the next look finds it. Those that were added may have ended by then.
      if (ids.every((id) => id !== null)) return ids;
    }
  }

  /** One parameter and one value of the result: arrays would cost the client a check and a text for each item. */
  async #add(items: readonly NewJob[], within: Queries): Promise<string[]> {
    const ids = await within.fetchval<string>(
      `with s as materialized (select pg_get_serial_sequence('${this.table}', 'id')::regclass as name),
       g as materialized (
         select nextval(s.name) as id, g.*
         from s, rows from (jsonb_to_recordset($1::jsonb) as (${recordColumns}))
           with ordinality as g (name, value, delay, priority, key, limit_key, trace, n)),
       i as (
         insert into ${this.table} (id, name, value, run_at, priority, limit_key, trace) overriding system value
         select id, name, coalesce(value, 'null'), clock_timestamp() + delay * interval '1 millisecond', priority, limit_key, trace
         from g)
       select string_agg(id::text, ',' order by n) from g`,
      [recordsText(items)],
    );
    if (within.kind === "database") this.onAdded();
    return ids!.split(",");
  }

  /**
   * Jobs of each priority are in the index by their time, so only those that are due are read, however many wait for later: the
   * time of the statement, unlike `clock_timestamp()`, is a bound for an index. The priorities are found one after the other. Jobs
   * before `low`, in seconds, are not read.
   */
  claim(
    name: string,
    limit: number,
    inProgress: readonly string[] = [],
    low = 0,
    { within = this.db, withoutKey = false }: { within?: Queries; withoutKey?: boolean } = {},
  ): Promise<JobRow[]> {
    return within.fetch<JobRow>(
      `with recursive p as (
         (select priority from ${this.table} where name = $1 and finished_at is null and run_at >= to_timestamp($6)
           and not exists (select from ${this.pauses} where name = $1)
           order by priority desc limit 1)
         union all
         select (select j.priority from ${this.table} j where j.name = $1 and j.finished_at is null and j.priority < p.priority
           and j.run_at >= to_timestamp($6) order by j.priority desc limit 1)
         from p where p.priority is not null)
       ${this.#claimed(`select due.id from p cross join lateral (
           select j.id from ${this.table} j
           where j.name = $1 and j.finished_at is null and j.priority = p.priority and j.run_at <= statement_timestamp()
             and j.run_at >= to_timestamp($6) and ${freeText(this.schema, "j", "statement_timestamp()")} and j.id <> all ($5::bigint[])
             ${withoutKey ? "and j.limit_key is null" : ""}
           order by j.run_at, j.id limit $4 for update skip locked) due
         limit $4`)}`,
      [name, this.owner, this.leaseMs, limit, inProgress, low],
    );
  }

  /**
   * Claims jobs that have a key, of one key after the other from `after` on: at most `most` of each, or what `rooms` says. The
   * keys are found one after the other in the index.
   */
  claimByKey(
    name: string,
    limit: number,
    inProgress: readonly string[],
    low: number,
    { within, after, most, rooms }: KeyPlace & { within: Queries },
  ): Promise<JobRow[]> {
    const next = `select j.limit_key from ${this.table} j
      where j.name = $1 and j.finished_at is null and j.run_at >= to_timestamp($10) and j.limit_key`;
    return within.fetch<JobRow>(
      `with recursive k as (
         select (${next} > $6 and not exists (select from ${this.pauses} where name = $1) order by j.limit_key limit 1) as key
         union all
         select (${next} > k.key order by j.limit_key limit 1) from k where k.key is not null)
       ${this.#claimed(`select due.id from k cross join lateral (
           select j.id from ${this.table} j
           where j.name = $1 and j.finished_at is null and j.limit_key = k.key and j.run_at <= statement_timestamp()
             and j.run_at >= to_timestamp($10) and ${freeText(this.schema, "j", "statement_timestamp()")} and j.id <> all ($5::bigint[])
           order by j.priority desc, j.run_at, j.id
           limit coalesce((select r.room from unnest($8::text[], $9::int[]) r (key, room) where r.key = k.key), $7)
           for update skip locked) due
         limit $4`)}`,
      [name, this.owner, this.leaseMs, limit, inProgress, after, most, [...rooms.keys()], [...rooms.values()], low],
    );
  }

  #claimed(ids: string): string {
    return `update ${this.table} set owner = $2, token = token + 1, attempts = attempts + 1,
         lost = lost + case when owner is null then 0 else 1 end, started_at = clock_timestamp(),
         lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       where id = any (array(${ids}))
       returning id::text, token, value, attempts, lost, error, cancel, trace, limit_key as "limitKey"`;
  }

  /** The time before which no job of a name is free, in seconds. The last second is left to transactions that add jobs. */
  async lowest(name: string): Promise<number> {
    const found = await this.db.fetchval<number>(
      `with t as materialized (select statement_timestamp() - interval '1 second' as low)
       select extract(epoch from coalesce((select j.run_at from ${this.table} j
         where j.name = $1 and j.finished_at is null and j.run_at < t.low and ${freeText(this.schema, "j", "statement_timestamp()")}
         order by j.run_at limit 1) - interval '1 millisecond', t.low))::float8 from t`,
      [name],
    );
    return found!;
  }

  async renew(items: readonly Leased[]): Promise<Renewals> {
    const rows = await this.db.fetch<{ id: string; cancel: boolean }>(
      // Statements that change several rows lock them in the same order.
      `with l as (
         select j.id from ${this.table} j, unnest($1::bigint[], $2::bigint[]) as held (id, token)
         where j.id = held.id and j.token = held.token and j.owner is not null order by j.id for update of j)
       update ${this.table} j set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       from l where j.id = l.id returning j.id::text, j.cancel`,
      [items.map(({ id }) => id), items.map(({ token }) => token), this.leaseMs],
      { timeout: this.leaseMs / 1000 },
    );
    return new Map(rows.map(({ id, cancel }) => [id, cancel ? "cancel" : "held"]));
  }

  /**
   * Looks for the next job: the first that no worker has and that is due after `since`, in seconds of the clock of the database.
   * `withLeases` looks at jobs whose time has come, too: those in progress, and those that are left.
   */
  async look(name: string, since: number, withLeases: boolean): Promise<JobLook> {
    const found = await this.db.fetchrow<JobLook>(
      `with t as materialized (select clock_timestamp() as now)
       select extract(epoch from now)::float8 as at,
         (extract(epoch from (
           select min(run_at) from ${this.table}
           where name = $1 and finished_at is null and owner is null and run_at > to_timestamp($2)) - now) * 1000)::float8 as due,
         case when $3 then (extract(epoch from (
           select min(greatest(run_at, lease_until)) from (
             select run_at, lease_until from ${this.table}
             where name = $1 and finished_at is null and run_at <= now order by run_at limit ${mostLooked}) j) - now) * 1000)::float8 end as lease
       from t`,
      [name, since, withLeases],
    );
    return found!;
  }

  /**
   * Moves the times of jobs that were added or begun in the future, as they are after the clock of the database was set back: the
   * latest of them to the present, the others by as much. No job is run before its delay is over.
   */
  async afterSetBack(): Promise<void> {
    await this.db.execute(
      `with f as materialized (
         select id, greatest(created_at, started_at) - statement_timestamp() as ahead from ${this.table}
         where finished_at is null and greatest(created_at, started_at) > statement_timestamp() + interval '10 seconds'
         order by id for update),
       t as materialized (select statement_timestamp() as now, max(ahead) as ahead from f)
       update ${this.table} j set run_at = run_at - t.ahead, created_at = least(created_at, now), started_at = least(started_at, now),
         lease_until = least(lease_until, now + $1 * interval '1 millisecond')
       from f, t where j.id = f.id`,
      [this.leaseMs],
    );
  }

  /** Ends a job, or gives it back for another attempt; false if another worker has it. */
  settle({ id, token }: Leased, outcome: JobOutcome): Promise<boolean> {
    return this.#settled.add({ id, token, ...outcome });
  }

  /**
   * Ends a job that is done. The callbacks get false if it has ended already, or the error. A worker that has lost its lease ends
   * it too: the work is done. A worker that has begun it again loses its token. Failures count only with the token of the
   * row.
   */
  finish(job: Leased, resolve: (held: boolean) => void, reject: (error: unknown) => void): void {
    this.#done.push(job, resolve, reject);
  }

  /** The same for several jobs: texts of numbers for the reason above, and no result if all of them were changed. */
  async #finish(items: readonly Leased[]): Promise<boolean[]> {
    const others = await this.db.fetchval<string>(
      `with s as materialized (
         select * from unnest(string_to_array($1, ',')::bigint[], string_to_array($2, ',')::bigint[]) as s (id, token)),
       l as (
         select j.id, s.token from ${this.table} j, s
         where j.id = s.id and (j.finished_at is null or j.token = s.token) order by j.id for update of j),
       u as (
         update ${this.table} j set status = 'done', error = null, owner = null, lease_until = '-infinity',
           token = case when j.token = l.token then j.token else j.token + 1 end, finished_at = clock_timestamp()
         from l where j.id = l.id returning j.id)
       select case when count(*) <> $3 then coalesce(string_agg(id::text, ','), '') end from u`,
      [items.map(({ id }) => id).join(), items.map(({ token }) => token).join(), items.length],
    );
    if (others === null) return items.map(() => true);
    const changed = new Set(others.split(","));
    return items.map(({ id }) => changed.has(id));
  }

  async #settle(items: readonly (Leased & JobOutcome)[]): Promise<boolean[]> {
    const rows = await this.db.fetchArrays(
      `with l as (
         select j.id, s.status, s.error, s.after
         from ${this.table} j, unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::float8[])
           as s (id, token, status, error, after)
         where j.id = s.id and j.token = s.token order by j.id for update of j)
       update ${this.table} j set status = l.status, error = l.error, owner = null, lease_until = '-infinity',
         finished_at = case when l.status = 'waiting' then null else clock_timestamp() end,
         run_at = case when l.status = 'waiting' then clock_timestamp() + l.after * interval '1 millisecond' else run_at end
       from l where j.id = l.id returning j.id::text, j.token`,
      [
        items.map(({ id }) => id),
        items.map(({ token }) => token),
        items.map(({ status }) => status),
        items.map(({ error }) => error),
        items.map(({ retryAfter = 0 }) => retryAfter),
      ],
    );
    const changed = new Set(rows.rows.map(([id, token]) => `${token} ${id}`));
    return items.map(({ id, token }) => changed.has(`${token} ${id}`));
  }

  /** Gives a job back that was not begun: this is no attempt. */
  async postpone({ id, token }: Leased, milliseconds: number, reason: string): Promise<void> {
    await this.db.execute(
      `update ${this.table} set owner = null, lease_until = '-infinity', attempts = attempts - 1, error = $4,
         run_at = clock_timestamp() + $3::float8 * interval '1 millisecond' where id = $1 and token = $2`,
      [id, token, milliseconds, reason],
    );
  }

  async progress({ id, token }: Leased, value: string): Promise<void> {
    await this.db.execute(`update ${this.table} set progress = $3 where id = $1 and token = $2`, [id, token, value]);
  }
}
