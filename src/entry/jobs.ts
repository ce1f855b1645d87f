export type { AdminOptions } from "../console/options.js";
export type { Job, JobAdmin, JobFilter } from "../patterns/jobs/feature.js";
export {
  type EnqueueManyOptions,
  type EnqueueOptions,
  type JobContext,
  type JobKeyLimit,
  type JobLimit,
  type JobOptions,
  JobRefused,
  type JobsOptions,
} from "../patterns/jobs/options.js";
export type { JobCounts, JobInfo, JobNameInfo, JobStatus } from "../patterns/jobs/records.js";
