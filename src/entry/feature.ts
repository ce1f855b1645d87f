/**
 * The contract between an application and its features, for features from outside. Stoa's own features use the same: a
 * `feature.ts` in `src/` imports nothing else, but for the exceptions in scripts/check-floors.mjs.
 *
 * @packageDocumentation
 */
export type { HealthCheck, HealthCheckOptions, HealthResult } from "../batteries/health/check.js";
export { registerHealthCheck } from "../batteries/health/feature.js";
export type { Meter } from "../batteries/metrics/feature.js";
export { meterOf } from "../batteries/metrics/feature.js";
export { consoleSection } from "../console/add-section.js";
export type { LiveCell, LiveFact, LivePanel, LiveTable } from "../console/panels.js";
export { livePanels } from "../console/panels.js";
export type { ConsoleFilter, ConsoleSection, ConsoleView } from "../console/section.js";
export type { Inject } from "../di/depends.js";
export { type EngineFeatureDefinition, engineFeature as engine } from "../engines/engine-feature.js";
export { type Feature, type FeatureDefinition, type FeatureStages, feature } from "../feature/feature.js";
export {
  type Host,
  type HostPipeline,
  type HostRoute,
  type HostSocketRoute,
  isStarted,
  type Phase,
  perHost,
} from "../feature/host.js";
export { hostCookieName } from "../http/fields/cookies.js";
export type { RequestMembers } from "../http/request.js";
export { deferredClient, notStarted } from "../kit/before-start.js";
export {
  type ArgumentsOf,
  config,
  type Option,
  type OptionSet,
  type OptionsOf,
  option,
  options,
  type SettingsOf,
} from "../kit/config.js";
export type { ConfigOf } from "../kit/config-of.js";
export { decorating } from "../kit/decorating.js";
export type { Logger } from "../kit/logger.js";
export type { EitherSpelling } from "../kit/names.js";
export { type Check, is, show } from "../kit/options.js";
export { type Duration, milliseconds, seconds } from "../kit/time/duration.js";
export type { Span, Tracer } from "../kit/tracer.js";
export { ValueError } from "../kit/value-error.js";
export type { Middleware } from "../pipeline/middleware.js";
export {
  isPerProcess,
  perProcess,
  type SharedStores,
  type StoreExtension,
  type StoreRequest,
  type StoreSource,
} from "../pipeline/shared-stores.js";
export { type RouteDefinition, settingsOf } from "../routing/definition.js";
export type { OnlyKnown } from "../routing/handler.js";
export type { CommonRouteOptions } from "../routing/options.js";
export { joinPaths } from "../routing/pattern.js";
export type { Decorator } from "../routing/router.js";
export type { SchemaInput, SchemaOutput, StandardSchema } from "../validation/standard-schema.js";
