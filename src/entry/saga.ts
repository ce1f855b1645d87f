export type { AdminOptions } from "../console/options.js";
export type { SagaAdmin } from "../patterns/saga/admin.js";
export type { LoopOptions, Round } from "../patterns/saga/children.js";
export { SagaConfig, type SagaOptions } from "../patterns/saga/config.js";
export {
  type Branch,
  type DefinedSaga,
  type FromContext,
  SagaDefinition,
  type SagaSettings,
  saga,
} from "../patterns/saga/definition.js";
export { SagaConflictError } from "../patterns/saga/errors.js";
export type { SagaHandle, SagaRun } from "../patterns/saga/feature.js";
export type {
  SagaAttributes,
  SagaCounts,
  SagaFilter,
  SagaInfo,
  SagaLogLine,
  SignalOptions,
} from "../patterns/saga/info.js";
export type { SagaStatus } from "../patterns/saga/row.js";
export {
  type SagaContext,
  type StepContext,
  type StepOptions,
  StepRefused,
  StepUnknown,
} from "../patterns/saga/steps.js";
export type { StartOptions } from "../patterns/saga/storage.js";
export {
  type EventWait,
  type Signal,
  type SignalWait,
  signal,
  type TopicWait,
  type WaitOptions,
  type WaitResult,
} from "../patterns/saga/waits.js";
