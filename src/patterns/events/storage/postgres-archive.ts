import { boundedTransaction } from "../../../durable/bounded-transaction.js";
import type { Database } from "../../../engines/db/database.js";
import { eventColumns } from "./postgres-reads.js";
import type { FinishedPart, FinishedStreams } from "./storage.js";

/** Times that an archive looks for events of appends that were under way. */
const attempts = 5;
/** Events that one look for finished streams reads. */
const lookedAtOnce = 10_000;
/** Milliseconds that a move of new events waits for the appends under way. */
const lockPatience = 5000;

/**
 * Moves events between the table that appends use and the archive.
 *
 * An append that began before an event was committed does not see it; the unique index refuses the second event of that
 * version. If the event leaves the table in that moment, nothing would. So before events of the last minute are moved, the
 * appends under way end, and new ones wait. Older events leave without that.
 */
export class PostgresArchive {
  constructor(
    private readonly db: Database,
    private readonly schema: string,
  ) {}

  async archive(stream: string): Promise<number> {
    const text = `with moved as (delete from ${this.#table("events")} where stream = $1 and version < $2 returning ${eventColumns}),
      stored as (insert into ${this.#table("archived_events")} (${eventColumns}) select * from moved returning version),
      closed as (insert into ${this.#table("archived_streams")} as a (stream, version)
        select $1, max(version) from stored having count(*) > 0
        on conflict (stream) do update set version = excluded.version),
      dropped as (delete from ${this.#table("snapshots")} where stream = $1)
      select count(*) from stored`;
    // An append that was under way may have added an event in between; the next look moves it.
    for (let total = 0, attempt = 1; ; attempt++) {
      const count = await this.#move(text, [stream, Number.MAX_SAFE_INTEGER]);
      total += count;
      if (count === 0 || attempt === attempts) return total;
    }
  }

  async restore(stream: string): Promise<number> {
    const text = `with moved as (delete from ${this.#table("archived_events")} where stream = $1 returning ${eventColumns}),
      opened as (delete from ${this.#table("archived_streams")} where stream = $1),
      stored as (insert into ${this.#table("events")} (${eventColumns}) select * from moved returning version)
      select count(*) from stored`;
    return (await this.db.current.fetchval<number>(text, [stream]))!;
  }

  async truncate(stream: string, before: number, keep: boolean): Promise<number> {
    // The last event always stays: it is the version of the stream.
    const moved = `delete from ${this.#table("events")} e where e.stream = $1 and e.version < $2
      and exists (select from ${this.#table("events")} l where l.stream = $1 and l.version > e.version)
      returning ${eventColumns}`;
    const text = keep
      ? `with moved as (${moved}), stored as (
           insert into ${this.#table("archived_events")} (${eventColumns}) select * from moved returning version)
         select count(*) from stored`
      : `with moved as (${moved}) select count(*) from moved`;
    return this.#move(text, [stream, before]);
  }

  async #move(text: string, values: readonly [stream: string, before: number]): Promise<number> {
    const { current } = this.db;
    return boundedTransaction(current, async (tx) => {
      const isNew = await tx.fetchval<boolean>(
        `select exists (select from ${this.#table("events")}
           where stream = $1 and version < $2 and recorded_at > clock_timestamp() - interval '1 minute')`,
        values,
      );
      if (isNew) {
        if (current.kind === "database") await tx.execute(`set local lock_timeout = ${lockPatience}`);
        await tx.execute(`lock table ${this.#table("events")} in share row exclusive mode`);
      }
      return (await tx.fetchval<number>(text, values))!;
    });
  }

  /**
   * Looks at a number of events of the category. Positions are about in the order of time: the first event that is too new ends
   * the look, and the next one begins there.
   */
  async finished({ category, after, closedBy }: FinishedStreams, from: number): Promise<FinishedPart> {
    const events = this.#table("events");
    const row = await this.db.current.fetchrow<{ upTo: number | null; end: boolean; streams: string[] }>(
      `with part as materialized (
         select position, stream, version, type, recorded_at < statement_timestamp() - $3 * interval '1 second' as old
         from ${events} where category = $1 and position > $2 order by position limit ${lookedAtOnce}),
       bound as materialized (
         select coalesce(min(position) filter (where not old) - 1, max(position)) as "upTo",
           count(*) < ${lookedAtOnce} or count(*) filter (where not old) > 0 as "end" from part)
       select bound.*, array(
         select p.stream from part p
         where p.position <= bound."upTo" ${closedBy === undefined ? "" : "and p.type = any ($4)"}
           and not exists (select from ${events} l where l.stream = p.stream and l.version > p.version)
         order by p.position) as streams
       from bound`,
      [category, from, after, ...(closedBy === undefined ? [] : [closedBy])],
    );
    const { upTo, end, streams } = row!;
    return { streams, upTo: Math.max(upTo ?? from, from), end };
  }

  #table(name: string): string {
    return `"${this.schema}".${name}`;
  }
}
