import type { Database } from "../../engines/db/database.js";
import { type Checks, is, readOptions, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { SagaStatus } from "./storage.js";

/** An execution of a saga. */
export interface SagaInfo {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly status: SagaStatus;
  readonly input: unknown;
  /** The results of the steps that are done, by name. */
  readonly results: Readonly<Record<string, unknown>>;
  /** The reason of the compensation, or of the last failed attempt. */
  readonly error: string | null;
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
  /** Only sagas that were created before this. */
  readonly before?: Date | undefined;
}

const filterChecks: Checks<SagaFilter> = {
  status: is.oneOf("running", "compensating", "completed", "compensated", "parked", "aborted"),
  name: is.text,
  limit: is.integer(1, 1000),
  before: is.object,
};

const columns = `id, name, version, status, input, results, error,
  created_at as "createdAt", updated_at as "updatedAt", finished_at as "finishedAt"`;

/** The calls for operators: `app.sagas`. */
export class SagaAdmin {
  readonly #db: Database;
  readonly #sagas: string;
  readonly #log: string;
  readonly #changed: () => void;

  /** @internal */
  constructor(db: Database, schema: string, changed: () => void) {
    this.#db = db;
    this.#sagas = `"${schema}".sagas`;
    this.#log = `"${schema}".saga_log`;
    this.#changed = changed;
  }

  /** An execution; null if there is none with this id. */
  get(id: string): Promise<SagaInfo | null> {
    return this.#db.fetchrow<SagaInfo>(`select ${columns} from ${this.#sagas} where id = $1`, [id]);
  }

  /** Executions, the newest first. */
  list(filter: SagaFilter = {}): Promise<SagaInfo[]> {
    const { status, name, limit = 100, before } = readOptions<SagaFilter>("sagas.list()", filter, filterChecks);
    return this.#db.fetch<SagaInfo>(
      `select ${columns} from ${this.#sagas}
       where ($1::text is null or status = $1) and ($2::text is null or name = $2)
         and ($3::timestamptz is null or created_at < $3)
       order by created_at desc limit $4`,
      [status ?? null, name ?? null, before ?? null, limit],
    );
  }

  /** Every transition of an execution, in order. */
  log(id: string): Promise<SagaLogLine[]> {
    return this.#db.fetch<SagaLogLine>(
      `select event, step, attempt, error, at from ${this.#log} where saga_id = $1 order by number`,
      [id],
    );
  }

  /** Tries the compensation of a parked saga again. */
  resume(id: string): Promise<void> {
    return this.#update(id, "resumed", "parked", "status = 'compensating', attempt = 0");
  }

  /** Leaves out the compensation that parked a saga, and goes on with the next one. */
  skip(id: string): Promise<void> {
    return this.#update(id, "skipped", "parked", "status = 'compensating', attempt = 0, step = step - 1");
  }

  /** Compensates a saga that runs; ends one that is parked as it is. */
  async abort(id: string): Promise<void> {
    const parked = await this.#try(id, "aborted", "parked", "status = 'aborted', finished_at = clock_timestamp()");
    // Its driver learns of it with the next renewal of the lease; the next driver, with its claim.
    if (!parked) await this.#update(id, "abort asked for", "running", "cancel = true");
  }

  async #update(id: string, event: string, status: SagaStatus, set: string): Promise<void> {
    if (await this.#try(id, event, status, set)) return;
    const found = await this.get(id);
    if (found === null) throw new ValueError(`there is no saga with the id ${show(id)}`);
    throw new ValueError(`the saga ${show(id)} is ${found.status}, not ${status}`);
  }

  async #try(id: string, event: string, status: SagaStatus, set: string): Promise<boolean> {
    const done = await this.#db.fetchval(
      `with s as (
         update ${this.#sagas} set ${set}, updated_at = clock_timestamp(),
           wake_at = case when owner is null then clock_timestamp() else wake_at end
         where id = $1 and status = $2 returning id, token)
       insert into ${this.#log} (saga_id, event, token) select id, $3, token from s returning saga_id`,
      [id, status, event],
    );
    if (done !== null) this.#changed();
    return done !== null;
  }
}
