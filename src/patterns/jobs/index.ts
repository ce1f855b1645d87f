export type { Job, JobAdmin, JobFilter } from "./feature.js";
export { type EnqueueOptions, type JobContext, type JobOptions, JobRefused, type JobsOptions } from "./options.js";
export type { JobInfo, JobStatus } from "./storage.js";
