import { boundedTransaction } from "../../durable/bounded-transaction.js";
import { gateOf } from "../../durable/gate.js";
import { Wake } from "../../durable/wake.js";
import type { Database, Queries } from "../../engines/db/database.js";
import type { Logger } from "../../kit/logger.js";
import type { Schedule } from "./cron.js";
import type { NewJob } from "./new-job.js";
import type { JobSettings } from "./options.js";

/** The schedules of one process. Their next times are in a table that all workers share. */
export class JobSchedules {
  readonly #db: Database;
  readonly table: string;
  readonly #loops: { readonly wake: Wake; readonly end: Promise<void> }[] = [];
  #closing = false;

  constructor(
    db: Database,
    schema: string,
    readonly pollMs: number,
    readonly logger: Logger,
    readonly insert: (job: NewJob, tx: Queries) => Promise<unknown>,
  ) {
    this.#db = db;
    this.table = `"${schema}".job_schedules`;
  }

  /** Adds jobs at the times of a schedule. */
  start(job: JobSettings, schedule: Schedule): void {
    const wake = new Wake();
    this.#loops.push({ wake, end: this.#run(job, schedule, wake) });
  }

  /** Looks at all schedules now. */
  wake(): void {
    for (const { wake } of this.#loops) wake.wake();
  }

  async stop(): Promise<void> {
    this.#closing = true;
    this.wake();
    await Promise.all(this.#loops.map(({ end }) => end));
  }

  async #run({ name, overlap }: JobSettings, schedule: Schedule, wake: Wake): Promise<void> {
    const add = (tx: Queries, at: Date): Promise<unknown> => {
      const key = overlap === "skip" ? "schedule" : `at ${at.toISOString()}`;
      return this.insert({ name, key, value: "null", delay: 0, priority: 0 }, tx);
    };
    let known = false;
    while (!this.#closing) {
      let pause = this.pollMs;
      try {
        const left = await gateOf(this.#db).run(async () => {
          if (!known) await this.#schedule(name, schedule);
          known = true;
          return this.tick(name, schedule, add);
        });
        pause = Math.min(left, pause);
      } catch (error) {
        this.logger.error("a schedule failed and is tried again", { job: name, error });
      }
      if (!this.#closing) await wake.wait(pause);
    }
  }

  /** Makes a schedule known; one that has changed starts over. */
  async #schedule(name: string, schedule: Schedule): Promise<void> {
    const now = await this.#db.fetchval<Date>("select clock_timestamp()");
    await this.#db.execute(
      `insert into ${this.table} as s (name, schedule, next_at) values ($1, $2, $3)
       on conflict (name) do update set schedule = excluded.schedule, next_at = excluded.next_at
       where s.schedule <> excluded.schedule`,
      [name, schedule.text, schedule.next(now!)],
    );
  }

  /**
   * Adds the job of a schedule if its time has come. Of all workers one moves the time on, in the transaction that adds the
   * job. Times missed while no worker was running are merged into one. Returns the milliseconds until the next time.
   */
  async tick(name: string, schedule: Schedule, add: (tx: Queries, at: Date) => Promise<unknown>): Promise<number> {
    return boundedTransaction(this.#db, async (tx) => {
      const row = await tx.fetchrow<{ next_at: Date; now: Date; schedule: string }>(
        `select next_at, clock_timestamp() as now, schedule from ${this.table} where name = $1 for update skip locked`,
        [name],
      );
      // Another worker is at it, or a newer program has another schedule.
      if (row === null || row.schedule !== schedule.text) return Infinity;
      const next = schedule.next(row.now);
      const left = next.getTime() - row.now.getTime();
      // A time after the next one is from before the clock was set back.
      if (row.next_at > row.now && row.next_at <= next) return row.next_at.getTime() - row.now.getTime();
      await tx.execute(`update ${this.table} set next_at = $2 where name = $1`, [name, next]);
      if (row.next_at <= row.now) await add(tx, row.next_at);
      return left;
    });
  }
}
