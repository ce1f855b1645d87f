export { App, type AppState } from "./app/app.js";
export { Blueprint, type BlueprintOptions } from "./app/blueprint.js";
export type { BodyLimitOptions } from "./app/features/body-limit.js";
export type { LifecycleEvent } from "./app/lifecycle.js";
export type { Handler, RouteOptions, WebSocketRouteOptions } from "./app/route.js";
export { AnyAuth } from "./auth/any-auth.js";
export { ApiKeyAuth, type ApiKeyAuthOptions, type ApiKeys } from "./auth/api-key-auth.js";
export { Auth, SchemeAuth, type SecurityScheme } from "./auth/auth.js";
export { BasicAuth, type BasicAuthOptions, type VerifyFunction } from "./auth/basic-auth.js";
export type { JwtAlgorithm } from "./auth/jwt/algorithms.js";
export type { JwtClaims } from "./auth/jwt/claims.js";
export { JwtConfig, type JwtOptions } from "./auth/jwt/config.js";
export { JwtAuth } from "./auth/jwt/jwt-auth.js";
export type { Jwks } from "./auth/jwt/key-ring.js";
export { MemoryRevocations, type RevocationStore } from "./auth/jwt/revocations.js";
export { constantTimeEqual } from "./auth/same-text.js";
export { DatabaseConfig, type DatabaseOptions, type SslMode } from "./db/config.js";
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
} from "./db/database.js";
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
} from "./db/errors.js";
export { openDatabase } from "./db/open-database.js";
export { SqlFragment, sql } from "./db/sql.js";
export { Json, json } from "./db/values/json.js";
export { type Dependencies, type Dependency, Depends } from "./di/depends.js";
export { ForbiddenError, GuardError, HttpError, type HttpErrorInit, UnauthorizedError } from "./errors/http-error.js";
export { ValueError } from "./errors/value-error.js";
export { And, Authenticated, Not, Or, Permission, Role, Scope } from "./guards/catalogue.js";
export type { Guard, GuardFunction, GuardObject } from "./guards/guard.js";
export type {
  HealthCheck,
  HealthCheckOptions,
  HealthProbe,
  HealthResult,
  HealthStatus,
} from "./health/check.js";
export { HealthCheckConfig, type HealthOptions } from "./health/config.js";
export type { HealthReport } from "./health/report.js";
export type { CookieOptions } from "./http/cookies.js";
export type { FileOptions } from "./http/file-body.js";
export type { Proxies, TrustProxyOptions } from "./http/proxies.js";
export { Request, type RequestContext } from "./http/request.js";
export { Response, type ResponseInit } from "./http/response.js";
export type { SseEvent } from "./http/sse.js";
export { type Answerable, toResponseSymbol } from "./http/to-response.js";
export type { LivePageOptions } from "./live/options.js";
export { createLogger, type LoggerOptions } from "./logging/create-logger.js";
export type { LogLevel } from "./logging/levels.js";
export type { LogFields, Logger } from "./logging/logger.js";
export type { RequestLogOptions } from "./logging/request-log.js";
export { FileSink, type LogSink } from "./logging/sink.js";
export type { Counter } from "./metrics/counter.js";
export type { Gauge } from "./metrics/gauge.js";
export type { Histogram } from "./metrics/histogram.js";
export type { MetricsOptions } from "./metrics/options.js";
export type { GaugeOptions, HistogramOptions, MetricOptions, Metrics } from "./metrics/registry.js";
export type { CacheCredentials, CacheOptions, CacheRouteOptions } from "./middleware/cache/options.js";
export type { CacheEntry, CacheStore } from "./middleware/cache/store.js";
export type { BreakerOptions, CircuitBreakerOptions } from "./middleware/circuit-breaker/options.js";
export type { BreakerSnapshot, BreakerState, BreakerStore } from "./middleware/circuit-breaker/store.js";
export type { CompressionOptions } from "./middleware/compression/options.js";
export type { CorsOptions } from "./middleware/cors/cors.js";
export type { OriginFunction, Origins } from "./middleware/cors/origins.js";
export type { CsrfOptions } from "./middleware/csrf/options.js";
export type { EtagOptions } from "./middleware/etag/etag.js";
export { type IpFilterOptions, ipFilter } from "./middleware/ip-filter/ip-filter.js";
export {
  RateLimitConfig,
  type RateLimitKey,
  type RateLimitKind,
  type RateLimitOptions,
} from "./middleware/rate-limit/config.js";
export type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "./middleware/rate-limit/store.js";
export type { SecurityHeadersOptions } from "./middleware/security-headers/security-headers.js";
export { MemorySessionStore } from "./middleware/sessions/memory-store.js";
export type { SessionCookie, SessionOptions } from "./middleware/sessions/options.js";
export type { Session, SessionData } from "./middleware/sessions/session.js";
export type { SessionStore, StoredSession } from "./middleware/sessions/store.js";
export { StaticFilesConfig, type StaticFilesOptions } from "./middleware/static-files/config.js";
export type { DocumentedResponse } from "./openapi/documented-response.js";
export type { OpenapiOptions } from "./openapi/options.js";
export type { OpenApiDocument } from "./openapi/types.js";
export type { Middleware, MiddlewareFunction, Next } from "./pipeline/middleware.js";
export { currentRequest } from "./pipeline/request-context.js";
export type { PathParams } from "./routing/params.js";
export type { RunOptions } from "./server/run-options.js";
export type { RunningServer } from "./server/running-server.js";
export {
  type BodyResult,
  type BodyValidator,
  bodyValidatorSymbol,
  type DescribedSchema,
  jsonSchemaSymbol,
  type NamedJsonSchema,
} from "./validation/body-validator.js";
export { type Issue, ValidationError } from "./validation/issues.js";
export { ResponseValidationError } from "./validation/response-error.js";
export type { StandardSchema } from "./validation/standard-schema.js";
export type { CloseInfo } from "./websocket/channel.js";
export { WebSocketClosedError } from "./websocket/closed-error.js";
export type { Message } from "./websocket/message.js";
export type { WebSocket } from "./websocket/socket.js";
