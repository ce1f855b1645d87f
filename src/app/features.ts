import { type BodyLimitFeature, bodyLimitFeature } from "../batteries/body-limit/feature.js";
import { type CachingFeature, cachingFeature, startCaching } from "../batteries/cache/feature.js";
import {
  type CircuitBreakerFeature,
  circuitBreakerFeature,
  startCircuitBreaker,
} from "../batteries/circuit-breaker/feature.js";
import { type CompressionFeature, compressionFeature } from "../batteries/compression/feature.js";
import { type CorsFeature, corsFeature } from "../batteries/cors/feature.js";
import { type CsrfFeature, csrfFeature } from "../batteries/csrf/feature.js";
import { type EtagFeature, etagFeature } from "../batteries/etag/feature.js";
import { type HealthFeature, healthFeature } from "../batteries/health/feature.js";
import { type IpFilterFeature, ipFilterFeature } from "../batteries/ip-filter/feature.js";
import { type LiveFeature, liveFeature } from "../batteries/live/feature.js";
import { type MetricsFeature, metricsFeature } from "../batteries/metrics/feature.js";
import { type OpenapiFeature, openapiFeature } from "../batteries/openapi/feature.js";
import { type RateLimitFeature, rateLimitFeature, startRateLimit } from "../batteries/rate-limit/feature.js";
import { type RequestContextFeature, requestContextFeature } from "../batteries/request-context/feature.js";
import { type RequestIdFeature, requestIdFeature } from "../batteries/request-id/feature.js";
import { type LoggingFeature, loggingFeature } from "../batteries/request-log/feature.js";
import { type SecurityHeadersFeature, securityHeadersFeature } from "../batteries/security-headers/feature.js";
import { type SessionsFeature, sessionsFeature } from "../batteries/sessions/feature.js";
import { type StaticFilesFeature, staticFilesFeature } from "../batteries/static-files/feature.js";
import { type TrustProxyFeature, trustProxyFeature } from "../batteries/trust-proxy/feature.js";
import { type DatabaseFeature, databaseFeature } from "../engines/db/feature.js";
import type { FeatureHost } from "../feature/feature.js";
import type { Middleware } from "../pipeline/middleware.js";

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
