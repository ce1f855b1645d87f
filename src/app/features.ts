import { graphqlFeature } from "../apis/graphql/feature.js";
import { grpcFeature } from "../apis/grpc/feature.js";
import { mcpFeature } from "../apis/mcp/feature.js";
import { bodyLimitFeature } from "../batteries/body-limit/feature.js";
import { cachingFeature } from "../batteries/cache/feature.js";
import { circuitBreakerFeature } from "../batteries/circuit-breaker/feature.js";
import { compressionFeature } from "../batteries/compression/feature.js";
import { corsFeature } from "../batteries/cors/feature.js";
import { csrfFeature } from "../batteries/csrf/feature.js";
import { etagFeature } from "../batteries/etag/feature.js";
import { healthFeature } from "../batteries/health/feature.js";
import { ipFilterFeature } from "../batteries/ip-filter/feature.js";
import { livePageFeature } from "../batteries/live/feature.js";
import { metricsFeature } from "../batteries/metrics/feature.js";
import { openapiFeature } from "../batteries/openapi/feature.js";
import { rateLimitFeature } from "../batteries/rate-limit/feature.js";
import { requestContextFeature } from "../batteries/request-context/feature.js";
import { requestIdFeature } from "../batteries/request-id/feature.js";
import { loggingFeature } from "../batteries/request-log/feature.js";
import { roomsFeature } from "../batteries/rooms/feature.js";
import { securityHeadersFeature } from "../batteries/security-headers/feature.js";
import { sessionsFeature } from "../batteries/sessions/feature.js";
import { staticFilesFeature } from "../batteries/static-files/feature.js";
import { telemetryFeature } from "../batteries/telemetry/feature.js";
import { trustProxyFeature } from "../batteries/trust-proxy/feature.js";
import { trustedHostsFeature } from "../batteries/trusted-hosts/feature.js";
import { webSocketsFeature } from "../batteries/websockets/feature.js";
import { databaseFeature } from "../engines/db/feature.js";
import { kvstoreFeature } from "../engines/kvstore/feature.js";
import { amqpFeature } from "../engines/messaging/amqp/feature.js";
import { asyncapiFeature } from "../engines/messaging/asyncapi/feature.js";
import { messagingFeature } from "../engines/messaging/feature.js";
import { logBrokerFeature } from "../engines/messaging/kafka/feature.js";
import { memoryBrokerFeature } from "../engines/messaging/memory/feature.js";
import { cloudQueueFeature } from "../engines/messaging/sqs/feature.js";
import { supervisorStateFeature } from "../engines/supervisor-state/feature.js";
import { migrationsFeature } from "../migrations/feature.js";
import { cqrsFeature } from "../patterns/cqrs/feature.js";
import { eventSourcingFeature } from "../patterns/events/feature.js";
import { jobsFeature } from "../patterns/jobs/feature.js";
import { outboxFeature } from "../patterns/outbox/feature.js";
import { sagaFeature } from "../patterns/saga/feature.js";
import type { Keeper } from "../server/run-target.js";

/**
 * All features, once. `App` gains their members, in both spellings. They are prepared and opened in this order and closed
 * in reverse. Telemetry is first: it sees the others open and close. Then come engines, which share stores with the others, and
 * migrations right behind the database. The API's documentation is last: it describes the routes that the others add.
 */
export const features = [
  telemetryFeature,
  databaseFeature,
  migrationsFeature,
  supervisorStateFeature,
  kvstoreFeature,
  memoryBrokerFeature,
  logBrokerFeature,
  amqpFeature,
  cloudQueueFeature,
  messagingFeature,
  outboxFeature,
  eventSourcingFeature,
  sagaFeature,
  jobsFeature,
  cqrsFeature,
  trustProxyFeature,
  requestContextFeature,
  requestIdFeature,
  loggingFeature,
  metricsFeature,
  trustedHostsFeature,
  healthFeature,
  corsFeature,
  securityHeadersFeature,
  compressionFeature,
  etagFeature,
  bodyLimitFeature,
  ipFilterFeature,
  rateLimitFeature,
  sessionsFeature,
  csrfFeature,
  cachingFeature,
  circuitBreakerFeature,
  staticFilesFeature,
  webSocketsFeature,
  roomsFeature,
  graphqlFeature,
  grpcFeature,
  mcpFeature,
  livePageFeature,
  asyncapiFeature,
  openapiFeature,
] as const;

/** Of the database: a reloader keeps it open, not the application. */
export async function createKeeper(): Promise<Keeper> {
  const { DatabaseKeeper } = await import("../engines/db/pglite/database-keeper.js");
  return new DatabaseKeeper();
}
