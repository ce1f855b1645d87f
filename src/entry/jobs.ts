export type { AdminOptions } from "../console/options.js";
export type { Job, JobAdmin, JobFilter } from "../patterns/jobs/feature.js";
export {
  type EnqueueOptions,
  type JobContext,
  type JobOptions,
  JobRefused,
  type JobsOptions,
} from "../patterns/jobs/options.js";
export type { JobCounts, JobInfo, JobStatus } from "../patterns/jobs/records.js";
