import { restLimit } from "../../../durable/bounded-transaction.js";
import type { Transaction } from "../../../engines/db/database.js";
import { sql } from "../../../engines/db/sql/sql.js";
import type { RecordedEvent } from "../event.js";
import type { EventStorage, StoredEvent } from "../storage/storage.js";
import { ClaimLost } from "../subscription-runner.js";
import type { Upcasters } from "../upcasters.js";
import type { ProjectionBuilds } from "./projection-builds.js";

/** Milliseconds that the exchange of tables may wait for readers; it is tried again. */
const swapPatience = 5000;
/** Events of a shard that the exchange handles by itself, while all others wait. */
const mostLeft = 500;

export interface SwapContext {
  readonly builds: ProjectionBuilds;
  readonly storage: EventStorage;
  readonly upcasters: Upcasters;
  apply(tx: Transaction, events: readonly RecordedEvent[], build: boolean): Promise<void>;
}

/**
 * Puts the tables of a build that has caught up in the place of those that serve. The row of the projection is locked
 * alone, so no batch and no inline append is under way: the events that are left are handled here, and the tables never
 * go back in time. False if the build is too far behind.
 */
export async function swapTables(
  { builds, storage, upcasters, apply }: SwapContext,
  build: string,
  own: { readonly name: string; readonly token: number },
): Promise<boolean> {
  const { projection, schema, db } = builds;
  const inline = projection.mode === "inline";
  return db.transaction(
    async (tx) => {
      const row = await builds.lockedRow(tx, "update");
      if (row?.build !== build) return false;
      const shards = row.build_shards;
      const names = builds.subscriptions(build, shards);
      const found = await tx.fetch<{ name: string; position: number; token: number }>(
        `select name, position, token from "${schema}".subscriptions where name = any ($1) for update`,
        [names],
      );
      if (found.find(({ name }) => name === own.name)?.token !== own.token) throw new ClaimLost();
      if (found.length < shards) return false;
      // Appends of an inline projection hold the row: all of theirs are committed, also those above the mark.
      const upTo = inline ? Number.MAX_SAFE_INTEGER : await storage.highWaterMark();
      const left: StoredEvent[][] = [];
      for (const [number, name] of names.entries()) {
        const { position } = found.find((one) => one.name === name)!;
        const shard = shards === 1 ? undefined : { number, of: shards };
        const filter = { categories: projection.categories, types: Object.keys(projection.on), archived: true, shard };
        const events = await storage.readAll(filter, position, Math.max(upTo, position), false, mostLeft);
        // Before anything is handled: what is committed here without an exchange would be handled twice.
        if (events.length === mostLeft) return false;
        left.push(events);
      }
      for (const [number, name] of names.entries()) {
        await apply(tx, await upcasters.read(left[number]!), true);
        // The other owners lose their claim, and continue from here.
        await tx.execute(
          `update "${schema}".subscriptions set position = greatest(position, $2), updated_at = clock_timestamp(),
             token = token + $3, lease_until = case $3 when 0 then lease_until else '-infinity' end where name = $1`,
          [name, inline ? (left[number]!.at(-1)?.position ?? 0) : upTo, name === own.name ? 0 : 1],
        );
      }
      const next = builds.tables(true);
      for (const [name, live] of Object.entries(builds.tables(false))) {
        await tx.execute(sql`drop table if exists ${live}`);
        await tx.execute(sql`alter table ${next[name]!} rename to ${live}`);
      }
      await builds.forget(tx, row.live);
      if (inline) await builds.forget(tx, build);
      await tx.execute(
        `update "${schema}".projections set live = $2, live_shards = build_shards, build = null,
           swapped_at = clock_timestamp() where name = $1`,
        [projection.name, build],
      );
      return true;
    },
    { settings: { lock_timeout: swapPatience, ...restLimit(db) } },
  );
}
