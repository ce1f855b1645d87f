/**
 * What the features run on once one is enabled. It is one file when it is built, loaded at start: each file takes longer
 * to find and to open than forty kilobytes to read.
 */
export { healthReport, healthResponse } from "../../health/report.js";
export { databaseMetrics } from "../../metrics/database-metrics.js";
export * as exposition from "../../metrics/exposition.js";
export { HttpMetrics } from "../../metrics/http-metrics.js";
export { ProcessMetrics } from "../../metrics/process-metrics.js";
export { WorkerMetrics } from "../../metrics/worker-metrics.js";
export { ResponseCache } from "../../middleware/cache/response-cache.js";
export { circuitBreakers } from "../../middleware/circuit-breaker/circuit-breakers.js";
export { compression } from "../../middleware/compression/compression.js";
export { CsrfProtection } from "../../middleware/csrf/csrf.js";
export { rateLimits } from "../../middleware/rate-limit/rate-limits.js";
export { Sessions } from "../../middleware/sessions/sessions.js";
export { checkOperationIds } from "../../openapi/operation-id.js";
export { documentationRoutes } from "../../openapi/serve.js";
export { workerChannel } from "../../server/worker-channel.js";
