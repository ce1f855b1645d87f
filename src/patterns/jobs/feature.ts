import { isText } from "../../durable/texts.js";
import { databaseOf } from "../../engines/db/feature.js";
import { feature } from "../../feature/feature.js";
import { type Host, isStarted, perHost } from "../../feature/host.js";
import { notStarted } from "../../kit/before-start.js";
import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../../validation/standard-schema.js";
import { Background } from "./background.js";
import type { Jobs } from "./jobs.js";
import {
  type EnqueueManyOptions,
  type EnqueueOptions,
  type JobContext,
  type JobOptions,
  type JobSettings,
  type JobsOptions,
  type JobsSettings,
  jobsOptions,
  readJob,
} from "./options.js";
import type { JobCounts, JobInfo, JobNameInfo, JobStatus } from "./records.js";

/** A kind of job. */
export interface Job<Input> {
  readonly name: string;
  /** Adds a job and returns its id. It runs on any worker, at least once. */
  enqueue(value: Input, options?: EnqueueOptions): Promise<string>;
  /** Adds many jobs by one statement: all of them or none. Returns their ids, in the order of the values. */
  enqueueMany(values: readonly Input[], options?: EnqueueManyOptions<Input>): Promise<string[]>;
}

/** The jobs, for operators. */
export interface JobAdmin {
  /** A job; null if there is none with this id. */
  get(id: string): Promise<JobInfo | null>;
  /** Jobs, the newest first. */
  list(filter?: JobFilter): Promise<JobInfo[]>;
  /** Runs a failed or cancelled job again; false if it is neither, or another one with its key is not finished. */
  retry(id: string): Promise<boolean>;
  /** Ends a job: at once if it waits, by its signal if it runs. False if it has ended. */
  cancel(id: string): Promise<boolean>;
  /** The number of jobs that wait, run and have failed, and the age of the oldest that is due. */
  counts(): Promise<JobCounts>;
  /** The jobs of each name: how many wait, run and have failed, and whether it is paused. */
  names(): Promise<JobNameInfo[]>;
  /** Begins no job of a name, on any machine, until `resume`. Those in progress continue; others can be added. */
  pause(name: string): Promise<void>;
  resume(name: string): Promise<void>;
}

const filter = declare("jobs.list()", {
  name: option(isText),
  status: option<JobStatus>(is.oneOf("waiting", "done", "failed", "cancelled")),
  /** Default 100, at most 1000. */
  limit: option(is.integer(1, 1000), 100),
  /** Only jobs that were added before the one with this id. */
  before: option(isText),
});

export interface JobFilter extends OptionsOf<typeof filter.fields> {}

export interface JobsFeature {
  /** Sets options of jobs. Not needed for their defaults. */
  enableJobs(options?: EitherSpelling<JobsOptions> | null): this;
  /** Declares a kind of job, and the function that runs it. Needs `enableDatabase()`: PostgreSQL, or PGlite. */
  job<Value = unknown>(name: string, run: (value: Value, context: JobContext) => unknown): Job<Value>;
  job<Value = unknown, Schema extends StandardSchema | undefined = undefined>(
    name: string,
    options: JobOptions<Schema, Schema extends StandardSchema ? SchemaOutput<Schema> : Value>,
    run: (value: Schema extends StandardSchema ? SchemaOutput<Schema> : Value, context: JobContext) => unknown,
  ): Job<Schema extends StandardSchema ? SchemaInput<Schema> : Value>;
  /** The jobs, for operators: list, retry, cancel. */
  readonly jobs: JobAdmin;
  /** Runs a function after the response. The end of the application waits for it; a killed process loses it. */
  background(work: () => unknown): void;
}

interface State {
  settings: JobsSettings;
  readonly declared: Map<string, JobSettings>;
  readonly background: Background;
  jobs: Jobs | null;
  onEnd?: Jobs["onEnd"];
}

const stateOf = perHost(
  (): State => ({ settings: jobsOptions.read([]), declared: new Map(), background: new Background(), jobs: null }),
);

export const jobsFeature = feature<JobsFeature>({
  name: "jobs",
  setup: {
    enableJobs(host, options) {
      stateOf(host).settings = jobsOptions.read([options]);
    },
  },
  methods: {
    job: declareJob,
    background(host, work) {
      if (typeof work !== "function") throw new ValueError(`app.background() takes a function, not ${show(work)}`);
      stateOf(host).background.start(work, () => host.logger);
    },
  },
  values: {
    jobs: (host) => ({
      get: (id) => jobsOf(host).get(id),
      async list(given) {
        const { name = null, status = null, limit, before = null } = filter.read([given]);
        return jobsOf(host).list(name, status, limit, before);
      },
      retry: (id) => jobsOf(host).retry(id),
      cancel: (id) => jobsOf(host).cancel(id),
      counts: () => jobsOf(host).records.counts(),
      names: () => jobsOf(host).names(),
      pause: (name) => jobsOf(host).pause(name),
      resume: (name) => jobsOf(host).resume(name),
    }),
  },
  async prepare(host) {
    const { declared, settings } = stateOf(host);
    if (declared.size === 0 && settings.admin === undefined) return;
    const { prepareJobs } = await import("./operations.js");
    stateOf(host).onEnd = prepareJobs(host, settings, () => jobsOf(host));
  },
  async open(host) {
    const state = stateOf(host);
    if (state.declared.size === 0 && state.settings.admin === undefined) return;
    const db = databaseOf(host, "app.job()");
    const { Jobs } = await import("./jobs.js");
    state.jobs = new Jobs(db, state.settings, host.logger, host.tracer, state.onEnd);
    await state.jobs.open(state.declared.values());
  },
  async drain(host) {
    const { jobs, background } = stateOf(host);
    await Promise.all([jobs?.drain(), background.drain(host.logger)]);
  },
  close: (host) => stateOf(host).jobs?.close(),
});

function declareJob(host: Host, name: string, ...given: readonly unknown[]) {
  const state = stateOf(host);
  const [options, run] = given.length === 1 ? [{}, ...given] : given;
  const settings = readJob(name, options, run as JobSettings["run"]);
  if (state.declared.has(name)) throw new ValueError(`there are two jobs with the name ${show(name)}`);
  if (host.phase !== "new")
    throw new ValueError(`app.job() must be called before the application starts: ${show(name)}`);
  state.declared.set(name, settings);
  const used = `the job ${show(name)}`;
  return {
    name,
    enqueue: (value: unknown, given?: EnqueueOptions) => {
      const { jobs } = state;
      return jobs === null ? Promise.reject(tooEarly(host, used)) : jobs.enqueue(settings, value, given);
    },
    enqueueMany: async (values: readonly unknown[], given?: EnqueueManyOptions) =>
      jobsOf(host, used).enqueueMany(settings, values, given),
  };
}

/** The jobs of an application that has started; null if it has none. */
export function startedJobs(host: Host): Jobs | null {
  return stateOf(host).jobs;
}

function jobsOf(host: Host, used = "app.jobs"): Jobs {
  const { jobs } = stateOf(host);
  if (jobs === null) throw tooEarly(host, used);
  return jobs;
}

/** A ValueError, because its stack begins with the line of the caller. */
function tooEarly(host: Host, used: string): Error {
  return new ValueError(isStarted(host) ? "app.jobs needs app.job()" : notStarted(used));
}
