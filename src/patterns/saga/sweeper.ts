import { gateOf } from "../../durable/gate.js";
import { atOnce, deleteKept, inBatches, mostKept } from "../../durable/retention.js";
import type { Logger } from "../../kit/logger.js";
import type { SagaConfig } from "./config.js";
import { hashText, type Known, knownParams, knownText, type SagaStorage } from "./storage.js";

const sweepInterval = 600_000;

/** Deletes what is over, parks sagas that no worker can drive, and wakes waits whose message has arrived. */
export class Sweeper {
  #sweeping: NodeJS.Timeout | null = null;
  #parking: NodeJS.Timeout | null = null;
  #unparking: NodeJS.Timeout | null = null;

  constructor(
    readonly storage: SagaStorage,
    readonly config: SagaConfig,
    readonly logger: Logger,
    readonly known: () => readonly Known[],
  ) {}

  start(): void {
    this.#sweeping = setInterval(() => void this.#try(() => this.sweep()), sweepInterval).unref();
    // Four times in the time after which a saga is parked.
    const interval = Math.max(this.config.unknownVersion * 250, 100);
    this.#parking = setInterval(() => void this.#try(() => this.park()), interval).unref();
    this.#unparking = setInterval(() => void this.#try(() => this.unpark(this.known())), interval).unref();
    void this.#try(() => this.sweep());
  }

  stop(): void {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    if (this.#parking !== null) clearInterval(this.#parking);
    if (this.#unparking !== null) clearInterval(this.#unparking);
  }

  async sweep(): Promise<void> {
    const { sagas, inbox, ids, db } = this.storage;
    const { retention, retentionCount, keepIds, inbox: kept } = this.config;
    // Children have no separate turn: they are deleted with the saga that began them, whose compensation needs them.
    const old = `parent_id is null and (finished_at <= statement_timestamp() - $1 * interval '1 second'
        or (finished_at, id) <= (select finished_at, id from ${sagas} where finished_at is not null and parent_id is null
          order by finished_at desc, id desc offset $2 limit 1))
      order by finished_at limit ${atOnce}`;
    for (let deleted = atOnce; deleted === atOnce; ) {
      // A separate statement: a caller that starts the id again sees it here before the saga is deleted.
      await db.execute(
        `insert into ${ids} (id, name, input_hash, until)
         select id, name, ${hashText("input")}, clock_timestamp() + $3::float8 * interval '1 second'
         from (select * from ${sagas} where ${old}) s where given_id and $3 > 0
         on conflict (id) do update set name = excluded.name, input_hash = excluded.input_hash, until = excluded.until`,
        [retention, retentionCount, keepIds],
      );
      const { rowCount } = await db.execute(
        `delete from ${sagas} where id in (select id from ${sagas} where ${old} for update skip locked)
           and (not given_id or $3::float8 = 0 or exists (select from ${ids} k where k.id = ${sagas}.id))`,
        [retention, retentionCount, keepIds],
      );
      deleted = rowCount;
    }
    await deleteKept(db, ids, mostKept);
    await inBatches(
      db,
      `delete from ${inbox} where number in (
         select number from ${inbox}
         where saga_id is null and (at <= statement_timestamp() - $1 * interval '1 second'
           or number <= (select number from ${inbox} where saga_id is null order by number desc offset $2 limit 1))
         order by number limit ${atOnce} for update skip locked)`,
      [kept, retentionCount],
    );
    // Changed in the future: the clock of the database was set back. A wait whose time is not over continues after it was woken.
    await db.execute(
      `with f as materialized (
         select id from ${sagas} where finished_at is null and updated_at > statement_timestamp() + interval '10 seconds'
         order by id desc for update)
       update ${sagas} s set updated_at = statement_timestamp(), created_at = least(created_at, statement_timestamp()),
         wake_at = least(wake_at, statement_timestamp()),
         lease_until = least(lease_until, statement_timestamp() + $1 * interval '1 millisecond')
       from f where s.id = f.id`,
      [this.storage.leaseMs],
    );
    // A message that was delivered in a transaction with an old snapshot may not have seen the wait.
    await db.execute(
      `update ${sagas} s set wake_at = clock_timestamp()
       where finished_at is null and waiting_for is not null and wake_at > clock_timestamp()
         and exists (select from ${inbox} i where i.address = s.waiting_for and i.taken_by is null and i.at >= s.created_at)`,
    );
  }

  /**
   * Parks sagas that have been due for a while in a version, or with steps, that this program does not know, though it knows
   * their name. In
   * a deployment other workers still know it, and such a saga does not stay due.
   */
  async park(): Promise<number> {
    const known = this.known();
    if (known.length === 0) return 0;
    const { sagas, log, db } = this.storage;
    const parked = await db.fetch<{ id: string; name: string; version: number }>(
      `with s as (
         update ${sagas} set status = 'parked', parked_from = status, updated_at = clock_timestamp(),
           error = case when (name, version) in (select * from unnest($1::text[], $2::int[]))
             then 'the steps of version ' || version || ' of the saga "' || name || '" are not those that it was started with (' ||
               replace(steps, E'\\n', '; ') || '): give changed steps a new version and register both, or resume it with the present ones'
             else 'no worker knows version ' || version || ' of the saga "' || name ||
               '": register its definition beside the new one with app.saga()' end
         where id in (
           select id from ${sagas} s
           where finished_at is null and status <> 'parked'
             and greatest(wake_at, lease_until) <= statement_timestamp() - $4::float8 * interval '1 second'
             and name = any ($1::text[]) and not ${knownText("s", 1)}
           limit ${atOnce} for update skip locked)
         returning id, name, version, token, error),
       l as (insert into ${log} (saga_id, event, token, error) select id, 'parked', token, error from s)
       select id, name, version from s`,
      [...knownParams(known), this.config.unknownVersion],
    );
    for (const { id, name, version } of parked) {
      this.logger.error("a saga is parked: no worker knows its version or its steps", { saga: name, version, id });
    }
    return parked.length;
  }

  /**
   * Continues sagas that were parked because their version was not known. A worker of a newer program also parks those
   * whose workers were busy for long, so this is repeated. They are due now: they are not parked again at once.
   */
  async unpark(known: readonly Known[]): Promise<void> {
    const { sagas, log, db } = this.storage;
    await db.execute(
      `with s as (
         update ${sagas} s set status = parked_from, parked_from = null, error = null, updated_at = clock_timestamp(),
           wake_at = clock_timestamp()
         where status = 'parked' and finished_at is null and parked_from is not null
           and ${knownText("s", 1)}
         returning id, token)
       insert into ${log} (saga_id, event, token) select id, 'resumed', token from s`,
      knownParams(known),
    );
  }

  /** The same, of which a failure is logged: it is repeated at intervals. */
  unparkSoon(known: readonly Known[]): Promise<void> {
    return this.#try(() => this.unpark(known));
  }

  async #try(run: () => Promise<unknown>): Promise<void> {
    try {
      await gateOf(this.storage.db).run(run);
    } catch (error) {
      this.logger.warn("old sagas were not cleaned up", { error });
    }
  }
}
