import { boundedTransaction } from "../../durable/bounded-transaction.js";
import type { Database, Queries } from "../../engines/db/database.js";
import type { Schedule } from "./cron.js";

/** The next times of schedules. All workers share them. */
export class JobSchedules {
  readonly #db: Database;
  readonly table: string;

  constructor(db: Database, schema: string) {
    this.#db = db;
    this.table = `"${schema}".job_schedules`;
  }

  /** Makes a schedule known; one that has changed starts over. */
  async schedule(name: string, schedule: Schedule): Promise<void> {
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
   * job. Times that nobody was there for are one. Returns the milliseconds until the next time.
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
