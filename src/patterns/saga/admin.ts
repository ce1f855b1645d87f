import { boundedTransaction } from "../../durable/bounded-transaction.js";
import { mostCounted } from "../../durable/retention.js";
import { jsonText } from "../../durable/texts.js";
import type { Database, Queries } from "../../engines/db/database.js";
import { show } from "../../kit/options.js";
import { isStorable } from "../../kit/storable.js";
import { ValueError } from "../../kit/value-error.js";
import { validated } from "../../validation/issues.js";
import { type Moved, placeIn } from "./changed-steps.js";
import type { DefinedSaga, SagaDefinition } from "./definition.js";
import {
  filterOptions,
  type SagaCounts,
  type SagaFilter,
  type SagaInfo,
  type SagaLogLine,
  type SignalOptions,
  signalOptions,
} from "./info.js";
import type { SagaStatus, StoredStatus } from "./row.js";
import type { SagaStorage, StartOptions } from "./storage.js";
import { signalAddress, type WaitStorage } from "./wait-storage.js";
import { signal as readSignal, type Signal } from "./waits.js";

const statusColumn = "case when status = 'running' and waiting_for is not null then 'waiting' else status end";
const columns = `id, parent_id as "parentId", name, version, ${statusColumn} as status, input, attributes, results, error,
  case when finished_at is null and status <> 'parked' then nullif(wake_at, 'infinity') end as "wakeAt",
  created_at as "createdAt", updated_at as "updatedAt", finished_at as "finishedAt"`;

/** The parts of a process that the calls need. */
interface Surroundings {
  readonly db: Database;
  readonly storage: SagaStorage;
  readonly waits: WaitStorage;
  readonly definitions: readonly SagaDefinition[];
  readonly ring: () => void;
  ringAfter(tx: Queries): void;
  start(definition: SagaDefinition, input: unknown, options?: StartOptions): Promise<string>;
}

/** The calls for operators: `app.sagas`. */
export class SagaAdmin {
  readonly #around: Surroundings;

  /** @internal */
  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Starts an execution and returns its id, at once: the steps run in the background. */
  start<Given>(
    definition: DefinedSaga<unknown, Given>,
    input: NoInfer<Given>,
    options?: StartOptions,
  ): Promise<string> {
    return this.#around.start(definition as SagaDefinition, input, options);
  }

  /**
   * Sends a signal to an execution. One that arrives before the execution waits for it is kept. False if the execution has
   * ended, if a signal with this key was sent before, or if it has 1000 of this name that it has not taken yet.
   */
  async signal<Value>(
    id: string,
    signal: Signal<Value> | string,
    value?: NoInfer<Value>,
    options: SignalOptions = {},
  ): Promise<boolean> {
    const { name, schema } = typeof signal === "string" ? readSignal(signal) : signal;
    const { key, tx = this.#around.db.current } = signalOptions.read([options]);
    if (!isStorable(id)) throw noSaga(id);
    const given = schema ? await validated(schema, value, `signal ${name}`) : value;
    const text = jsonText(given, "the value of the signal", name);
    const address = signalAddress(id, name);
    const kept = await this.#around.waits.deliver(
      { address, value: text, sourceId: key?.slice(0, 500), sagaId: id },
      tx,
    );
    if (kept) this.#around.ringAfter(tx);
    else if ((await this.get(id)) === null) throw noSaga(id);
    return kept;
  }

  /** An execution; null if there is none with this id. */
  async get(id: string): Promise<SagaInfo | null> {
    if (!isStorable(id)) return null;
    const { db, storage } = this.#around;
    return db.fetchrow<SagaInfo>(`select ${columns} from ${storage.sagas} where id = $1`, [id]);
  }

  /** Executions, the newest first. */
  async list(filter: SagaFilter = {}): Promise<SagaInfo[]> {
    const given = filterOptions.read([filter]);
    const { db, storage } = this.#around;
    const params: unknown[] = [];
    const $ = (value: unknown): string => `$${params.push(value)}`;
    const where = ["true"];
    if (given.status !== undefined) where.push(`${statusColumn} = ${$(given.status)}`);
    if (given.name !== undefined) where.push(`name = ${$(given.name)}`);
    if (given.attributes !== undefined) where.push(`attributes @> ${$(JSON.stringify(given.attributes))}::jsonb`);
    if (given.before instanceof Date) where.push(`created_at < ${$(given.before)}`);
    else if (given.before !== undefined) {
      where.push(`(created_at, id) < (${$(await this.#createdAt(given.before))}::timestamptz, ${$(given.before)})`);
    }
    return db.fetch<SagaInfo>(
      `select ${columns} from ${storage.sagas} where ${where.join(" and ")}
       order by created_at desc, id desc limit ${$(given.limit)}`,
      params,
    );
  }

  /** As text: a `Date` has no microseconds, and two executions can be created in one millisecond. */
  async #createdAt(id: string): Promise<string> {
    const { db, storage } = this.#around;
    const time = await db.fetchval<string>(`select created_at::text from ${storage.sagas} where id = $1`, [id]);
    if (time === null) throw noSaga(id);
    return time;
  }

  /** The executions that this one began as its children. */
  async children(id: string): Promise<SagaInfo[]> {
    if (!isStorable(id)) return [];
    const { db, storage } = this.#around;
    return db.fetch<SagaInfo>(
      `select ${columns} from ${storage.sagas} where parent_id = $1 order by created_at limit 1000`,
      [id],
    );
  }

  /** Every transition of an execution, in order. */
  async log(id: string): Promise<SagaLogLine[]> {
    if (!isStorable(id)) return [];
    const { db, storage } = this.#around;
    return db.fetch<SagaLogLine>(
      `select event, step, attempt, error, at from ${storage.log} where saga_id = $1 order by number`,
      [id],
    );
  }

  /** The executions that have not ended, by status, where 100000 stands for as many and more, and the age of the oldest that is due. */
  async counts(): Promise<SagaCounts> {
    const { db, storage } = this.#around;
    // Each part is read from the index alone.
    const part = (waits: "null" | "not null"): string =>
      `(select ${statusColumn} as status from ${storage.sagas}
        where finished_at is null and status = v.status and waiting_for is ${waits} limit ${mostCounted})`;
    const rows = await db.fetch<{ status: SagaStatus; count: number }>(
      `select s.status, least(count(*), ${mostCounted})::int as count
       from unnest(array['running', 'compensating', 'parked']) as v (status),
         lateral (${part("null")} union all ${part("not null")}) s
       group by 1`,
    );
    const open: Partial<Record<SagaStatus, number>> = {};
    for (const row of rows) open[row.status] = row.count;
    return { open, oldestDueSeconds: await this.oldestDueSeconds() };
  }

  /** @internal Seconds that the oldest execution which is due has waited for a worker. Reads one row. */
  async oldestDueSeconds(): Promise<number> {
    const { db, storage } = this.#around;
    const seconds = await db.fetchval<number>(
      `select extract(epoch from statement_timestamp() - min(greatest(wake_at, lease_until)))::float8
       from ${storage.sagas} where finished_at is null and status <> 'parked'
         and greatest(wake_at, lease_until) < statement_timestamp()`,
    );
    return Math.max(seconds ?? 0, 0);
  }

  /** @internal The number of parked executions; 100000 stands for as many and more. */
  async parked(): Promise<number> {
    const { db, storage } = this.#around;
    const text = `select count(*)::int from (
      select from ${storage.sagas} where status = 'parked' and finished_at is null limit ${mostCounted}) s`;
    return (await db.fetchval<number>(text))!;
  }

  /**
   * Tries the compensation of a parked saga again; one of an unknown version continues where it was. One whose steps have changed
   * continues with the present ones: those that have no result yet are run, in their order.
   */
  async resume(id: string): Promise<void> {
    // Its attempts are counted from the beginning: none of those before is a failure or a loss of the next ones.
    const set = `status = coalesce(parked_from, 'compensating'), parked_from = null, attempt = 0, lost = 0, branches = '{}',
      unknown = case parked_from when 'running' then unknown || inflight else unknown end, inflight = '{}'`;
    const moved = await this.#placeInPresent(id);
    if (moved === null) return this.#update(id, "resumed", "parked", set);
    const place = "waiting_for = null, waiting_since = null, wait_until = null, step = $4, steps = $5";
    return this.#update(id, "resumed", "parked", `${set}, ${place}`, "steps = $6", moved);
  }

  /** The place of a parked execution in the present steps, those steps and its own; null if they are the same. */
  async #placeInPresent(id: string): Promise<readonly [number, string, string] | null> {
    if (!isStorable(id)) return null;
    const { db, storage, definitions } = this.#around;
    const found = await db.fetchrow<Moved & { readonly name: string; readonly version: number }>(
      `select name, version, parked_from as status, step, steps, results, unknown || inflight as unknown
       from ${storage.sagas} where id = $1 and status = 'parked' and parked_from is not null and steps is not null`,
      [id],
    );
    const present = definitions.find(({ name, version }) => name === found?.name && version === found.version);
    if (found === null || present === undefined || present.steps === found.steps) return null;
    return [placeIn(present, found), present.steps, found.steps];
  }

  /** Leaves out the compensation that parked a saga, and continues with the next one. */
  skip(id: string): Promise<void> {
    const set = "status = 'compensating', attempt = 0, lost = 0, step = step - 1";
    return this.#update(id, "skipped", "parked", set, "parked_from is null");
  }

  /** Compensates a saga that runs; ends one that is parked as it is. */
  async abort(id: string): Promise<void> {
    const parked = await this.#try(id, "aborted", "parked", "status = 'aborted', finished_at = clock_timestamp()");
    // Its driver learns of it with the next renewal of the lease; the next driver, with its claim.
    if (!parked) await this.#update(id, "abort asked for", "running", "cancel = true");
  }

  async #update(
    id: string,
    event: string,
    status: StoredStatus,
    set: string,
    where?: string,
    params?: readonly unknown[],
  ): Promise<void> {
    if (await this.#try(id, event, status, set, where, params)) return;
    const found = await this.get(id);
    if (found === null) throw noSaga(id);
    const reason = found.status === status ? `parked: ${found.error}` : `${found.status}, not ${status}`;
    throw new ValueError(`the saga ${show(id)} is ${reason}`);
  }

  async #try(
    id: string,
    event: string,
    status: StoredStatus,
    set: string,
    where = "true",
    params: readonly unknown[] = [],
  ): Promise<boolean> {
    if (typeof id !== "string") throw new ValueError(`the id of a saga is a string, not ${show(id)}`);
    if (!isStorable(id)) throw noSaga(id);
    const { db, storage, waits } = this.#around;
    const done = await boundedTransaction(db, async (tx) => {
      await waits.lockChild(tx, id);
      const changed = await tx.fetchval(
        `with s as (
           update ${storage.sagas} set ${set}, updated_at = clock_timestamp(),
             wake_at = case when owner is null then clock_timestamp() else wake_at end
           where id = $1 and status = $2 and ${where} returning id, token)
         insert into ${storage.log} (saga_id, event, token) select id, $3, token from s returning saga_id`,
        [id, status, event, ...params],
      );
      if (changed !== null) await waits.wakeParent(tx, id);
      return changed !== null;
    });
    if (done) this.#around.ring();
    return done;
  }
}

function noSaga(id: unknown): ValueError {
  return new ValueError(`there is no saga with the id ${show(id)}`);
}
