import type { Database } from "../../engines/db/database.js";
import type { Logger } from "../../kit/logger.js";
import { sleep } from "../../kit/time/within.js";
import { Share } from "./share.js";
import type { EventStorage } from "./storage/storage.js";
import { type SubscriptionSettings, shardName, shardsIn } from "./subscription.js";
import type { Batch, RunnerSettings, SubscriptionRunner } from "./subscription-runner.js";

export interface ShardSurroundings {
  /** Null where events are in memory: one process has all shards. */
  readonly db: Database | null;
  readonly schema: string;
  readonly storage: EventStorage;
  readonly owner: string;
  readonly leaseMs: number;
  readonly logger: Logger;
  runner(
    settings: Omit<RunnerSettings, "owner" | "leaseMs" | "pollMs">,
    process: (batch: Batch) => Promise<number>,
  ): SubscriptionRunner;
}

/**
 * A subscription in one part or several, each with a checkpoint and a lease. A new number of parts begins at the lowest checkpoint of
 * those before. They are deleted once no worker has them: a program of the other number would continue with old ones.
 */
export class ShardedSubscription {
  readonly #runners: SubscriptionRunner[];
  readonly #share: Share | null;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    readonly settings: SubscriptionSettings,
    readonly around: ShardSurroundings,
    deliver: (settings: SubscriptionSettings, batch: Batch) => Promise<number>,
  ) {
    const { name, shards, categories, types, batch, start, skipAfter } = settings;
    const { db } = around;
    this.#share = db === null || shards === 1 ? null : new Share(`subscription:${name}`, { ...around, db });
    this.#runners = Array.from({ length: shards }, (_, number) => {
      const own = { ...settings, name: shardName(name, number, shards) };
      const shard = shards === 1 ? undefined : { number, of: shards };
      const filter = { categories, types, archived: true, shard };
      return around.runner(
        {
          name: own.name,
          filter,
          start,
          batch,
          skipAfter,
          inherited: () => this.#inherited(own.name),
          mayTake: () => this.#share === null || this.#share.mayTake(this.#runners),
          shouldGive: () => this.#share?.hasTooMany(this.#runners) === true,
        },
        (given) => deliver(own, given),
      );
    });
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#runners.map((runner) => runner.close()));
    await this.#share?.leave().catch(() => {});
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (let left = this.around.db !== null; left && !signal.aborted; ) {
      try {
        await this.#share?.refresh();
        left = (await this.#forgetOthers()) || this.#share !== null;
      } catch (error) {
        this.around.logger.warn("the workers of a subscription were not counted", {
          subscription: this.settings.name,
          error,
        });
      }
      if (left) await sleep(this.around.leaseMs / 3, signal);
    }
  }

  async #inherited(shard: string): Promise<number | null> {
    const { storage } = this.around;
    if ((await storage.checkpoint(shard)) !== null) return null;
    return lowestCheckpoint(storage, this.settings.name, (shards) => shards !== this.settings.shards);
  }

  /** Deletes the checkpoints of another number of parts. Returns true if there are some. */
  async #forgetOthers(): Promise<boolean> {
    const { db, schema, storage } = this.around;
    const { name, shards } = this.settings;
    const all = (await storage.subscriptions(name)).filter((one) => shardsIn(one.name, name) > 0);
    const others = all.filter((one) => shardsIn(one.name, name) !== shards);
    if (others.length > 0 && all.length - others.length === shards) {
      await db!.execute(
        `delete from "${schema}".subscriptions where name = any ($1) and (owner is null or lease_until < clock_timestamp())`,
        [others.map((one) => one.name)],
      );
    }
    return others.length > 0;
  }
}

/** The checkpoint of a subscription: the lowest of its shards. Null if it has never run, or some of them have not. */
export async function lowestCheckpoint(
  storage: EventStorage,
  name: string,
  counts: (shards: number) => boolean = () => true,
): Promise<number | null> {
  const found = (await storage.subscriptions(name)).filter((one) => {
    const shards = shardsIn(one.name, name);
    return shards > 0 && counts(shards);
  });
  const isWhole = found.length > 0 && found.length >= Math.min(...found.map((one) => shardsIn(one.name, name)));
  return isWhole ? Math.min(...found.map(({ position }) => position)) : null;
}
