import type { Database, Queries } from "../../engines/db/database.js";
import { type Checks, is, readOptions, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { toIssues, ValidationError } from "../../validation/issues.js";
import { boundedTransaction } from "../storage/bounded-transaction.js";
import { isStorable, isText, jsonText } from "../storage/texts.js";
import type { DefinedSaga, SagaDefinition } from "./definition.js";
import type { SagaStatus, StoredStatus } from "./row.js";
import type { SagaStorage, StartOptions } from "./storage.js";
import { signalAddress, type WaitStorage } from "./wait-storage.js";
import { signal as readSignal, type Signal } from "./waits.js";

/** An execution of a saga. */
export interface SagaInfo {
  readonly id: string;
  /** The saga that began this one as its child; null for others. */
  readonly parentId: string | null;
  readonly name: string;
  readonly version: number;
  readonly status: SagaStatus;
  readonly input: unknown;
  /** The results of the steps that are done, by name. */
  readonly results: Readonly<Record<string, unknown>>;
  /** The reason of the compensation, or of the last failed attempt. */
  readonly error: string | null;
  /** The end of the present wait or the time of the next attempt; null if there is none. */
  readonly wakeAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly finishedAt: Date | null;
}

/** One line of the log of an execution. */
export interface SagaLogLine {
  readonly event: string;
  readonly step: string | null;
  readonly attempt: number | null;
  readonly error: string | null;
  readonly at: Date;
}

export interface SagaFilter {
  readonly status?: SagaStatus | undefined;
  readonly name?: string | undefined;
  /** Default 100, at most 1000. */
  readonly limit?: number | undefined;
  /** Only sagas that were created before this time, or before the execution with this id. */
  readonly before?: Date | string | undefined;
}

/** Counts of executions. */
export interface SagaCounts {
  /** Executions that have not ended, by status. */
  readonly open: Readonly<Partial<Record<SagaStatus, number>>>;
  /** Seconds that the oldest execution which is due has waited for a worker. */
  readonly oldestDueSeconds: number;
}

export interface SignalOptions {
  /** Sends of one key are one signal. */
  readonly key?: string | undefined;
  /** The transaction to take part in: the signal arrives if it is committed. Default: the one around the caller. */
  readonly tx?: Queries | undefined;
}

const statuses = ["running", "waiting", "compensating", "completed", "compensated", "parked", "aborted"] as const;

const filterChecks: Checks<SagaFilter> = {
  status: is.oneOf(...statuses),
  name: isText,
  limit: is.integer(1, 1000),
  before: (value) => (value instanceof Date || isText(value) === undefined ? undefined : "a Date or the id of a saga"),
};

const statusColumn = "case when status = 'running' and waiting_for is not null then 'waiting' else status end";
const columns = `id, parent_id as "parentId", name, version, ${statusColumn} as status, input, results, error,
  case when finished_at is null and status <> 'parked' then nullif(wake_at, 'infinity') end as "wakeAt",
  created_at as "createdAt", updated_at as "updatedAt", finished_at as "finishedAt"`;

/** The parts of a process that the calls need. */
interface Surroundings {
  readonly db: Database;
  readonly storage: SagaStorage;
  readonly waits: WaitStorage;
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
    const { key, tx = this.#around.db.current } = readOptions<SignalOptions>("signal()", options, {
      key: isText,
      tx: is.object,
    });
    if (!isStorable(id)) throw noSaga(id);
    let given: unknown = value;
    if (schema) {
      const result = await schema["~standard"].validate(value);
      if (result.issues) throw new ValidationError(toIssues(`signal ${name}`, result.issues, value));
      given = result.value;
    }
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
    const given = readOptions<SagaFilter>("sagas.list()", filter, filterChecks);
    const { db, storage } = this.#around;
    const params: unknown[] = [];
    const $ = (value: unknown): string => `$${params.push(value)}`;
    const where = ["true"];
    if (given.status !== undefined) where.push(`${statusColumn} = ${$(given.status)}`);
    if (given.name !== undefined) where.push(`name = ${$(given.name)}`);
    if (given.before instanceof Date) where.push(`created_at < ${$(given.before)}`);
    else if (given.before !== undefined) {
      where.push(`(created_at, id) < (${$(await this.#createdAt(given.before))}::timestamptz, ${$(given.before)})`);
    }
    return db.fetch<SagaInfo>(
      `select ${columns} from ${storage.sagas} where ${where.join(" and ")}
       order by created_at desc, id desc limit ${$(given.limit ?? 100)}`,
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

  /** The executions that have not ended, by status, and the age of the oldest that is due. */
  async counts(): Promise<SagaCounts> {
    const { db, storage } = this.#around;
    const rows = await db.fetch<{ status: SagaStatus; count: number; due: number | null }>(
      `select ${statusColumn} as status, count(*)::int as count,
         max(extract(epoch from clock_timestamp() - greatest(wake_at, lease_until)))
           filter (where status <> 'parked' and greatest(wake_at, lease_until) < clock_timestamp())::float8 as due
       from ${storage.sagas} where finished_at is null group by 1`,
    );
    const open: Partial<Record<SagaStatus, number>> = {};
    for (const row of rows) open[row.status] = row.count;
    return { open, oldestDueSeconds: Math.max(0, ...rows.map(({ due }) => due ?? 0)) };
  }

  /** Tries the compensation of a parked saga again; one of an unknown version goes on where it was. */
  resume(id: string): Promise<void> {
    const set = "status = coalesce(parked_from, 'compensating'), parked_from = null, attempt = 0";
    return this.#update(id, "resumed", "parked", set);
  }

  /** Leaves out the compensation that parked a saga, and goes on with the next one. */
  skip(id: string): Promise<void> {
    const set = "status = 'compensating', attempt = 0, step = step - 1";
    return this.#update(id, "skipped", "parked", set, "parked_from is null");
  }

  /** Compensates a saga that runs; ends one that is parked as it is. */
  async abort(id: string): Promise<void> {
    const parked = await this.#try(id, "aborted", "parked", "status = 'aborted', finished_at = clock_timestamp()");
    // Its driver learns of it with the next renewal of the lease; the next driver, with its claim.
    if (!parked) await this.#update(id, "abort asked for", "running", "cancel = true");
  }

  async #update(id: string, event: string, status: StoredStatus, set: string, where?: string): Promise<void> {
    if (await this.#try(id, event, status, set, where)) return;
    const found = await this.get(id);
    if (found === null) throw noSaga(id);
    const reason = found.status === status ? `parked: ${found.error}` : `${found.status}, not ${status}`;
    throw new ValueError(`the saga ${show(id)} is ${reason}`);
  }

  async #try(id: string, event: string, status: StoredStatus, set: string, where = "true"): Promise<boolean> {
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
        [id, status, event],
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
