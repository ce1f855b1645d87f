import { boundedTransaction } from "../../../durable/bounded-transaction.js";
import { Wake } from "../../../durable/wake.js";
import type { Database, Transaction } from "../../../engines/db/database.js";
import type { Logger } from "../../../kit/logger.js";
import { lazily } from "../../../kit/on-demand.js";
import { show } from "../../../kit/options.js";
import { causedBy } from "../cause.js";
import type { RecordedEvent } from "../event.js";
import { Share } from "../share.js";
import type { EventStorage } from "../storage/storage.js";
import {
  type Batch,
  ClaimLost,
  type Processor,
  type RunnerSettings,
  type SubscriptionRunner,
} from "../subscription-runner.js";
import type { Upcasters } from "../upcasters.js";
import type { Projection } from "./projection.js";
import { isIncomplete, ProjectionBuilds } from "./projection-builds.js";
import { swapTables } from "./projection-swap.js";

/** The longest time in milliseconds that a transaction with a slow handler may be idle. */
const longestIdle = 300_000;
/** SQLSTATE of a session that the server ended because its transaction was idle for too long. */
const idleTooLong = "25P03";

export interface ProjectionSurroundings {
  readonly db: Database;
  readonly schema: string;
  readonly pollMs: number;
  readonly leaseMs: number;
  readonly storage: EventStorage;
  readonly upcasters: Upcasters;
  readonly logger: Logger;
  /** The name of this worker. */
  readonly owner: string;
  runner(settings: Omit<RunnerSettings, "owner" | "leaseMs" | "pollMs">, process: Processor): SubscriptionRunner;
}

/**
 * Runs the builds of one projection that have the version of this program. Every batch locks the projection's row for
 * share and asks it for the role of its build; the exchange of tables locks it alone. So no batch can write to tables of
 * another build, and programs of the older version end theirs after the exchange.
 */
export class ProjectionManager {
  readonly #builds: ProjectionBuilds;
  readonly #share: Share;
  readonly #runners = new Map<string, SubscriptionRunner>();
  /** Milliseconds that transactions may be idle, by subscription, after a handler took longer. */
  readonly #idleLimits = new Map<string, number>();
  readonly #wake = new Wake();
  /** Resolves when the tables exist. */
  readonly prepare = lazily(() => this.#builds.prepare());
  readonly #running: Promise<void>;
  #closed = false;
  /** True if shards are spread over workers. */
  #isShared = false;

  constructor(
    readonly projection: Projection,
    readonly around: ProjectionSurroundings,
  ) {
    this.#builds = new ProjectionBuilds(projection, around.db, around.schema);
    this.#share = new Share(`projection:${projection.name}@${projection.version}`, around);
    this.#running = this.#run();
  }

  /** Begins a new build beside the one that serves; one that is being made is begun again. */
  async rebuild(): Promise<void> {
    const { version } = this.projection;
    await boundedTransaction(this.around.db, async (tx) => {
      const row = await this.#builds.lockedRow(tx, "update");
      await this.#builds.beginBuild(tx, row!, this.#builds.isMine(row!.live) ? row!.live : `${version}.0`);
    });
    this.#wake.wake();
  }

  /** The checkpoint of the build that serves: the lowest of its shards. Inline, all that is stored. */
  async position(): Promise<number | null> {
    const row = await this.#builds.row();
    if (row === null) return null;
    if (this.projection.mode === "inline" && this.#builds.isMine(row.live)) {
      return isIncomplete(row.live) ? null : Number.MAX_SAFE_INTEGER;
    }
    const names = this.#builds.subscriptions(row.live, row.live_shards);
    const positions = await Promise.all(names.map((name) => this.around.storage.checkpoint(name)));
    return positions.reduce((lowest, position) =>
      lowest === null || position === null ? null : Math.min(lowest, position),
    );
  }

  /** True if the events of an append are handled in its transaction. */
  isInlineFor(category: string, types: readonly string[]): boolean {
    const { mode, categories, on } = this.projection;
    return mode === "inline" && categories.includes(category) && types.some((type) => on[type] !== undefined);
  }

  /** Locks the tables that serve against an exchange; returns a function that handles the events of the append. */
  async holdInline(tx: Transaction): Promise<(events: readonly RecordedEvent[]) => Promise<void>> {
    const row = await this.#builds.lockedRow(tx, "share");
    // An event that is stored now would never be in the tables.
    if (row === null) throw new Error(`the tables of the projection ${show(this.projection.name)} are not there yet`);
    // The tables of another version, or those that are replaced soon, are not for this program.
    if (!this.#builds.isMine(row.live) || isIncomplete(row.live)) return async () => {};
    return (events) => this.#apply(tx, events, false);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake.wake();
    await this.#running;
    await Promise.all([...this.#runners.values()].map((runner) => runner.close()));
    if (this.#isShared) await this.#share.leave().catch(() => {});
  }

  async #run(): Promise<void> {
    const off = this.around.storage.onChange(this.#wake.wake);
    while (!this.#closed) {
      try {
        await this.prepare();
        const row = await this.#builds.row();
        if (this.#isShared || (row !== null && Math.max(row.live_shards, row.build_shards) > 1)) {
          await this.#share.refresh();
          this.#isShared = true;
        }
        const follows = row !== null && this.projection.mode === "async";
        if (follows && this.#builds.isMine(row.live)) this.#start(row.live, row.live_shards);
        if (row?.build && this.#builds.isMine(row.build)) this.#start(row.build, row.build_shards);
      } catch (error) {
        this.around.logger.error("a projection failed and is tried again", { projection: this.projection.name, error });
      }
      if (!this.#closed) await this.#wake.wait(this.around.pollMs);
    }
    off();
  }

  #start(build: string, shards: number): void {
    const names = this.#builds.subscriptions(build, shards);
    const siblings = (): SubscriptionRunner[] =>
      names.map((name) => this.#runners.get(name)).filter((runner) => runner !== undefined);
    const spread = shards > 1 && {
      mayTake: () => this.#share.mayTake(siblings()),
      shouldGive: () => this.#share.hasTooMany(siblings()),
    };
    for (const [number, name] of names.entries()) {
      const running = this.#runners.get(name);
      if (this.#closed || (running !== undefined && !running.ended)) continue;
      const { categories, batch } = this.projection;
      const shard = shards === 1 ? undefined : { number, of: shards };
      const filter = { categories, types: Object.keys(this.projection.on), archived: true, shard };
      const settings = { name, filter, start: "beginning", batch, skipAfter: Infinity, ...spread } as const;
      this.#runners.set(
        name,
        this.around.runner(settings, (given) => this.#process(build, name, given)),
      );
    }
  }

  async #process(build: string, name: string, batch: Batch): Promise<number | "end"> {
    const { db, schema, storage, leaseMs } = this.around;
    const { events, from, upTo, token, last } = batch;
    // A process that is stopped in the middle must not hold the row without end.
    const idleLimit = this.#idleLimits.get(name) ?? leaseMs * 2;
    const settings = { idle_in_transaction_session_timeout: idleLimit };
    let handled: RecordedEvent | undefined;
    const role = await db
      .transaction(
        async (tx) => {
          const row = await this.#builds.lockedRow(tx, "share");
          const found = row?.live === build ? "live" : row?.build === build ? "build" : null;
          if (found === null) return null;
          await this.#apply(tx, events, found === "build", (event) => (handled = event));
          if (!(await storage.advance(name, token, upTo, { tx, from }))) throw new ClaimLost();
          return found;
        },
        { settings: db.engine === "postgres" ? settings : {} },
      )
      .catch((error: unknown) => {
        if (hasState(error, idleTooLong)) this.#allowMore(name, idleLimit, handled);
        throw error;
      });
    this.#idleLimits.delete(name);
    if (role === null) {
      // Retired. The claim has made its row again if the exchange of tables had deleted it.
      await db.execute(`delete from "${schema}".subscriptions where name = $1 and token = $2`, [name, token]);
      return "end";
    }
    if (role === "build" && last && (await this.#swap(build, name, token))) {
      return this.projection.mode === "inline" ? "end" : ((await storage.checkpoint(name)) ?? upTo);
    }
    return upTo;
  }

  #allowMore(name: string, idleLimit: number, event: RecordedEvent | undefined): void {
    const next = Math.max(idleLimit, Math.min(idleLimit * 2, longestIdle));
    this.#idleLimits.set(name, next);
    this.around.logger.warn("a handler took longer than its transaction may be idle; the next attempt has more time", {
      projection: this.projection.name,
      position: event?.position,
      type: event?.type,
      limit: idleLimit,
      next,
    });
  }

  async #swap(build: string, name: string, token: number): Promise<boolean> {
    const { storage, upcasters, logger } = this.around;
    const apply = (tx: Transaction, events: readonly RecordedEvent[], isBuild: boolean): Promise<void> =>
      this.#apply(tx, events, isBuild);
    const context = { builds: this.#builds, storage, upcasters, apply };
    const swapped = await swapTables(context, build, { name, token });
    if (swapped) logger.info("a projection was rebuilt", { projection: this.projection.name, build });
    return swapped;
  }

  async #apply(
    tx: Transaction,
    events: readonly RecordedEvent[],
    build: boolean,
    onEvent: (event: RecordedEvent) => void = () => {},
  ): Promise<void> {
    const context = { tx, tables: this.#builds.tables(build) };
    for (const event of events) {
      const handler = this.projection.on[event.type];
      if (handler === undefined) continue;
      onEvent(event);
      const { correlationId } = event.metadata;
      await causedBy({ correlationId, causationId: event.id }, () => handler(event as never, context));
    }
  }
}

/** True if an error, or one of its causes, has this SQLSTATE: that of a lost connection has the error of the server as its cause. */
function hasState(error: unknown, state: string): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    const { sqlstate, code } = each as { sqlstate?: unknown; code?: unknown };
    if (sqlstate === state || code === state) return true;
  }
  return false;
}
