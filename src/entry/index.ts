export { GraphQLConfig, type GraphqlOptions } from "../apis/graphql/config.js";
export { GrpcConfig, type GrpcOptions } from "../apis/grpc/config.js";
export { App, type AppState } from "../app/app.js";
export type { LifecycleEvent } from "../app/lifecycle.js";
export { AnyAuth } from "../auth/any-auth.js";
export { ApiKeyAuth, type ApiKeyAuthOptions, type ApiKeys } from "../auth/api-key-auth.js";
export { Auth, SchemeAuth, type SecurityScheme } from "../auth/auth.js";
export { BasicAuth, type BasicAuthOptions, type VerifyFunction } from "../auth/basic-auth.js";
export type { JwtAlgorithm } from "../auth/jwt/algorithms.js";
export type { JwtClaims } from "../auth/jwt/claims.js";
export { JwtConfig, type JwtOptions } from "../auth/jwt/config.js";
export { JwtAuth } from "../auth/jwt/jwt-auth.js";
export type { Jwks } from "../auth/jwt/key-ring.js";
export { MemoryRevocations, type RevocationStore } from "../auth/jwt/revocations.js";
export { constantTimeEqual } from "../auth/same-text.js";
export type { BodyLimitOptions } from "../batteries/body-limit/feature.js";
export type { ValueCache } from "../batteries/cache/feature.js";
export type { Jsonified } from "../batteries/cache/jsonified.js";
export type {
  CacheCredentials,
  CacheOptions,
  CacheRouteOptions,
  ValueCacheOptions,
} from "../batteries/cache/options.js";
export type { CacheEntry, CacheStore } from "../batteries/cache/store.js";
export type { BreakerOptions, CircuitBreakerOptions } from "../batteries/circuit-breaker/options.js";
export type { BreakerSnapshot, BreakerState, BreakerStore } from "../batteries/circuit-breaker/store.js";
export type { CompressionOptions } from "../batteries/compression/options.js";
export type { CorsOptions } from "../batteries/cors/cors.js";
export type { OriginFunction, Origins } from "../batteries/cors/origins.js";
export type { CsrfOptions } from "../batteries/csrf/options.js";
export type { EtagOptions } from "../batteries/etag/etag.js";
export type {
  HealthCheck,
  HealthCheckOptions,
  HealthProbe,
  HealthResult,
  HealthStatus,
} from "../batteries/health/check.js";
export { HealthCheckConfig, type HealthOptions } from "../batteries/health/config.js";
export type { HealthReport } from "../batteries/health/report.js";
export { type IpFilterOptions, ipFilter } from "../batteries/ip-filter/ip-filter.js";
export type { LivePageOptions } from "../batteries/live/options.js";
export type { Counter } from "../batteries/metrics/counter.js";
export type { Gauge } from "../batteries/metrics/gauge.js";
export type { Histogram } from "../batteries/metrics/histogram.js";
export type { MetricsOptions } from "../batteries/metrics/options.js";
export type { GaugeOptions, HistogramOptions, MetricOptions, Metrics } from "../batteries/metrics/registry.js";
export type { DocumentedResponse } from "../batteries/openapi/documented-response.js";
export type { OpenapiOptions } from "../batteries/openapi/options.js";
export type { OpenApiDocument } from "../batteries/openapi/types.js";
export {
  RateLimitConfig,
  type RateLimitKey,
  type RateLimitKind,
  type RateLimitOptions,
} from "../batteries/rate-limit/config.js";
export type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "../batteries/rate-limit/store.js";
export { currentRequest } from "../batteries/request-context/request-context.js";
export type { RequestLogOptions } from "../batteries/request-log/request-log.js";
export type { RequestRooms } from "../batteries/rooms/feature.js";
export type {
  JoinOptions as RoomJoinOptions,
  SendOptions as RoomSendOptions,
  StreamOptions as RoomStreamOptions,
  SubscribeOptions as RoomSubscribeOptions,
} from "../batteries/rooms/join-options.js";
export type { RoomsOptions } from "../batteries/rooms/options.js";
export type { Room, RoomMember, RoomMembers, RoomMessage } from "../batteries/rooms/room.js";
export type { RoomStore } from "../batteries/rooms/store.js";
export type { SecurityHeadersOptions } from "../batteries/security-headers/security-headers.js";
export { MemorySessionStore } from "../batteries/sessions/memory-store.js";
export type { SessionCookie, SessionOptions } from "../batteries/sessions/options.js";
export type { Session, SessionData } from "../batteries/sessions/session.js";
export type { SessionStore, StoredSession } from "../batteries/sessions/store.js";
export type { UserSession } from "../batteries/sessions/user-session.js";
export { StaticFilesConfig, type StaticFilesOptions } from "../batteries/static-files/config.js";
export { OpenTelemetryConfig, type OpenTelemetryOptions, type OtlpProtocol } from "../batteries/telemetry/config.js";
export type { AppTracer } from "../batteries/telemetry/trace/app-tracer.js";
export { type Dependencies, type Dependency, Depends } from "../di/depends.js";
export { DatabaseConfig, type DatabaseOptions, type SslMode } from "../engines/db/config.js";
export type {
  ArrayResult,
  Cursor,
  CursorOptions,
  Database,
  DatabaseEngine,
  DatabaseStats,
  ExecuteResult,
  Isolation,
  Notification,
  NotificationHandler,
  Queries,
  QueryOptions,
  Row,
  Session as DatabaseSession,
  SessionOptions as DatabaseSessionOptions,
  SqlQuery,
  SqlTag,
  Statement,
  Subscription,
  Transaction,
  TransactionOptions,
} from "../engines/db/database.js";
export {
  CheckViolation,
  DatabaseError,
  type DatabaseErrorDetails,
  DataError,
  ExclusionViolation,
  ForeignKeyViolation,
  IntegrityError,
  NotNullViolation,
  OperationalError,
  ParameterRangeError,
  ParameterTypeError,
  ParameterValueError,
  ProgrammingError,
  RuntimeError,
  UniqueViolation,
} from "../engines/db/errors.js";
export { type OpenDatabaseOptions, openDatabase } from "../engines/db/open-database.js";
export { SqlFragment, sql } from "../engines/db/sql/sql.js";
export { Json, json } from "../engines/db/values/json.js";
export type { KvCommands, SetOptions as KvSetOptions } from "../engines/kvstore/commands/commands.js";
export type { KvHash } from "../engines/kvstore/commands/hash.js";
export type { KvList } from "../engines/kvstore/commands/list.js";
export type { KvSet } from "../engines/kvstore/commands/set.js";
export type { KvSortedSet, RankRange, ScoredMember, ScoreRange } from "../engines/kvstore/commands/sorted-set.js";
export type { KvStream, StreamAddOptions, StreamReadOptions } from "../engines/kvstore/commands/stream.js";
export type { StreamEntry } from "../engines/kvstore/commands/stream-entry.js";
export type { ClaimOptions, GroupReadOptions, KvStreamGroup } from "../engines/kvstore/commands/stream-group.js";
export type { KvValue } from "../engines/kvstore/commands/values.js";
export { KvStoreConfig, type KvStoreOptions, type KvTlsOptions } from "../engines/kvstore/config.js";
export { type KvErrorCode, KvStoreError } from "../engines/kvstore/errors.js";
export type { KvClient, KvStore, KvStoreStats } from "../engines/kvstore/kvstore.js";
export type { KvLock, LockOptions } from "../engines/kvstore/lock.js";
export { type OpenKvStoreOptions, openKvStore } from "../engines/kvstore/open-kvstore.js";
export type { ScanOptions } from "../engines/kvstore/scan.js";
export type { KvScript } from "../engines/kvstore/script.js";
export type { KvSubscription, MessageHandler, SubscribeOptions } from "../engines/kvstore/subscriptions.js";
export {
  AmqpConfig,
  type AmqpOptions,
  type AmqpTlsOptions,
  type AmqpTopicOptions,
} from "../engines/messaging/amqp/config.js";
export {
  type KafkaSaslOptions,
  type KafkaTlsOptions,
  LogBrokerConfig,
  type LogBrokerOptions,
} from "../engines/messaging/kafka/config.js";
export {
  type CloudCredentials,
  type CloudCredentialsOption,
  CloudQueueConfig,
  type CloudQueueOptions,
} from "../engines/messaging/sqs/config.js";
export { ForbiddenError, GuardError, HttpError, type HttpErrorInit, UnauthorizedError } from "../errors/http-error.js";
export { And, Authenticated, Not, Or, Permission, Role, Scope } from "../guards/catalogue.js";
export type { Guard, GuardFunction, GuardObject } from "../guards/guard.js";
export type { BodyCoding, DecompressOptions } from "../http/body/content-encoding.js";
export type { CookieOptions } from "../http/fields/cookies.js";
export type { FileOptions } from "../http/files/file-body.js";
export type { ClientCertificate } from "../http/peer/client-certificate.js";
export type { Proxies, TrustProxyOptions } from "../http/peer/proxies.js";
export { Request, type RequestContext } from "../http/request.js";
export { Response, type ResponseInit } from "../http/response.js";
export type { SseEvent } from "../http/sse.js";
export { type Answerable, toResponseSymbol } from "../http/to-response.js";
export type { LogFields, Logger } from "../kit/logger.js";
export type { Duration } from "../kit/time/duration.js";
export type {
  Attributes,
  AttributeValue,
  HeaderReader,
  Span,
  SpanKind,
  SpanOptions,
  Tracer,
} from "../kit/tracer.js";
export { ValueError } from "../kit/value-error.js";
export { createLogger, type LoggerOptions } from "../logging/create-logger.js";
export type { LogLevel } from "../logging/levels.js";
export { FileSink, type LogSink } from "../logging/sink.js";
export { CqrsConfig, type CqrsOptions } from "../patterns/cqrs/config.js";
export { EventSourcingConfig, type EventSourcingOptions } from "../patterns/events/config.js";
export { SagaConfig, type SagaOptions } from "../patterns/saga/config.js";
export type { Middleware, MiddlewareFunction, Next } from "../pipeline/middleware.js";
export { Blueprint } from "../routing/blueprint.js";
export type { Handler, PathParams, SocketHandler } from "../routing/handler.js";
export type { BlueprintOptions, RouteOptions, WebSocketRouteOptions } from "../routing/options.js";
export type { Http2Options } from "../server/http2/fields.js";
export type { RunOptions } from "../server/run-options.js";
export type { RunningServer } from "../server/running-server.js";
export type { CertificateFields, ClientCertificateFields, TlsFields } from "../server/tls/fields.js";
export {
  type BodyResult,
  type BodyValidator,
  bodyValidatorSymbol,
  type DescribedSchema,
  jsonSchemaSymbol,
  type NamedJsonSchema,
} from "../validation/body-validator.js";
export { type Issue, ValidationError } from "../validation/issues.js";
export { ResponseValidationError } from "../validation/response-error.js";
export type { StandardSchema } from "../validation/standard-schema.js";
export type { CloseInfo } from "../websocket/channel.js";
export { WebSocketClosedError } from "../websocket/closed-error.js";
export type { Message } from "../websocket/message.js";
export type { WebSocket } from "../websocket/socket.js";
