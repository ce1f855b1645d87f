import type { Database } from "../../engines/db/database.js";
import type { SubscriptionRunner } from "./subscription-runner.js";

/** The beginning of the names under which the workers of sharded subscriptions and projections are known. */
export const workerPrefix = "worker:";

/**
 * The share of a worker: the shards of a subscription or a projection divided by the number of workers that run it. A worker
 * with more gives some back, so that the work is spread when workers come and go. Leases alone would leave all shards with the
 * first one.
 */
export class Share {
  readonly #db: Database;
  readonly #table: string;
  readonly #prefix: string;
  readonly #name: string;
  readonly #owner: string;
  readonly #leaseMs: number;
  #workers = 1;
  #counted = -Infinity;

  constructor(
    name: string,
    { db, schema, owner, leaseMs }: { db: Database; schema: string; owner: string; leaseMs: number },
  ) {
    this.#db = db;
    this.#table = `"${schema}".subscriptions`;
    this.#prefix = `${workerPrefix}${name} `;
    this.#name = `${this.#prefix}${owner}`;
    this.#owner = owner;
    this.#leaseMs = leaseMs;
  }

  /** Tells the others of this worker, and counts them; at most three times in a lease. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#counted < this.#leaseMs / 3) return;
    this.#counted = performance.now();
    const others = await this.#db.fetchval<number>(
      `with mine as (
         insert into ${this.#table} as s (name, position, owner, token, lease_until)
         values ($1, 0, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
         on conflict (name) do update set lease_until = excluded.lease_until),
       gone as (
         delete from ${this.#table} where name = $4 || owner and name <> $1 and lease_until < clock_timestamp())
       select count(*) from ${this.#table}
       where name = $4 || owner and name <> $1 and lease_until >= clock_timestamp()`,
      [this.#name, this.#owner, this.#leaseMs, this.#prefix],
    );
    this.#workers = others! + 1;
  }

  /** True if this worker may take one more of these shards. */
  mayTake(runners: readonly SubscriptionRunner[]): boolean {
    return active(runners) < this.#of(runners);
  }

  /** True if this worker has more of these shards than its share. */
  hasTooMany(runners: readonly SubscriptionRunner[]): boolean {
    return active(runners) > this.#of(runners);
  }

  async leave(): Promise<void> {
    await this.#db.execute(`delete from ${this.#table} where name = $1`, [this.#name]);
  }

  #of(runners: readonly SubscriptionRunner[]): number {
    return Math.ceil(runners.length / this.#workers);
  }
}

function active(runners: readonly SubscriptionRunner[]): number {
  return runners.filter(({ progress }) => progress.active).length;
}
