import { bodyLimit } from "../batteries/body-limit/feature.js";
import { caching } from "../batteries/cache/feature.js";
import { circuitBreaker } from "../batteries/circuit-breaker/feature.js";
import { compression } from "../batteries/compression/feature.js";
import { cors } from "../batteries/cors/feature.js";
import { csrf } from "../batteries/csrf/feature.js";
import { etag } from "../batteries/etag/feature.js";
import { health } from "../batteries/health/feature.js";
import { ipFilter } from "../batteries/ip-filter/feature.js";
import { livePage } from "../batteries/live/feature.js";
import { metrics } from "../batteries/metrics/feature.js";
import { openapi } from "../batteries/openapi/feature.js";
import { rateLimit } from "../batteries/rate-limit/feature.js";
import { requestContext } from "../batteries/request-context/feature.js";
import { requestId } from "../batteries/request-id/feature.js";
import { logging } from "../batteries/request-log/feature.js";
import { securityHeaders } from "../batteries/security-headers/feature.js";
import { sessions } from "../batteries/sessions/feature.js";
import { staticFiles } from "../batteries/static-files/feature.js";
import { trustProxy } from "../batteries/trust-proxy/feature.js";
import { webSockets } from "../batteries/websockets/feature.js";
import { database } from "../engines/db/feature.js";

/**
 * All features, once. `App` gains their members, in both spellings. They are prepared and opened in this order and closed
 * in reverse: engines first, because they share stores with the others; the API's documentation last, because it
 * describes the routes that the others add.
 */
export const features = [
  database,
  trustProxy,
  requestContext,
  requestId,
  logging,
  metrics,
  health,
  cors,
  securityHeaders,
  compression,
  etag,
  bodyLimit,
  ipFilter,
  rateLimit,
  sessions,
  csrf,
  caching,
  circuitBreaker,
  staticFiles,
  webSockets,
  livePage,
  openapi,
] as const;
