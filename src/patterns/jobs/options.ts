import type { Queries } from "../../engines/db/database.js";
import { type Checks, is, readOptions, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { isStandardSchema, type StandardSchema } from "../../validation/standard-schema.js";
import { type AdminOptions, isAdminOptions } from "../admin/options.js";
import { isSchemaName } from "../storage/schema-name.js";
import { isText } from "../storage/texts.js";
import { every, parseCron, type Schedule } from "./cron.js";

/** Thrown by a job that must not be tried again. */
export class JobRefused extends Error {
  override name = "JobRefused";
}

export interface JobOptions<Schema = undefined> {
  /** Checks the value when it is enqueued. */
  readonly schema?: Schema | undefined;
  /** Attempts after the first one. Default 5. */
  readonly retries?: number | undefined;
  /** Jobs of this name that one process runs at the same time. Default 10. */
  readonly concurrency?: number | undefined;
  /** Milliseconds of one attempt. Default: no limit. */
  readonly timeout?: number | undefined;
  /** Milliseconds before the first retry; doubled each time, up to an hour. Default 1000. */
  readonly backoff?: number | undefined;
  /** Five fields of cron in UTC, `"0 4 * * *"`, or milliseconds. Each time one worker of all runs the job, without a value. */
  readonly schedule?: string | number | undefined;
}

export interface EnqueueOptions {
  /** Milliseconds until it is due. Default 0. */
  readonly delay?: number | undefined;
  /** While a job with this key is not finished, another one is not added. */
  readonly key?: string | undefined;
  /** Higher ones are run first. Default 0. */
  readonly priority?: number | undefined;
  /** The transaction to take part in. Default: the one around the caller, if there is one. */
  readonly tx?: Queries | undefined;
}

export interface JobContext {
  readonly id: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborted when the time is over, the job was cancelled or another worker runs it. */
  readonly signal: AbortSignal;
  /** Keeps a value that `app.jobs.get(id)` shows. */
  progress(value: unknown): Promise<void>;
}

export interface JobsOptions {
  /** The schema of the tables in PostgreSQL. Default `stoa`. */
  schema?: string;
  /** Milliseconds after which another worker runs the jobs of a dead one. Default 6000. */
  leaseMs?: number;
  /** Milliseconds between two looks for jobs where no notification arrives. Default 1000. */
  pollMs?: number;
  /** Days that finished jobs are kept. Default 7. */
  retentionDays?: number;
  /** The most finished jobs that are kept. Default 100000. */
  retentionCount?: number;
  /** Serves pages and calls for operators: list, retry, cancel. Default: none. Outside of development it needs a guard. */
  admin?: AdminOptions | undefined;
}

export type JobsSettings = Required<Omit<JobsOptions, "admin">> & { readonly admin?: AdminOptions | undefined };

const jobChecks: Checks<JobOptions<unknown>> = {
  schema: (value) => (isStandardSchema(value) ? undefined : "a schema"),
  retries: is.integer(0, 10_000),
  concurrency: is.integer(1, 10_000),
  timeout: is.integer(1, 2_147_483_647),
  backoff: is.integer(1, 3_600_000),
  schedule: is.either(is.text, is.integer(100)),
};

const jobsChecks: Checks<JobsOptions> = {
  schema: isSchemaName,
  leaseMs: is.integer(100, 3_600_000),
  pollMs: is.integer(10, 3_600_000),
  retentionDays: is.number(0),
  retentionCount: is.integer(0),
  admin: isAdminOptions,
};

const enqueueChecks: Checks<EnqueueOptions> = {
  delay: is.number(0, 1e15),
  key: isText,
  priority: is.integer(-32_768, 32_767),
  tx: is.object,
};

export interface JobSettings {
  readonly name: string;
  readonly schema: StandardSchema | undefined;
  readonly retries: number;
  readonly concurrency: number;
  readonly timeout: number;
  readonly backoff: number;
  readonly schedule: Schedule | null;
  readonly run: (value: unknown, context: JobContext) => unknown;
}

export function readJob(name: string, options: JobOptions<unknown>, run: JobSettings["run"]): JobSettings {
  if (typeof name !== "string" || !/^[\w .:-]{1,100}$/.test(name)) {
    throw new ValueError(
      `the name of a job must have 1 to 100 letters, digits, dots, colons, hyphens and spaces, not ${show(name)}`,
    );
  }
  if (typeof run !== "function") throw new ValueError("app.job() takes a name, options and a function");
  const given = readOptions<JobOptions<unknown>>(`job ${show(name)}`, options, jobChecks);
  const { schedule } = given;
  return {
    name,
    schema: given.schema as StandardSchema | undefined,
    retries: given.retries ?? 5,
    concurrency: given.concurrency ?? 10,
    timeout: given.timeout ?? Infinity,
    backoff: given.backoff ?? 1000,
    schedule: schedule === undefined ? null : typeof schedule === "number" ? every(schedule) : parseCron(schedule),
    run,
  };
}

export function readEnqueue(options: EnqueueOptions | undefined): Partial<EnqueueOptions> {
  const given = readOptions<EnqueueOptions>("enqueue()", options, enqueueChecks);
  if (given.key !== undefined && given.key.length > 255) {
    throw new ValueError("option 'key' in enqueue() must be a string of 1 to 255 characters");
  }
  return given;
}

export function readJobsOptions(given: unknown): JobsSettings {
  const defaults = { schema: "stoa", leaseMs: 6000, pollMs: 1000, retentionDays: 7, retentionCount: 100_000 };
  return { ...defaults, ...readOptions<JobsOptions>("enableJobs()", given, jobsChecks) };
}
