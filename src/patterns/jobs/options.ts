import { adminOption } from "../../console/options.js";
import { isSchemaName } from "../../durable/schema-name.js";
import { isText } from "../../durable/texts.js";
import { isQueries } from "../../engines/db/is-queries.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { type Check, is, show } from "../../kit/options.js";
import { isDuration, readSeconds } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { isStandardSchema, type StandardSchema } from "../../validation/standard-schema.js";
import { every, parseCron, type Schedule } from "./cron.js";

/** Thrown by a job that must not be tried again. */
export class JobRefused extends Error {
  override name = "JobRefused";
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

const isSchema: Check<StandardSchema> = (value) => (isStandardSchema(value) ? undefined : "a schema");

/** Text that is no duration is read as cron. */
const isSchedule: Check<string | number> = (value) =>
  typeof value === "string" && value !== "" && readSeconds(value) === undefined ? undefined : isDuration(0.1)(value);

export const isKey: Check<string> = (value) =>
  isText(value) ?? ((value as string).length > 255 ? "a string of 1 to 255 characters" : undefined);

const isZone: Check<string> = (value) => {
  const allowed = 'a time zone, such as "Europe/Zurich"';
  if (typeof value !== "string") return allowed;
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
    return undefined;
  } catch {
    return allowed;
  }
};

const bounds = {
  /** Jobs that run at the same time. Default: no bound. */
  running: option(is.integer(1, 10_000)),
  /** Jobs that are begun within `per`. Default: no bound. */
  starts: option(is.integer(1, 10_000)),
  /** The time of `starts`. Default 1 second. */
  per: option.duration("1s", "10ms", "7d"),
};

const limitOptions = options("option 'limit' of app.job()", bounds, { refine: needsBound });

const keyLimitOptions = options(
  "option 'keyLimit' of app.job()",
  {
    /** The key of a job, made from its value when it is enqueued: a customer, a host. Required. */
    key: option.required<(value: never) => string>(is.function),
    ...bounds,
  },
  { refine: needsBound },
);

/** Bounds of the jobs of a name, over all machines. */
export interface JobLimit extends OptionsOf<typeof limitOptions.fields> {}
/** Bounds for each key of the jobs of a name, over all machines. */
export type JobKeyLimit<Value = never> = Omit<OptionsOf<typeof keyLimitOptions.fields>, "key"> & {
  /** The key of a job, made from its value when it is enqueued: a customer, a host. */
  readonly key: (value: Value) => string;
};

export type LimitSettings = SettingsOf<typeof bounds>;

function needsBound(
  { running, starts }: { readonly running: number | undefined; readonly starts: number | undefined },
  given: { readonly per?: number | undefined },
): void {
  if (running === undefined && starts === undefined)
    throw new ValueError("a limit of app.job() needs 'running', 'starts' or both");
  if (given.per !== undefined && starts === undefined)
    throw new ValueError("'per' of a limit of app.job() is the time of 'starts', which is not given");
}

const jobOptions = options("app.job()", {
  /** Checks the value when it is enqueued. */
  schema: option(isSchema),
  /** Attempts after the first one. Default 5. */
  retries: option(is.integer(0, 10_000), 5),
  /** Attempts without an end, as of a worker that was killed, after which the job has failed. Default 10. */
  maxLost: option(is.integer(0, 10_000), 10),
  /** Jobs of this name that one process runs at the same time. Default 10. */
  concurrency: option(is.integer(1, 10_000), 10),
  /** Time for one attempt. Default: no limit. */
  timeout: option.duration(null, "1ms", "24d"),
  /** Time before the first retry; doubled each time, up to an hour. Default 1 second. */
  backoff: option.duration("1s", "1ms", "1h"),
  /** Five fields of cron, `"0 4 * * mon-fri"`, or a duration. Each time one worker of all runs the job, without a value. */
  schedule: option(isSchedule),
  /** The time zone of a schedule of cron. Default `UTC`. */
  zone: option(isZone, "UTC"),
  /** With `"skip"` a time of the schedule adds no job while the job of an earlier time has not ended. Default `allow`. */
  overlap: option(is.oneOf("allow", "skip"), "allow"),
  /** Bounds for the jobs of this name, over all machines: `{ running, starts, per }`. */
  limit: option.made(is.object as Check<JobLimit>, (given) => limitOptions.read([given]), undefined),
  /** The same for each key: `{ key: ({ customer }) => customer, running: 1 }`. */
  keyLimit: option.made(is.object as Check<JobKeyLimit>, (given) => keyLimitOptions.read([given]), undefined),
});

export type JobOptions<Schema = undefined, Value = never> = Omit<
  OptionsOf<typeof jobOptions.fields>,
  "schema" | "keyLimit"
> & {
  /** Checks the value when it is enqueued. */
  readonly schema?: Schema | undefined;
  /** Bounds for each key, over all machines: `{ key: ({ customer }) => customer, running: 1 }`. */
  readonly keyLimit?: JobKeyLimit<Value> | undefined;
};

const added = {
  /** Time until it is due. Default 0. */
  delay: option.duration(0),
  /** Higher ones are run first. Default 0. */
  priority: option(is.integer(-32_768, 32_767), 0),
  /** The transaction to take part in. Default: the one around the caller, if there is one. */
  tx: option(isQueries),
};

const enqueueOptions = options("enqueue()", {
  /** While a job with this key is not finished, another one is not added. */
  key: option(isKey),
  /** Time for which the key stands for this job, also after its end and its deletion. Default 0: the key is free after the end. */
  keepKey: option.duration(0),
  ...added,
});

const manyOptions = options("enqueueMany()", {
  /** The key of each job, made from its value. */
  key: option<(value: never) => string>(is.function),
  ...added,
});

export type EnqueueManyOptions<Value = never> = Omit<OptionsOf<typeof manyOptions.fields>, "key"> & {
  /** The key of each job, made from its value: while a job with this key is not finished, another one is not added. */
  readonly key?: ((value: Value) => string) | undefined;
};

export const readEnqueueMany = (given: unknown): SettingsOf<typeof manyOptions.fields> => manyOptions.read([given]);

export interface EnqueueOptions extends OptionsOf<typeof enqueueOptions.fields> {}
export type EnqueueSettings = SettingsOf<typeof enqueueOptions.fields>;

export const jobsOptions = options("enableJobs()", {
  /** The schema of the tables in PostgreSQL. Default `stoa`. */
  schema: option(isSchemaName, "stoa"),
  /** Time after which another worker runs the jobs of a dead one. Default 6 seconds. */
  lease: option.duration("6s", "100ms", "1h"),
  /** Time between two looks for jobs where no notification arrives. Default 1 second. */
  poll: option.duration("1s", "10ms", "1h"),
  /** Time for which finished jobs are kept. Default 7 days. */
  retention: option.duration("7d"),
  /** The most finished jobs that are kept. Default 100000. */
  retentionCount: option(is.integer(0), 100_000),
  /** Serves pages and calls for operators: list, retry, cancel. Default: none. Outside of development it needs a guard. */
  admin: adminOption("/_jobs"),
});

export interface JobsOptions extends OptionsOf<typeof jobsOptions.fields> {}
export type JobsSettings = SettingsOf<typeof jobsOptions.fields>;

export interface JobSettings extends Omit<SettingsOf<typeof jobOptions.fields>, "schedule"> {
  readonly name: string;
  readonly schedule: Schedule | null;
  readonly run: (value: unknown, context: JobContext) => unknown;
}

export function readJob(name: string, given: unknown, run: JobSettings["run"]): JobSettings {
  if (typeof name !== "string" || !/^[\w .:-]{1,100}$/.test(name)) {
    throw new ValueError(
      `the name of a job must have 1 to 100 letters, digits, dots, colons, hyphens and spaces, not ${show(name)}`,
    );
  }
  if (typeof run !== "function")
    throw new ValueError("app.job() takes a name, options if there are any, and a function");
  const settings = jobOptions.read([given], `job ${show(name)}`);
  const { schedule, zone, overlap } = settings;
  const seconds = schedule === undefined ? undefined : readSeconds(schedule);
  if (zone !== "UTC" && (schedule === undefined || seconds !== undefined))
    throw new ValueError(`option 'zone' of job ${show(name)} needs a 'schedule' of cron`);
  if (overlap !== "allow" && schedule === undefined)
    throw new ValueError(`option 'overlap' of job ${show(name)} needs a 'schedule'`);
  const read = seconds === undefined ? parseCron : () => every(Math.round(seconds * 1000));
  return { ...settings, schedule: schedule === undefined ? null : read(String(schedule), zone), name, run };
}

const plainEnqueue = enqueueOptions.read([]);

export function readEnqueue(given: EnqueueOptions | undefined): EnqueueSettings {
  return given === undefined ? plainEnqueue : enqueueOptions.read([given]);
}
