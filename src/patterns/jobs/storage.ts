import type { Database, Queries } from "../../engines/db/database.js";
import type { Leased, Renewals } from "../storage/leased-worker.js";
import type { Schedule } from "./cron.js";

export interface JobRow extends Leased {
  readonly value: unknown;
  readonly attempts: number;
  readonly cancel: boolean;
}

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
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

const infoFields = `id::text, name, key, status, owner is not null and lease_until > clock_timestamp() as running, value, priority,
  attempts, progress, error, run_at as "runAt", created_at as "createdAt", finished_at as "finishedAt"`;

/** The statements of jobs. Each change of a claimed job checks its token. */
export class JobStorage {
  readonly table: string;
  readonly #schedules: string;

  constructor(
    readonly db: Database,
    schema: string,
    readonly owner: string,
    readonly leaseMs: number,
  ) {
    this.table = `"${schema}".jobs`;
    this.#schedules = `"${schema}".job_schedules`;
  }

  /** Adds a job; if one with its key is not finished yet, returns that one. */
  async insert(
    job: { name: string; key: string | null; value: string; delay: number; priority: number },
    within: Queries,
  ): Promise<{ readonly id: string; readonly isNew: boolean }> {
    for (;;) {
      const id = await within.fetchval<string>(
        `insert into ${this.table} (name, key, value, run_at, priority)
         values ($1, $2, $3, clock_timestamp() + $4::float8 * interval '1 millisecond', $5)
         on conflict (name, key) where finished_at is null and key is not null do nothing returning id::text`,
        [job.name, job.key, job.value, job.delay, job.priority],
      );
      if (id !== null) return { id, isNew: true };
      const text = `select id::text from ${this.table} where name = $1 and key = $2 and finished_at is null`;
      const known = await within.fetchval<string>(text, [job.name, job.key]);
      // Finished between the two statements: then there is room for a new one.
      if (known !== null) return { id: known, isNew: false };
    }
  }

  claim(name: string, limit: number): Promise<JobRow[]> {
    return this.db.fetch<JobRow>(
      `update ${this.table} set owner = $2, token = token + 1, attempts = attempts + 1,
         lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       where id in (
         select id from ${this.table}
         where name = $1 and finished_at is null and run_at <= clock_timestamp() and lease_until <= clock_timestamp()
         order by priority desc, run_at, id limit $4 for update skip locked)
       returning id::text, token, value, attempts, cancel`,
      [name, this.owner, this.leaseMs, limit],
    );
  }

  async renew(items: readonly Leased[]): Promise<Renewals> {
    const rows = await this.db.fetch<{ id: string; cancel: boolean }>(
      `update ${this.table} j set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       from unnest($1::bigint[], $2::bigint[]) as held (id, token)
       where j.id = held.id and j.token = held.token and j.owner is not null returning j.id::text, j.cancel`,
      [items.map(({ id }) => id), items.map(({ token }) => token), this.leaseMs],
      { timeout: this.leaseMs },
    );
    return new Map(rows.map(({ id, cancel }) => [id, cancel ? "cancel" : "held"]));
  }

  /** Milliseconds until the next delayed job is due. Jobs of dead workers are found at the next look. */
  nextDue(name: string): Promise<number | null> {
    return this.db.fetchval<number>(
      `select (extract(epoch from min(run_at) - clock_timestamp()) * 1000)::float8
       from ${this.table} where name = $1 and finished_at is null and run_at > now()`,
      [name],
    );
  }

  /** Ends a job, or gives it back for another attempt; false if another worker has it. */
  async settle(
    { id, token }: Leased,
    outcome: {
      readonly status: JobStatus;
      readonly error: string | null;
      readonly retryAfter?: number;
    },
  ): Promise<boolean> {
    const { rowCount } = await this.db.execute(
      `update ${this.table} set status = $3, error = $4, owner = null, lease_until = '-infinity',
         finished_at = case when $3 = 'waiting' then null else clock_timestamp() end,
         run_at = case when $3 = 'waiting' then clock_timestamp() + $5::float8 * interval '1 millisecond' else run_at end
       where id = $1 and token = $2`,
      [id, token, outcome.status, outcome.error, outcome.retryAfter ?? 0],
    );
    return rowCount === 1;
  }

  async progress({ id, token }: Leased, value: string): Promise<void> {
    await this.db.execute(`update ${this.table} set progress = $3 where id = $1 and token = $2`, [id, token, value]);
  }

  get(id: string): Promise<JobInfo | null> {
    return this.db.fetchrow<JobInfo>(`select ${infoFields} from ${this.table} where id = $1`, [id]);
  }

  list(name: string | null, status: JobStatus | null, limit: number): Promise<JobInfo[]> {
    return this.db.fetch<JobInfo>(
      `select ${infoFields} from ${this.table} where ($1::text is null or name = $1) and ($2::text is null or status = $2)
       order by id desc limit $3`,
      [name, status, limit],
    );
  }

  /** Runs a failed or cancelled job again; false if it is neither. */
  async retry(id: string): Promise<boolean> {
    const { rowCount } = await this.db.execute(
      `update ${this.table} set status = 'waiting', finished_at = null, attempts = 0, cancel = false, run_at = clock_timestamp()
       where id = $1 and status in ('failed', 'cancelled')`,
      [id],
    );
    return rowCount === 1;
  }

  /** Ends a job that waits at once; one that runs learns of it with the next renewal. */
  async cancel(id: string): Promise<boolean> {
    const { rowCount } = await this.db.execute(
      `update ${this.table} set cancel = true,
         status = case when lease_until <= clock_timestamp() then 'cancelled' else status end,
         finished_at = case when lease_until <= clock_timestamp() then clock_timestamp() end
       where id = $1 and finished_at is null`,
      [id],
    );
    return rowCount === 1;
  }

  /** Makes a schedule known; one that has changed begins anew. */
  async schedule(name: string, schedule: Schedule): Promise<void> {
    const now = await this.db.fetchval<Date>("select clock_timestamp()");
    await this.db.execute(
      `insert into ${this.#schedules} as s (name, schedule, next_at) values ($1, $2, $3)
       on conflict (name) do update set schedule = excluded.schedule, next_at = excluded.next_at
       where s.schedule <> excluded.schedule`,
      [name, schedule.text, schedule.next(now!)],
    );
  }

  /**
   * Adds the job of a schedule if its time has come. Of all workers one moves the time on, in the transaction that adds the
   * job. Times that nobody was there for are one. Returns the milliseconds until the next time.
   */
  async tick(name: string, schedule: Schedule, add: (tx: Queries, at: Date) => Promise<unknown>): Promise<number> {
    return this.db.transaction(async (tx) => {
      const row = await tx.fetchrow<{ next_at: Date; now: Date; schedule: string }>(
        `select next_at, clock_timestamp() as now, schedule from ${this.#schedules} where name = $1 for update skip locked`,
        [name],
      );
      // Another worker is at it, or a newer program has another schedule.
      if (row === null || row.schedule !== schedule.text) return Infinity;
      if (row.next_at > row.now) return row.next_at.getTime() - row.now.getTime();
      const next = schedule.next(row.now);
      await tx.execute(`update ${this.#schedules} set next_at = $2 where name = $1`, [name, next]);
      await add(tx, row.next_at);
      return next.getTime() - row.now.getTime();
    });
  }
}
