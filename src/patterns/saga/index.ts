export type { AdminOptions } from "../admin/options.js";
export type { SagaAdmin, SagaCounts, SagaFilter, SagaInfo, SagaLogLine, SignalOptions } from "./admin.js";
export { SagaConfig, type SagaOptions } from "./config.js";
export {
  type Branch,
  type DefinedSaga,
  type FromContext,
  SagaDefinition,
  type SagaSettings,
  saga,
} from "./definition.js";
export { SagaConflictError } from "./errors.js";
export type { SagaHandle, SagaRun } from "./feature.js";
export type { SagaStatus } from "./row.js";
export { type SagaContext, type StepContext, type StepOptions, StepRefused, StepUnknown } from "./steps.js";
export type { StartOptions } from "./storage.js";
export {
  type EventWait,
  type Signal,
  type SignalWait,
  signal,
  type TopicWait,
  type WaitOptions,
  type WaitResult,
} from "./waits.js";
