import type { Database, Transaction } from "../../engines/db/database.js";
import { type SqlFragment, sql } from "../../engines/db/sql.js";
import type { Logger } from "../../internal/logger.js";
import { Wake } from "../storage/wake.js";
import { causedBy } from "./cause.js";
import type { Projection, ProjectionTables } from "./projection.js";
import type { EventStorage } from "./storage.js";
import {
  type Batch,
  ClaimLost,
  type Processor,
  type RunnerSettings,
  type SubscriptionRunner,
} from "./subscription-runner.js";

export interface ProjectionSurroundings {
  readonly db: Database;
  readonly schema: string;
  readonly pollMs: number;
  readonly leaseMs: number;
  readonly storage: EventStorage;
  readonly logger: Logger;
  runner(settings: Omit<RunnerSettings, "owner" | "leaseMs" | "pollMs">, process: Processor): SubscriptionRunner;
}

/** The row of a projection: the build whose tables serve, and the one that is being made. A build is `version.number`. */
interface Row {
  readonly live: string;
  readonly build: string | null;
}

/** Milliseconds that the exchange of tables may wait for readers; it is tried again. */
const swapPatience = 5000;

/**
 * Runs the builds of one projection that have the version of this program. Every batch locks the projection's row for
 * share and asks it for the role of its build; the exchange of tables locks it alone. So no batch can write to tables of
 * another build, and programs of the older version end theirs after the exchange.
 */
export class ProjectionManager {
  readonly #runners = new Map<string, SubscriptionRunner>();
  readonly #wake = new Wake();
  readonly #rowText: string;
  /** Resolves when the tables exist. */
  readonly prepared: Promise<void>;
  readonly #running: Promise<void>;
  #closed = false;

  constructor(
    readonly projection: Projection,
    readonly around: ProjectionSurroundings,
  ) {
    this.#rowText = `select live, build from "${around.schema}".projections where name = $1`;
    this.prepared = this.#prepare();
    this.prepared.catch(() => {});
    this.#running = this.#run();
  }

  /** Begins a new build beside the one that serves; one that is being made is begun again. */
  async rebuild(): Promise<void> {
    await this.around.db.transaction(async (tx) => {
      const row = await this.#lockedRow(tx);
      await this.#beginBuild(tx, row!, this.#isMine(row!.live) ? row!.live : `${this.projection.version}.0`);
    });
    this.#wake.wake();
  }

  /** The checkpoint of the build that serves. */
  async position(): Promise<number | null> {
    const row = await this.#row();
    return row === null ? null : this.around.storage.checkpoint(this.#subscription(row.live));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake.wake();
    await this.#running;
    await Promise.all([...this.#runners.values()].map((runner) => runner.close()));
  }

  async #prepare(): Promise<void> {
    const { projection, around } = this;
    await around.db.transaction(async (tx) => {
      await tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
        `stoa projection ${around.schema} ${projection.name}`,
      ]);
      const row = await this.#lockedRow(tx);
      const first = `${projection.version}.1`;
      if (row === null) {
        await projection.create(tx, this.#tables(false));
        await tx.execute(`insert into "${around.schema}".projections (name, live) values ($1, $2)`, [
          projection.name,
          first,
        ]);
      } else if (
        versionOf(row.live) < projection.version &&
        (row.build === null || versionOf(row.build) < projection.version)
      ) {
        await this.#beginBuild(tx, row, `${projection.version}.0`);
      }
      // A worker that ended right after an exchange of tables may have left the checkpoint of a retired build.
      await tx.execute(
        `delete from "${around.schema}".subscriptions s where starts_with(s.name, $2) and not exists (
           select from "${around.schema}".projections p
           where p.name = $1 and s.name in ($2 || p.live, $2 || coalesce(p.build, '')))`,
        [projection.name, this.#subscription("")],
      );
    });
  }

  async #beginBuild(tx: Transaction, row: Row, after: string): Promise<void> {
    const { projection, around } = this;
    for (const table of Object.values(this.#tables(true))) await tx.execute(sql`drop table if exists ${table}`);
    await projection.create(tx, this.#tables(true));
    if (row.build !== null) await this.#forget(tx, row.build);
    const numbers = [after, row.build ?? after].filter((build) => this.#isMine(build)).map(numberOf);
    await tx.execute(`update "${around.schema}".projections set build = $2 where name = $1`, [
      projection.name,
      `${projection.version}.${Math.max(0, ...numbers) + 1}`,
    ]);
  }

  async #run(): Promise<void> {
    const off = this.around.storage.onChange(this.#wake.wake);
    while (!this.#closed) {
      try {
        await this.prepared;
        const row = await this.#row();
        for (const build of [row?.live, row?.build]) if (build && this.#isMine(build)) this.#start(build);
      } catch (error) {
        this.around.logger.error("a projection failed and is tried again", { projection: this.projection.name, error });
      }
      if (!this.#closed) await this.#wake.wait(this.around.pollMs);
    }
    off();
  }

  #start(build: string): void {
    const running = this.#runners.get(build);
    if (this.#closed || (running !== undefined && !running.ended)) return;
    const { categories, batch } = this.projection;
    const types = Object.keys(this.projection.on);
    const runner = this.around.runner(
      {
        name: this.#subscription(build),
        filter: { categories, types },
        start: "beginning",
        batch,
        skipAfter: Infinity,
      },
      (given) => this.#process(build, given),
    );
    this.#runners.set(build, runner);
  }

  async #process(build: string, batch: Batch): Promise<number | "end"> {
    const { db, schema, storage, leaseMs } = this.around;
    const { events, upTo, token, last } = batch;
    // A process that is stopped in the middle must not hold the row for ever.
    const settings = { idle_in_transaction_session_timeout: leaseMs * 2 };
    const outcome = await db.transaction(
      async (tx) => {
        const row = await tx.fetchrow<Row & object>(`${this.#rowText} for share`, [this.projection.name]);
        const role = row?.live === build ? "live" : row?.build === build ? "build" : null;
        if (role === null) return null;
        const context = { tx, tables: this.#tables(role === "build") };
        for (const event of events) {
          const handler = this.projection.on[event.type];
          const { correlationId } = event.metadata;
          await causedBy({ correlationId, causationId: event.id }, () => handler?.(event as never, context));
        }
        if (!(await storage.advance(this.#subscription(build), token, upTo, tx))) throw new ClaimLost();
        return role;
      },
      { settings: db.engine === "postgres" ? settings : {} },
    );
    if (outcome === null) {
      // Retired. The claim has made its row anew if the exchange of tables had deleted it.
      await db.execute(`delete from "${schema}".subscriptions where name = $1 and token = $2`, [
        this.#subscription(build),
        token,
      ]);
      return "end";
    }
    if (outcome === "build" && last) await this.#swap(build, token, schema);
    return upTo;
  }

  /** Puts the tables of a build that has caught up in the place of those that serve. */
  async #swap(build: string, token: number, schema: string): Promise<void> {
    await this.around.db.transaction(
      async (tx) => {
        const row = await this.#lockedRow(tx);
        if (row?.build !== build) return;
        const held = `select 1 from "${schema}".subscriptions where name = $1 and token = $2`;
        if ((await tx.fetchval(held, [this.#subscription(build), token])) === null) throw new ClaimLost();
        const next = this.#tables(true);
        for (const [name, live] of Object.entries(this.#tables(false))) {
          await tx.execute(sql`drop table if exists ${live}`);
          await tx.execute(sql`alter table ${next[name]!} rename to ${live}`);
        }
        await this.#forget(tx, row.live);
        await tx.execute(
          `update "${schema}".projections set live = $2, build = null, swapped_at = clock_timestamp() where name = $1`,
          [this.projection.name, build],
        );
      },
      { settings: { lock_timeout: swapPatience } },
    );
    this.around.logger.info("a projection was rebuilt", { projection: this.projection.name, build });
  }

  async #forget(tx: Transaction, build: string): Promise<void> {
    const text = `delete from "${this.around.schema}".subscriptions where name = $1`;
    await tx.execute(text, [this.#subscription(build)]);
  }

  #row(): Promise<Row | null> {
    return this.around.db.fetchrow<Row & object>(this.#rowText, [this.projection.name]);
  }

  #lockedRow(tx: Transaction): Promise<Row | null> {
    return tx.fetchrow<Row & object>(`${this.#rowText} for update`, [this.projection.name]);
  }

  #tables(build: boolean): ProjectionTables<string> {
    const entries = this.projection.tables.map((name): [string, SqlFragment] => [
      name,
      sql.id(build ? `${name}__build` : name),
    ]);
    return Object.fromEntries(entries);
  }

  #subscription(build: string): string {
    return `projection:${this.projection.name}@${build}`;
  }

  #isMine(build: string): boolean {
    return versionOf(build) === this.projection.version;
  }
}

function versionOf(build: string): number {
  return Number(build.split(".")[0]);
}

function numberOf(build: string): number {
  return Number(build.split(".")[1]);
}
