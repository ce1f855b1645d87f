import { freeText } from "../../durable/blocked-workers.js";
import { boundedTransaction } from "../../durable/bounded-transaction.js";
import type { Queries } from "../../engines/db/database.js";
import { inWords } from "../../kit/time/duration.js";
import type { JobSettings, LimitSettings } from "./options.js";
import type { JobRow, JobStorage, KeyPlace } from "./storage.js";

/** The begins of jobs of one key: those in progress, and those of the time that the limits look at. */
interface Begun {
  readonly key: string;
  readonly running: number;
  /** Seconds since each begin, the latest first. */
  readonly ages: readonly number[];
}

/** How many more jobs may begin, and the milliseconds until there may be one more. */
interface Room {
  readonly count: number;
  readonly wait: number;
}

/** The limits of a job in words, such as "5 running, each key: 3 in 1h"; empty without any. */
export function limitText({ limit, keyLimit }: Pick<JobSettings, "limit" | "keyLimit">): string {
  const words = ({ running, starts, per }: LimitSettings): string[] => [
    ...(running === undefined ? [] : [`${running} running`]),
    ...(starts === undefined ? [] : [`${starts} in ${inWords(per)}`]),
  ];
  const ofKeys = keyLimit === undefined ? [] : [`each key: ${words(keyLimit).join(", ")}`];
  return [...(limit === undefined ? [] : words(limit)), ...ofKeys].join(", ");
}

/**
 * The claims of a name with limits. Workers of all machines claim one after the other: the transaction of a claim holds a lock
 * of the name, counts what has begun and writes down what it begins. A job that has ended, or whose worker is lost, does not
 * count: its place need not be given back.
 */
export class LimitedClaims {
  readonly #storage: JobStorage;
  readonly #job: JobSettings;
  readonly #starts: string;
  /** The key of the last job: the next claim begins behind it, so that keys take turns. At first that of any worker. */
  #last: string | null = null;
  #wait: number | null = null;

  constructor(storage: JobStorage, job: JobSettings) {
    this.#storage = storage;
    this.#job = job;
    this.#starts = `"${storage.schema}".job_starts`;
  }

  /** Milliseconds until a limit may allow another job; null if no limit has held one back. */
  get wait(): number | null {
    return this.#wait;
  }

  claim(limit: number, inProgress: readonly string[], low = 0): Promise<JobRow[]> {
    return boundedTransaction(this.#storage.db, async (tx) => {
      const { name, limit: all, keyLimit } = this.#job;
      await tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`${this.#starts} ${name}`]);
      const begun = await this.#begun(tx);
      const whole = roomOf(all, {
        running: begun.reduce((sum, { running }) => sum + running, 0),
        ages: begun.flatMap(({ ages }) => ages).sort((a, b) => a - b),
      });
      this.#wait = whole.count === 0 ? whole.wait : null;
      if (whole.count === 0) return [];
      const count = Math.min(limit, whole.count);
      const rows: JobRow[] = [];
      const withoutKey = keyLimit !== undefined;
      const others = (left: number) => this.#storage.claim(name, left, inProgress, low, { within: tx, withoutKey });
      const byKey = (left: number, place: KeyPlace) =>
        this.#storage.claimByKey(name, left, inProgress, low, { within: tx, ...place });
      if (keyLimit === undefined) rows.push(...(await others(count)));
      else rows.push(...(await this.#byKey(count, keyLimit, begun, byKey, others)));
      if (rows.length === whole.count) this.#wait = 0;
      await tx.execute(
        `insert into ${this.#starts} (job_id, token, name, key)
         select id, token, $1, key from unnest($2::bigint[], $3::bigint[], $4::text[]) as s (id, token, key)`,
        [name, rows.map(({ id }) => id), rows.map(({ token }) => token), rows.map(({ limitKey }) => limitKey ?? "")],
      );
      return rows;
    });
  }

  async #byKey(
    limit: number,
    bounds: LimitSettings,
    begun: readonly Begun[],
    byKey: (left: number, place: KeyPlace) => Promise<JobRow[]>,
    others: (left: number) => Promise<JobRow[]>,
  ): Promise<JobRow[]> {
    const rooms = new Map(begun.map((one) => [one.key, roomOf(bounds, one)]));
    const waits = [...rooms.values()].flatMap(({ count, wait }) => (count === 0 ? [wait] : []));
    if (waits.length > 0) this.#wait = Math.min(...waits);
    const most = Math.min(limit, bounds.running ?? limit, bounds.starts ?? limit);
    const left = new Map([...rooms].map(([key, { count }]) => [key, count]));
    const claim = async (after: string, count: number): Promise<JobRow[]> => {
      const rows = await byKey(count, { after, most, rooms: left });
      for (const { limitKey } of rows) left.set(limitKey!, (left.get(limitKey!) ?? most) - 1);
      return rows;
    };
    const last = this.#last ?? begun.toSorted((a, b) => a.ages[0]! - b.ages[0]!)[0]?.key ?? "";
    const rows = await claim(last, limit);
    // Jobs without a key, those of a schedule among them, have their turn after the last key.
    if (rows.length < limit) rows.push(...(await others(limit - rows.length)));
    if (rows.length < limit && last !== "") rows.push(...(await claim("", limit - rows.length)));
    this.#last = rows.at(-1)?.limitKey ?? "";
    return rows;
  }

  /** Deletes what does not count any more, and reads the rest. */
  async #begun(tx: Queries): Promise<Begun[]> {
    const { name, limit, keyLimit } = this.#job;
    const longest = Math.max(...[limit, keyLimit].map((bounds) => (bounds?.starts === undefined ? 0 : bounds.per)));
    return tx.fetch<Begun>(
      `with s as materialized (
         select s.job_id, s.token, s.key, extract(epoch from clock_timestamp() - s.at)::float8 as age,
           exists (select from ${this.#storage.table} j where j.id = s.job_id and j.token = s.token and j.owner is not null
             and j.finished_at is null and not ${freeText(this.#storage.schema, "j", "clock_timestamp()")}) as running
         from ${this.#starts} s where s.name = $1),
       gone as (
         delete from ${this.#starts} d using s where s.age > $2 and not s.running and d.job_id = s.job_id and d.token = s.token)
       select key, (count(*) filter (where running))::int as running, array_agg(age order by age) as ages
       from s where running or age <= $2 group by key`,
      [name, longest],
    );
  }
}

function roomOf(bounds: LimitSettings | undefined, { running, ages }: Omit<Begun, "key">): Room {
  if (bounds === undefined) return { count: Infinity, wait: 0 };
  const places = (bounds.running ?? Infinity) - running;
  if (places <= 0) return { count: 0, wait: Infinity };
  if (bounds.starts === undefined) return { count: places, wait: 0 };
  const recent = ages.filter((age) => age < bounds.per);
  const starts = bounds.starts - recent.length;
  // The begin that must be over first is the last of those that fill the time.
  if (starts <= 0) return { count: 0, wait: (bounds.per - recent[bounds.starts - 1]!) * 1000 };
  return { count: Math.min(places, starts), wait: 0 };
}
