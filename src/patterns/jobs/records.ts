import { readLeases, type ShownLease } from "../../durable/lease-panel.js";
import { mostCounted } from "../../durable/retention.js";
import type { Database } from "../../engines/db/database.js";
import { UniqueViolation } from "../../engines/db/errors.js";

export type JobStatus = "waiting" | "done" | "failed" | "cancelled";

/** A job as operators see it. */
export interface JobInfo {
  readonly id: string;
  readonly name: string;
  readonly key: string | null;
  readonly status: JobStatus;
  /** True while a worker runs it. */
  readonly running: boolean;
  readonly value: unknown;
  readonly priority: number;
  readonly attempts: number;
  readonly progress: unknown;
  readonly error: string | null;
  readonly runAt: Date;
  /** The begin of the last attempt; null before the first one. */
  readonly startedAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

const infoFields = `id::text, name, key, status, owner is not null and lease_until > clock_timestamp() as running, value, priority,
  attempts, progress, error, run_at as "runAt", started_at as "startedAt", created_at as "createdAt", finished_at as "finishedAt"`;

/** Counts of jobs; 100000 that wait or have failed stand for as many and more. */
export interface JobCounts {
  /** Jobs that are due or delayed, and those in progress. */
  readonly waiting: number;
  readonly running: number;
  /** Jobs that have failed and are still kept. */
  readonly failed: number;
  /** Seconds that the oldest job which is due has waited for a worker. */
  readonly oldestDueSeconds: number;
}

/** The jobs of one name; 10000 stand for as many and more. */
export interface JobNameInfo {
  readonly name: string;
  /** True if no job of this name is begun, on any machine. */
  readonly paused: boolean;
  /** Jobs that are due or delayed. */
  readonly waiting: number;
  readonly running: number;
  /** Jobs that have failed and are still kept. */
  readonly failed: number;
}

/** The most jobs of a name that are counted. */
const mostOfName = 10_000;

/** The statements of operators: they look at jobs, and change jobs that they have not claimed. */
export class JobRecords {
  readonly #db: Database;
  readonly #schema: string;
  readonly #table: string;
  readonly #pauses: string;

  constructor(db: Database, { schema, table, pauses }: Readonly<Record<"schema" | "table" | "pauses", string>>) {
    this.#db = db;
    this.#schema = schema;
    this.#table = table;
    this.#pauses = pauses;
  }

  /** The names of jobs that are not finished, found one after the other in the index. */
  get #names(): string {
    return `(select name from ${this.#table} where finished_at is null order by name limit 1)
      union all
      select (select j.name from ${this.#table} j where j.finished_at is null and j.name > n.name order by j.name limit 1)
      from n where n.name is not null`;
  }

  /** The priorities of each name that has jobs which are not finished, found in the same way. */
  get #priorities(): string {
    return `(select name, priority from ${this.#table} where finished_at is null order by name, priority desc limit 1)
         union all
         select next.* from p cross join lateral (
           (select j.name, j.priority from ${this.#table} j where j.finished_at is null and j.name = p.name and j.priority < p.priority
             order by j.priority desc limit 1)
           union all
           (select j.name, j.priority from ${this.#table} j where j.finished_at is null and j.name > p.name
             order by j.name, j.priority desc limit 1)
           limit 1) next`;
  }

  /** The first jobs of a name and a priority that are due: those in progress are among them. */
  #first(columns: string): string {
    return `select ${columns} from ${this.#table} j
      where j.name = p.name and j.priority = p.priority and j.finished_at is null and j.run_at <= statement_timestamp()
      order by j.run_at, j.id limit (select greatest(${mostCounted} / count(*), 1000) from p)`;
  }

  /** The leases of jobs in progress. */
  leases(): Promise<ShownLease[]> {
    return readLeases(
      this.#db,
      this.#schema,
      `with recursive p as (${this.#priorities})
       select j.name || ' ' || j.id as name, j.id::text, j.owner, j.lease_until, j.started_at as since
       from p cross join lateral (${this.#first("*")}) j`,
    );
  }

  get(id: string): Promise<JobInfo | null> {
    return this.#db.fetchrow<JobInfo>(`select ${infoFields} from ${this.#table} where id = $1`, [id]);
  }

  list(name: string | null, status: JobStatus | null, limit: number, before: string | null): Promise<JobInfo[]> {
    return this.#db.fetch<JobInfo>(
      // By the column: without the name of the table it would be by the text above, where 9 stands before 10.
      `select ${infoFields} from ${this.#table} j where ($1::text is null or name = $1) and ($2::text is null or status = $2)
         and ($4::bigint is null or j.id < $4)
       order by j.id desc limit $3`,
      [name, status, limit, before],
    );
  }

  /**
   * Jobs in progress stand before those that wait, by their priority and their time. The first ones of each name and priority are
   * read, so no backlog hides them; all of them, if there are at most 100000 jobs that are due.
   */
  async counts(): Promise<JobCounts> {
    const row = await this.#db.fetchrow<Omit<JobCounts, "oldestDueSeconds">>(
      `with recursive p as (${this.#priorities}),
       r as materialized (
         select count(*) filter (where owner is not null and lease_until > statement_timestamp()) as running
         from p cross join lateral (${this.#first("owner, lease_until")}) j)
       select running::int, (select count(*) - running from (
           select from ${this.#table} where finished_at is null order by name, run_at limit ${mostCounted} + (select running from r)) j)::int as waiting,
         (select count(*)::int from (select from ${this.#table} where status = 'failed' limit ${mostCounted}) f) as failed
       from r`,
    );
    return { ...row!, oldestDueSeconds: await this.oldestDueSeconds() };
  }

  /** The jobs of each name: those of the program, and those of others that are not finished. */
  names(declared: readonly string[]): Promise<JobNameInfo[]> {
    return this.#db.fetch<JobNameInfo>(
      `with recursive n as (${this.#names}),
       f as materialized (select name, count(*)::int as failed from (
         select name from ${this.#table} where status = 'failed' limit ${mostCounted}) f group by name)
       select m.name, exists (select from ${this.#pauses} p where p.name = m.name) as paused, w.total - w.running as waiting,
         w.running, coalesce(f.failed, 0) as failed
       from (select name from n where name is not null union select unnest($1::text[])) m left join f on f.name = m.name
       cross join lateral (
         select count(*)::int as total, (count(*) filter (where owner is not null and lease_until > statement_timestamp()))::int as running
         from (select owner, lease_until from ${this.#table} j where j.name = m.name and j.finished_at is null
           order by j.priority desc, j.run_at limit ${mostOfName}) j) w
       order by m.name`,
      [declared],
    );
  }

  /**
   * Seconds that the oldest due job has waited for a worker. Paused names do not count. For each name, the first due job is
   * read, and the jobs in progress before it.
   */
  async oldestDueSeconds(): Promise<number> {
    const seconds = await this.#db.fetchval<number>(
      `with recursive n as (${this.#names})
       select max(extract(epoch from statement_timestamp() - due.run_at))::float8 from n cross join lateral (
         select j.run_at from ${this.#table} j
         where j.name = n.name and j.finished_at is null and j.run_at < statement_timestamp()
           and j.lease_until <= statement_timestamp()
         order by j.run_at limit 1) due
       where n.name not in (select name from ${this.#pauses})`,
    );
    return Math.max(seconds ?? 0, 0);
  }

  /** Runs a failed or cancelled job again; false if it is neither, or another one with its key is not finished. */
  async retry(id: string): Promise<boolean> {
    try {
      const { rowCount } = await this.#db.execute(
        `update ${this.#table} set status = 'waiting', finished_at = null, attempts = 0, lost = 0, cancel = false, owner = null,
           run_at = clock_timestamp()
         where id = $1 and status in ('failed', 'cancelled')`,
        [id],
      );
      return rowCount === 1;
    } catch (error) {
      if (error instanceof UniqueViolation) return false;
      throw error;
    }
  }

  /** Ends a job that waits at once; one that runs learns of it with the next renewal. A worker that was paused has lost it. */
  async cancel(id: string): Promise<boolean> {
    const { rowCount } = await this.#db.execute(
      `update ${this.#table} set cancel = true,
         status = case when lease_until <= clock_timestamp() then 'cancelled' else status end,
         token = case when lease_until <= clock_timestamp() then token + 1 else token end,
         finished_at = case when lease_until <= clock_timestamp() then clock_timestamp() end
       where id = $1 and finished_at is null`,
      [id],
    );
    return rowCount === 1;
  }
}
