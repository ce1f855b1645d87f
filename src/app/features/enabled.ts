/**
 * What the features run on once one is enabled. It is one file when it is built, loaded at start: each file takes longer
 * to find and to open than forty kilobytes to read.
 */

export { ResponseCache } from "../../batteries/cache/response-cache.js";
export { circuitBreakers } from "../../batteries/circuit-breaker/circuit-breakers.js";
export { compression } from "../../batteries/compression/compression.js";
export { CsrfProtection } from "../../batteries/csrf/csrf.js";
export { healthReport, healthResponse } from "../../batteries/health/report.js";
export { databaseMetrics } from "../../batteries/metrics/database-metrics.js";
export * as exposition from "../../batteries/metrics/exposition.js";
export { HttpMetrics } from "../../batteries/metrics/http-metrics.js";
export { ProcessMetrics } from "../../batteries/metrics/process-metrics.js";
export { WorkerMetrics } from "../../batteries/metrics/worker-metrics.js";
export { checkOperationIds } from "../../batteries/openapi/operation-id.js";
export { documentationRoutes } from "../../batteries/openapi/serve.js";
export { rateLimits } from "../../batteries/rate-limit/rate-limits.js";
export { Sessions } from "../../batteries/sessions/sessions.js";
export { workerChannel } from "../../server/worker-channel.js";
