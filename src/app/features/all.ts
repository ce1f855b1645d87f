import type { Middleware } from "../../pipeline/middleware.js";
import type { FeatureHost } from "../feature.js";
import { type BodyLimitFeature, bodyLimitFeature } from "./body-limit.js";
import { type CachingFeature, cachingFeature, startCaching } from "./caching.js";
import { type CircuitBreakerFeature, circuitBreakerFeature, startCircuitBreaker } from "./circuit-breaker.js";
import { type CompressionFeature, compressionFeature } from "./compression.js";
import { type CorsFeature, corsFeature } from "./cors.js";
import { type CsrfFeature, csrfFeature } from "./csrf.js";
import { type DatabaseFeature, databaseFeature } from "./database.js";
import { type EtagFeature, etagFeature } from "./etag.js";
import { type HealthFeature, healthFeature } from "./health.js";
import { type IpFilterFeature, ipFilterFeature } from "./ip-filter.js";
import { type LiveFeature, liveFeature } from "./live.js";
import { type LoggingFeature, loggingFeature } from "./logging.js";
import { type MetricsFeature, metricsFeature } from "./metrics.js";
import { type OpenapiFeature, openapiFeature } from "./openapi.js";
import { type RateLimitFeature, rateLimitFeature, startRateLimit } from "./rate-limit.js";
import { type RequestContextFeature, requestContextFeature } from "./request-context.js";
import { type RequestIdFeature, requestIdFeature } from "./request-id.js";
import { type SecurityHeadersFeature, securityHeadersFeature } from "./security-headers.js";
import { type SessionsFeature, sessionsFeature } from "./sessions.js";
import { type StaticFilesFeature, staticFilesFeature } from "./static-files.js";
import { type TrustProxyFeature, trustProxyFeature } from "./trust-proxy.js";

/** The methods of every feature. */
export interface Features
  extends TrustProxyFeature,
    SessionsFeature,
    IpFilterFeature,
    CsrfFeature,
    RateLimitFeature,
    CachingFeature,
    CircuitBreakerFeature,
    StaticFilesFeature,
    SecurityHeadersFeature,
    CompressionFeature,
    EtagFeature,
    BodyLimitFeature,
    RequestIdFeature,
    CorsFeature,
    DatabaseFeature,
    HealthFeature,
    MetricsFeature,
    OpenapiFeature,
    LiveFeature,
    LoggingFeature,
    RequestContextFeature {}

export const features: readonly object[] = [
  trustProxyFeature,
  sessionsFeature,
  ipFilterFeature,
  csrfFeature,
  rateLimitFeature,
  cachingFeature,
  circuitBreakerFeature,
  staticFilesFeature,
  securityHeadersFeature,
  compressionFeature,
  etagFeature,
  bodyLimitFeature,
  requestIdFeature,
  corsFeature,
  databaseFeature,
  healthFeature,
  metricsFeature,
  openapiFeature,
  liveFeature,
  loggingFeature,
  requestContextFeature,
];

/** Starts the features of which routes may have one of their own: whether they are needed is known when all routes are. */
export async function startRouteFeatures(host: FeatureHost): Promise<Middleware[]> {
  const starting = [startRateLimit(host), startCaching(host), startCircuitBreaker(host)];
  return (await Promise.all(starting)).filter((middleware) => middleware !== null);
}
