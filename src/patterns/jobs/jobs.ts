import { type AttemptOutcome, attempt } from "../../durable/attempt.js";
import { Doorbell } from "../../durable/doorbell.js";
import { type Gate, gateOf } from "../../durable/gate.js";
import { LeasedWorker, type WorkEnd, type WorkSignals } from "../../durable/leased-worker.js";
import { LowMark } from "../../durable/low-mark.js";
import { newOwner, pulseOf, watched } from "../../durable/pulse.js";
import { deleteFinished, deleteKept, mostKept } from "../../durable/retention.js";
import { addingSpan, attemptSpan, inSpan } from "../../durable/stored-trace.js";
import { installTables } from "../../durable/tables.js";
import { errorText, jsonText } from "../../durable/texts.js";
import type { Database, Queries } from "../../engines/db/database.js";
import { isInstance } from "../../errors/describe.js";
import type { Logger } from "../../kit/logger.js";
import { show } from "../../kit/options.js";
import { didYouMean } from "../../kit/suggest.js";
import { backoff } from "../../kit/time/backoff.js";
import { milliseconds } from "../../kit/time/duration.js";
import type { Span, Tracer } from "../../kit/tracer.js";
import { ValueError } from "../../kit/value-error.js";
import { LimitedClaims, limitText } from "./limits.js";
import { checked, keyOf, type NewJob, newJob } from "./new-job.js";
import { NextDue } from "./next-due.js";
import {
  type EnqueueManyOptions,
  type EnqueueOptions,
  type EnqueueSettings,
  JobRefused,
  type JobSettings,
  type JobsSettings,
  readEnqueue,
  readEnqueueMany,
} from "./options.js";
import { type JobInfo, type JobNameInfo, JobRecords, type JobStatus } from "./records.js";
import { JobSchedules } from "./schedules.js";
import { type JobRow, JobStorage } from "./storage.js";
import { jobTables } from "./tables.js";

const drainGrace = 10_000;
const sweepInterval = 600_000;
const longestPause = 3_600_000;
/** Losses after which a job may be one that ends its process. The first may be a deployment. */
const suspectAfter = 2;

/** The end of an attempt, for metrics. */
export type AttemptEnd = "done" | "retried" | "failed" | "cancelled" | "lost";

/** The jobs of one process: their workers, their schedules, and the calls that manage them. */
export class Jobs {
  readonly storage: JobStorage;
  readonly records: JobRecords;
  readonly #schedules: JobSchedules;
  readonly #leaseMs: number;
  readonly #pollMs: number;
  readonly #gate: Gate;
  readonly #doorbell: Doorbell;
  readonly #names: string[] = [];
  /** The limits of each name of this program, in words. */
  readonly limits = new Map<string, string>();
  readonly #workers: LeasedWorker<JobRow>[] = [];
  #leave: (() => Promise<void>) | null = null;
  #sweeping: NodeJS.Timeout | null = null;

  constructor(
    readonly db: Database,
    readonly settings: JobsSettings,
    readonly logger: Logger,
    readonly tracer: Tracer | null,
    /** Called at the end of each attempt, with its seconds. */
    readonly onEnd: (name: string, end: AttemptEnd, seconds: number) => void = () => {},
  ) {
    const owner = newOwner();
    this.#leaseMs = milliseconds(settings.lease);
    this.#pollMs = milliseconds(settings.poll);
    this.#gate = gateOf(db);
    this.storage = new JobStorage(db, settings.schema, owner, this.#leaseMs, () => this.#doorbell.ring());
    this.records = new JobRecords(db, this.storage);
    this.#schedules = new JobSchedules(db, settings.schema, this.#pollMs, logger, (job, tx) => this.#insert(job, tx));
    this.#doorbell = new Doorbell(db, `${settings.schema}_jobs`, logger);
  }

  async open(jobs: Iterable<JobSettings>): Promise<void> {
    await installTables(this.db, this.settings.schema, jobTables);
    await this.#doorbell.open();
    const { schema, leaseMs, owner } = this.storage;
    const running = (): string[] => this.#workers.flatMap((worker) => worker.running());
    this.#leave = await pulseOf(this.db, this.logger).join({ schema, leaseMs, owner, running });
    for (const job of jobs) this.add(job);
    this.#sweeping = setInterval(() => void this.#sweep(), sweepInterval).unref();
    void this.#sweep(true);
  }

  add(job: JobSettings): void {
    this.#names.push(job.name);
    this.limits.set(job.name, limitText(job));
    const due = new NextDue(this.storage, job.name);
    const limited = job.limit || job.keyLimit ? new LimitedClaims(this.storage, job) : null;
    const mark = new LowMark(() => this.storage.lowest(job.name));
    const worker = new LeasedWorker<JobRow>(
      {
        name: `jobs '${job.name}'`,
        concurrency: job.concurrency,
        leaseMs: this.#leaseMs,
        pollMs: this.#pollMs,
        gate: this.#gate,
      },
      {
        claim: (limit, inProgress) =>
          mark.claim(
            (low) => limited?.claim(limit, inProgress, low) ?? this.storage.claim(job.name, limit, inProgress, low),
          ),
        renew: (items) => this.storage.renew(items),
        nextDue: async () => limited?.wait ?? due.next(),
        run: (row, signals, end) => this.#run(job, row, signals, end),
        describe: (row) => nameOf(job, row),
      },
      this.logger,
    );
    this.#workers.push(worker);
    this.#doorbell.onRing(worker.wake);
    if (job.schedule !== null) this.#schedules.start(job, job.schedule);
  }

  enqueue(job: JobSettings, given: unknown, options?: EnqueueOptions): Promise<string> {
    try {
      const settings = readEnqueue(options);
      // Here and not after the check: that may leave the transaction around the caller.
      const tx = settings.tx ?? this.db.current;
      if (job.schema === undefined) return this.#enqueue(job, given, settings, tx);
      return checked(job, given).then((value) => this.#enqueue(job, value, settings, tx));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async enqueueMany(job: JobSettings, given: readonly unknown[], options?: EnqueueManyOptions): Promise<string[]> {
    const { key, delay, priority, tx = this.db.current } = readEnqueueMany(options);
    if (!Array.isArray(given)) throw new ValueError(`enqueueMany() takes a list of values, not ${show(given)}`);
    const values = await Promise.all(given.map((value) => checked(job, value)));
    const add = async (trace: Pick<NewJob, "trace">): Promise<string[]> => {
      const items = values.map((value) => {
        const own = key === undefined ? null : keyOf("option 'key' of enqueueMany()", key, value);
        return { ...newJob(job, value, own, delay, priority), ...trace };
      });
      const ids = await this.storage.addMany(items, tx);
      if (tx.kind !== "database") this.#doorbell.ringAfter(tx);
      return ids;
    };
    if (this.tracer === null) return add({});
    const span = addingSpan(this.tracer, "enqueue", job.name);
    return inSpan(
      span,
      () => add({ trace: span.headers() }),
      (ids) => `${ids.length} jobs`,
    );
  }

  #enqueue(job: JobSettings, given: unknown, settings: EnqueueSettings, tx: Queries): Promise<string> {
    const { key = null, keepKey, delay, priority } = settings;
    if (keepKey > 0 && key === null) throw new ValueError("option 'keepKey' of enqueue() needs 'key'");
    const added = { ...newJob(job, given, key, delay, priority), keepKey };
    if (this.tracer === null) return this.#add(added, tx);
    const span = addingSpan(this.tracer, "enqueue", job.name);
    return inSpan(
      span,
      () => this.#add({ ...added, trace: span.headers() }, tx),
      (id) => id,
    );
  }

  #add(job: NewJob, tx: Queries): Promise<string> {
    return tx.kind === "database" ? this.storage.add(job) : this.#insert(job, tx);
  }

  get(id: string): Promise<JobInfo | null> {
    return isId(id) ? this.records.get(id) : Promise.resolve(null);
  }

  async list(name: string | null, status: JobStatus | null, limit: number, before: string | null): Promise<JobInfo[]> {
    if (before !== null && !isId(before))
      throw new ValueError(`option 'before' is the id of a job, not ${show(before)}`);
    return this.records.list(name, status, limit, before);
  }

  async retry(id: string): Promise<boolean> {
    const done = isId(id) && (await this.records.retry(id));
    if (done) this.#doorbell.ring();
    return done;
  }

  async cancel(id: string): Promise<boolean> {
    return isId(id) && this.records.cancel(id);
  }

  /** Begins no job of a name on any machine; those in progress continue. */
  async pause(name: string): Promise<void> {
    this.#declared(name);
    await this.db.execute(`insert into ${this.storage.pauses} (name) values ($1) on conflict do nothing`, [name]);
  }

  async resume(name: string): Promise<void> {
    this.#declared(name);
    await this.db.execute(`delete from ${this.storage.pauses} where name = $1`, [name]);
    this.#doorbell.ring();
  }

  names(): Promise<JobNameInfo[]> {
    return this.records.names(this.#names);
  }

  #declared(name: string): void {
    if (!this.#names.includes(name))
      throw new ValueError(`there is no job with the name ${show(name)}${didYouMean(String(name), this.#names)}`);
  }

  /** The names of jobs of this program that are due or in progress. */
  async due(): Promise<string[]> {
    const rows = await this.db.fetch<{ name: string }>(
      `select name from ${this.storage.table} where finished_at is null and run_at <= clock_timestamp() and name = any ($1)
         and (owner is not null or name not in (select name from ${this.storage.pauses}))
       union select name from ${this.#schedules.table} where next_at <= clock_timestamp() and name = any ($1)`,
      [this.#names],
    );
    return rows.map(({ name }) => `job '${name}'`);
  }

  /** Changes the stored times as if so many milliseconds had passed; for tests. */
  async pass(ms: number): Promise<void> {
    const time = "$1::float8 * interval '1 millisecond'";
    await this.db.transaction(async (tx) => {
      await tx.execute(`update ${this.storage.table} set run_at = run_at - ${time} where finished_at is null`, [ms]);
      await tx.execute(`update ${this.storage.keys} set until = until - ${time}`, [ms]);
      await tx.execute(`update "${this.settings.schema}".job_starts set at = at - ${time}`, [ms]);
      await tx.execute(`update ${this.#schedules.table} set next_at = next_at - ${time}`, [ms]);
    });
    this.#schedules.wake();
    this.#doorbell.ring();
  }

  async drain(): Promise<void> {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    await Promise.all([this.#schedules.stop(), ...this.#workers.map((worker) => worker.drain(drainGrace))]);
  }

  async close(): Promise<void> {
    await this.#leave?.();
    await this.#doorbell.close();
  }

  async #insert(job: NewJob, tx: Queries): Promise<string> {
    const { id, isNew } = await this.storage.insert(job, tx);
    if (isNew) this.#doorbell.ringAfter(tx);
    return id;
  }

  #run(job: JobSettings, row: JobRow, signals: WorkSignals, end: WorkEnd): void {
    const failed = (error: unknown): void => end(true, error);
    // A job that ends its process each time is not run without end.
    if (row.cancel || row.lost > job.maxLost) {
      const [status, error] = row.cancel
        ? (["cancelled", null] as const)
        : (["failed", "the job did not end"] as const);
      void this.#settle(row, status, error).then(() => end(false), failed);
      return;
    }
    // Jobs that were lost together, and one of them has ended the process: after pauses by chance they are not begun together.
    const reason = `the worker of the job was lost ${row.lost} times`;
    if (row.lost >= suspectAfter && row.error !== reason) {
      const pause = backoff(row.lost - suspectAfter, 1000, longestPause, 2, 1);
      void this.storage.postpone(row, pause, reason).then(() => end(true), failed);
      return;
    }
    const span = this.#span(job, row);
    const begin = performance.now();
    const ended = (how: AttemptEnd): void => this.onEnd(job.name, how, (performance.now() - begin) / 1000);
    // A limit may have held the next one back, on any worker.
    const isLimited = job.limit !== undefined || job.keyLimit !== undefined;
    attempt(
      (current) => {
        const progress = (value: unknown): Promise<void> =>
          this.storage.progress(row, jsonText(value, "the progress of a job"));
        const context = {
          id: row.id,
          attempt: row.attempts,
          progress,
          get signal() {
            return current.signal;
          },
        };
        const run = (): unknown =>
          watched(
            () => nameOf(job, row),
            () => job.run(row.value, context),
          );
        return span === null ? run() : span.run(run);
      },
      job.timeout === undefined ? Infinity : milliseconds(job.timeout),
      signals,
      (outcome) => {
        span?.end("error" in outcome ? outcome.error : undefined);
        if (outcome.kind === "done") {
          const finished = (held: boolean): void => {
            if (!held) this.#tellReplaced(row);
            ended("done");
            end(isLimited);
          };
          this.storage.finish(row, finished, failed);
        } else if (outcome.kind === "lost") {
          ended("lost");
          end(isLimited);
        } else {
          const settled = (status: JobStatus): void => {
            ended(status === "waiting" ? "retried" : status);
            end(isLimited || status === "waiting");
          };
          void this.#fail(job, row, outcome, signals).then(settled, failed);
        }
      },
      () =>
        this.storage.finish(
          row,
          () => {},
          (error) => this.logger.warn("a job is done, and this was not stored", { id: row.id, error }),
        ),
    );
  }

  /** The span of an attempt; null without telemetry. */
  #span(job: JobSettings, row: JobRow): Span | null {
    if (this.tracer === null) return null;
    return attemptSpan(this.tracer, `job ${job.name}`, row.trace, {
      "messaging.destination.name": job.name,
      "messaging.message.id": row.id,
      "stoa.job.name": job.name,
      "stoa.job.id": row.id,
      "stoa.job.attempt": row.attempts,
    });
  }

  /** Ends a job whose attempt has failed, or gives it back for another one. */
  async #fail(
    job: JobSettings,
    row: JobRow,
    { error }: Extract<AttemptOutcome, { error: unknown }>,
    signals: WorkSignals,
  ): Promise<JobStatus> {
    if (signals.cancelled.aborted) return this.#settle(row, "cancelled", null);
    const text = errorText(error);
    const fields = { job: job.name, id: row.id, attempt: row.attempts, error };
    // Attempts whose worker was lost are not failures of the job.
    const failures = row.attempts - row.lost;
    if (failures > job.retries || isInstance(error, JobRefused)) {
      this.logger.error("a job failed", fields);
      return this.#settle(row, "failed", text);
    }
    this.logger.warn("a job failed and is tried again", fields);
    const retryAfter = backoff(failures - 1, job.backoff * 1000, longestPause);
    await this.storage.settle(row, { status: "waiting", error: text, retryAfter });
    return "waiting";
  }

  async #settle(row: JobRow, status: JobStatus, error: string | null): Promise<JobStatus> {
    if (!(await this.storage.settle(row, { status, error }))) this.#tellReplaced(row);
    return status;
  }

  #tellReplaced(row: JobRow): void {
    this.logger.warn("a job is run by another worker now", { id: row.id });
  }

  async #sweep(isFirst = false): Promise<void> {
    const { retention: age, retentionCount: count } = this.settings;
    try {
      await this.#gate.run(async () => {
        if (isFirst) await this.storage.afterSetBack();
        await deleteFinished(this.db, this.storage.table, { age, count });
        await deleteKept(this.db, this.storage.keys, mostKept);
      });
    } catch (error) {
      this.logger.warn("finished jobs were not deleted", { error });
    }
  }
}

function nameOf({ name }: JobSettings, { id }: JobRow): string {
  return `job '${name}' ${id}`;
}

function isId(id: unknown): id is string {
  if (typeof id !== "string") throw new ValueError(`the id of a job is a string, not ${show(id)}`);
  return /^\d{1,18}$/.test(id);
}
