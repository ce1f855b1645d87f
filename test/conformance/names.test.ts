import * as stoa from "stoa";
import { App, Blueprint, ForbiddenError, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { camelCase } from "../../src/kit/names.js";

/** Every method of the application in the contract, as it is spelled there. */
const methods = `
  get post put patch delete options head route websocket use run
  register_blueprint register_singleton add_guard on_event exception_handler
  enable_cors enable_logging enable_compression enable_rate_limit enable_caching invalidate_cache enable_circuit_breaker
  enable_metrics enable_etag enable_request_id enable_body_limit enable_static_files enable_openapi enable_health_checks
  enable_database enable_kvstore enable_telemetry enable_graphql enable_messaging enable_amqp enable_cloud_queue
  enable_grpc add_grpc_service
`;

const classes = `
  App Blueprint Request Response Depends JwtAuth JwtConfig BasicAuth ApiKeyAuth RateLimitConfig StaticFilesConfig
  HealthCheckConfig DatabaseConfig KvStoreConfig OpenTelemetryConfig GraphQLConfig GrpcConfig GuardError UnauthorizedError ForbiddenError Authenticated ValueError
  DatabaseError UniqueViolation NotNullViolation ForeignKeyViolation CheckViolation DataError OperationalError
  ProgrammingError ParameterTypeError ParameterValueError ParameterRangeError LogBrokerConfig AmqpConfig CloudQueueConfig
`;

const words = (text: string): string[] => text.trim().split(/\s+/);

describe("the names of the contract", () => {
  it.each(words(methods))("The method app.%s exists in both spellings, as one function", (name) => {
    const app = new App() as unknown as Record<string, unknown>;
    expect(app[name]).toBeTypeOf("function");
    expect(app[camelCase(name)]).toBe(app[name]);
  });

  it("Every enable method refuses unknown options", () => {
    const app = new App() as unknown as Record<string, (options: object) => unknown>;
    const names = words(methods).filter((name) => name.startsWith("enable_"));
    for (const name of [
      ...names,
      "enableSessions",
      "enableCsrf",
      "enableIpFilter",
      "enableRequestContext",
      "enableMemoryBroker",
    ]) {
      expect(() => app[name]!({ unknown: 1 }), name).toThrow("unknown option 'unknown'");
    }
  });

  it.each(words(classes))("The class %s is exported", (name) => {
    expect((stoa as Record<string, unknown>)[name]).toBeTypeOf("function");
  });

  it("Members with two words exist in both spellings", () => {
    const app = new App();
    expect(app.register_scoped).toBe(app.registerScoped);
    expect(app.register_transient).toBe(app.registerTransient);
    expect(app.node_listener).toBe(app.nodeListener);
    expect(app.end_sessions).toBe(app.endSessions);
    expect(Response.no_content).toBe(Response.noContent);
    expect(new Blueprint("/x").register_blueprint).toBe(new Blueprint("/x").registerBlueprint);
    expect(new ForbiddenError().status_code).toBe(403);
    expect(stoa.RateLimitConfig.token_bucket).toBe(stoa.RateLimitConfig.tokenBucket);
    expect(stoa.RateLimitConfig.sliding_window).toBe(stoa.RateLimitConfig.slidingWindow);
    const auth = new stoa.BasicAuth(() => true);
    expect(auth.skip_path).toBe(auth.skipPath);
  });

  it("Application state accepts any attribute", () => {
    const app = new App();
    app.state["anything"] = 1;
    expect(app.state["anything"]).toBe(1);
  });
});
