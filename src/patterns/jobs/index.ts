export type { AdminOptions } from "../admin/options.js";
export type { Job, JobAdmin, JobFilter } from "./feature.js";
export { type EnqueueOptions, type JobContext, type JobOptions, JobRefused, type JobsOptions } from "./options.js";
export type { JobCounts, JobInfo, JobStatus } from "./records.js";
