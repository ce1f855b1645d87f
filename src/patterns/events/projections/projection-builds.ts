import { boundedTransaction } from "../../../durable/bounded-transaction.js";
import type { Database, Transaction } from "../../../engines/db/database.js";
import { type SqlFragment, sql } from "../../../engines/db/sql/sql.js";
import type { Projection, ProjectionTables } from "./projection.js";

/** The row of a projection: the build whose tables serve, and the one that is being made. A build is `version.number`. */
export interface BuildRow {
  readonly live: string;
  readonly live_shards: number;
  readonly build: string | null;
  readonly build_shards: number;
}

/** The builds of one projection: their row, their tables and the names of their checkpoints. */
export class ProjectionBuilds {
  readonly #rowText: string;

  constructor(
    readonly projection: Projection,
    readonly db: Database,
    readonly schema: string,
  ) {
    this.#rowText = `select live, live_shards, build, build_shards from "${schema}".projections where name = $1`;
  }

  row(): Promise<BuildRow | null> {
    return this.db.fetchrow<BuildRow & object>(this.#rowText, [this.projection.name]);
  }

  /** The row, locked: for share by work on tables, alone by changes of builds. */
  lockedRow(tx: Transaction, lock: "share" | "update"): Promise<BuildRow | null> {
    return tx.fetchrow<BuildRow & object>(`${this.#rowText} for ${lock}`, [this.projection.name]);
  }

  /** Creates the tables of a new projection, and begins a build if this program has a newer version. */
  async prepare(): Promise<void> {
    const { projection, schema } = this;
    await boundedTransaction(this.db, async (tx) => {
      await tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
        `stoa projection ${schema} ${projection.name}`,
      ]);
      const row = await this.lockedRow(tx, "update");
      if (row === null) await this.#begin(tx);
      else if (
        versionOf(row.live) < projection.version &&
        (row.build === null || versionOf(row.build) < projection.version)
      ) {
        await this.beginBuild(tx, row, `${projection.version}.0`);
      }
      // A worker that ended right after an exchange of tables may have left the checkpoint of a retired build.
      await tx.execute(
        `delete from "${schema}".subscriptions s where starts_with(s.name, $2) and not exists (
           select from "${schema}".projections p
           where p.name = $1 and split_part(s.name, '#', 1) in ($2 || p.live, $2 || coalesce(p.build, '')))`,
        [projection.name, this.subscription("", 0, 1)],
      );
    });
  }

  /** Begins a new build beside the one that serves; one that is being made is begun again. */
  async beginBuild(tx: Transaction, row: BuildRow, after: string): Promise<void> {
    const { projection, schema } = this;
    for (const table of Object.values(this.tables(true))) await tx.execute(sql`drop table if exists ${table}`);
    await projection.create(tx, this.tables(true));
    if (row.build !== null) await this.forget(tx, row.build);
    const numbers = [after, row.build ?? after].filter((build) => this.isMine(build)).map(numberOf);
    await tx.execute(`update "${schema}".projections set build = $2, build_shards = $3 where name = $1`, [
      projection.name,
      `${projection.version}.${Math.max(0, ...numbers) + 1}`,
      projection.shards,
    ]);
  }

  /** Deletes the checkpoints of a build. */
  async forget(tx: Transaction, build: string): Promise<void> {
    await tx.execute(`delete from "${this.schema}".subscriptions where split_part(name, '#', 1) = $1`, [
      this.subscription(build, 0, 1),
    ]);
  }

  tables(build: boolean): ProjectionTables<string> {
    const entries = this.projection.tables.map((name): [string, SqlFragment] => [
      name,
      sql.id(build ? `${name}__build` : name),
    ]);
    return Object.fromEntries(entries);
  }

  /** The name of a checkpoint. Each shard of a build has one. */
  subscription(build: string, shard: number, shards: number): string {
    const name = `projection:${this.projection.name}@${build}`;
    return shards === 1 ? name : `${name}#${shard}`;
  }

  /** The names of all checkpoints of a build. */
  subscriptions(build: string, shards: number): string[] {
    return Array.from({ length: shards }, (_, shard) => this.subscription(build, shard, shards));
  }

  isMine(build: string): boolean {
    return versionOf(build) === this.projection.version;
  }

  async #begin(tx: Transaction): Promise<void> {
    const { projection, schema } = this;
    await projection.create(tx, this.tables(false));
    // An inline projection sees only new events: a separate build has those of the past first.
    const past =
      projection.mode === "inline" &&
      (await tx.fetchval<boolean>(
        `select exists (select from "${schema}".events where category = any ($1))
           or exists (select from "${schema}".archived_events where category = any ($1))`,
        [projection.categories],
      )) === true;
    await tx.execute(`insert into "${schema}".projections (name, live, live_shards) values ($1, $2, $3)`, [
      projection.name,
      `${projection.version}.${past ? 0 : 1}`,
      projection.shards,
    ]);
    if (past) await this.beginBuild(tx, (await this.lockedRow(tx, "update"))!, `${projection.version}.0`);
  }
}

/** The number of the build of an inline projection whose tables are not complete yet. */
export function isIncomplete(build: string): boolean {
  return numberOf(build) === 0;
}

function versionOf(build: string): number {
  return Number(build.split(".")[0]);
}

function numberOf(build: string): number {
  return Number(build.split(".")[1]);
}
