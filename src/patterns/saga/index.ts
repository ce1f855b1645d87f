export type { SagaAdmin, SagaFilter, SagaInfo, SagaLogLine } from "./admin.js";
export { SagaConfig, type SagaOptions } from "./config.js";
export {
  SagaDefinition,
  type SagaSettings,
  type StepContext,
  type StepOptions,
  StepRefused,
  saga,
} from "./definition.js";
export type { SagaHandle, SagaRun } from "./feature.js";
export type { StartOptions } from "./sagas.js";
export type { SagaStatus } from "./storage.js";
