import { App, JwtConfig, MemorySessionStore, RateLimitConfig } from "stoa";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { MemoryCacheStore } from "../../src/batteries/cache/memory-store.js";
import { MemoryRateLimitStore } from "../../src/batteries/rate-limit/memory-store.js";
import type { RateLimitStore } from "../../src/batteries/rate-limit/store.js";
import { planRun, type RunOptions, readRunOptions } from "../../src/server/run-options.js";

type Setup = (app: App) => unknown;

/** The options of `run` of an application. */
const runs = new WeakMap<App, RunOptions>();

const typeDefs = "type Query { one: Int }";
const secret = "s".repeat(32);
const handler = () => null;

/** Settings that have no effect, the same with the cure, and the warning of the start. */
const rules: [name: string, idle: Setup, cured: Setup, warning: string][] = [
  [
    "event sync without event sourcing",
    (app) => app.enableCqrs(true),
    (app) => app.enableEventSourcing("memory").enableCqrs(true),
    "option 'enableEventSync' in CqrsConfig has no effect: it waits for projections of app.enableEventSourcing()",
  ],
  [
    "a time limit of event sync that is off",
    (app) => app.enableCqrs({ eventSyncTimeout: "1s" }),
    (app) => app.enableEventSourcing("memory").enableCqrs({ enableEventSync: true, eventSyncTimeout: "1s" }),
    "option 'eventSyncTimeout' in CqrsConfig has no effect: set enableEventSync: true to wait",
  ],
  [
    "the quality of brotli that is off",
    (app) => app.enableCompression({ brotliQuality: 9 }),
    (app) => app.enableCompression({ brotliQuality: 9, brotli: true }),
    "option 'brotliQuality' in enableCompression() has no effect: set brotli: true to offer brotli",
  ],
  [
    "the field of CSRF tokens that are off",
    (app) => app.enableCsrf({ field: "token" }),
    (app) => app.enableCsrf({ field: "token", tokens: true, secret }),
    "option 'field' in enableCsrf() has no effect: set tokens: true to check tokens",
  ],
  [
    "the header of CSRF tokens that are off",
    (app) => app.enableCsrf({ header: "X-Token" }),
    (app) => app.enableCsrf({ header: "X-Token", tokens: true, secret }),
    "option 'header' in enableCsrf() has no effect: set tokens: true to check tokens",
  ],
  [
    "the secret of CSRF tokens that are off",
    (app) => app.enableCsrf({ secret }),
    (app) => app.enableCsrf({ secret, tokens: true }),
    "option 'secret' in enableCsrf() has no effect: set tokens: true to check tokens",
  ],
  [
    "the cookie of CSRF tokens that are off",
    (app) => app.enableCsrf({ cookie: "token" }),
    (app) => app.enableCsrf({ cookie: "token", tokens: true, secret }),
    "option 'cookie' in enableCsrf() has no effect: set tokens: true to check tokens",
  ],
  [
    "a secret of CSRF tokens that belong to sessions",
    (app) => app.enableSessions({ secret }).enableCsrf({ tokens: true, secret }),
    (app) => app.enableSessions({ secret }).enableCsrf({ tokens: true }),
    "options 'secret' and 'cookie' in enableCsrf() have no effect: tokens belong to the sessions",
  ],
  [
    "encryption of sessions in a store",
    (app) => app.enableSessions({ store: new MemorySessionStore(), encrypted: false }),
    (app) => app.enableSessions({ secret, encrypted: false }),
    "option 'encrypted' in enableSessions has no effect: a session in a store is not in the cookie",
  ],
  [
    "an idle time of sessions beyond their end",
    (app) => app.enableSessions({ secret, idleTimeout: "8d" }),
    (app) => app.enableSessions({ secret, idleTimeout: "8d", absoluteTimeout: "9d" }),
    "option 'idleTimeout' in enableSessions has no effect: absoluteTimeout ends the session before it",
  ],
  [
    "a time of messages that are not kept",
    (app) => app.enableRooms({ history: 0, historySecs: 5 }),
    (app) => app.enableRooms({ history: 1, historySecs: 5 }),
    "option 'historySecs' in enableRooms() has no effect: history is 0, so no messages are kept",
  ],
  [
    "a number of rooms whose messages are not kept",
    (app) => app.enableRooms({ history: 0, maxRooms: 5 }),
    (app) => app.enableRooms({ history: 1, maxRooms: 5 }),
    "option 'maxRooms' in enableRooms() has no effect: history is 0, so no messages are kept",
  ],
  [
    "the handling of a store of limits that cannot fail",
    (app) => app.enableRateLimit({ onStoreError: "deny" }),
    (app) => app.enableRateLimit(RateLimitConfig.tokenBucket(5, 60, { onStoreError: "deny", store: sharedStore() })),
    "option 'onStoreError' in RateLimitConfig has no effect: counts are in memory; enable a key-value store to share them",
  ],
  [
    "the size of a cache whose store was given",
    (app) => app.enableCaching({ maxSize: 1000, maxEntrySize: 10, store: new MemoryCacheStore(5000) }),
    (app) => app.enableCaching({ maxSize: 1000, maxEntrySize: 10 }),
    "option 'maxSize' in enableCaching() has no effect: it bounds the responses in memory, and the given store has its own bound",
  ],
  [
    "the size of a cache in a key-value store",
    (app) => app.enableKvstore().enableCaching({ maxSize: 5_000_000 }),
    (app) => app.enableCaching({ maxSize: 5_000_000 }),
    "option 'maxSize' in enableCaching() has no effect: it bounds the responses in memory, and a key-value store is enabled",
  ],
  [
    "the number of rooms in a key-value store",
    (app) => app.enableKvstore().enableRooms({ maxRooms: 5 }),
    (app) => app.enableRooms({ maxRooms: 5 }),
    "option 'maxRooms' in enableRooms() has no effect: a key-value store keeps the messages of all rooms",
  ],
  [
    "the time of idempotency keys without a database",
    (app) => app.enableCqrs({ idempotencyRetention: "9d" }),
    (app) => app.enableDatabase("pglite:").enableCqrs({ idempotencyRetention: "9d" }),
    "option 'idempotencyRetention' in CqrsConfig has no effect: idempotency keys need app.enableDatabase()",
  ],
  [
    "the schema of idempotency keys without a database",
    (app) => app.enableCqrs({ schema: "keys" }),
    (app) => app.enableDatabase("pglite:").enableCqrs({ schema: "keys" }),
    "option 'schema' in CqrsConfig has no effect: idempotency keys need app.enableDatabase()",
  ],
  [
    "a key-value store whose URL and option have other databases",
    (app) => app.enableKvstore({ url: "redis://127.0.0.1/2", database: 3 }),
    (app) => app.enableKvstore({ url: "redis://127.0.0.1/3", database: 3, password: "p" }),
    "the URL in KvStoreConfig has another 'database' than the option 'database', which wins",
  ],
  [
    "a database whose URL and option have another sslmode",
    (app) =>
      app.enableDatabase({ url: "postgres://a@127.0.0.1,h/d?sslmode=require&connect_timeout=3", sslmode: "disable" }),
    (app) => app.enableDatabase({ url: "postgres://a@127.0.0.1,h/d?sslmode=require&connect_timeout=3", password: "p" }),
    "the URL in DatabaseConfig has another 'sslmode' than the option 'sslmode', which wins",
  ],
  [
    "a size of one response beyond that of the cache",
    (app) => app.enableCaching({ maxSize: 1000, maxEntrySize: 2000 }),
    (app) => app.enableCaching({ maxSize: 1000, maxEntrySize: 1000 }),
    "option 'maxEntrySize' in enableCaching() has no effect: it is larger than maxSize",
  ],
  [
    "the cache of a route whose method is not cached",
    (app) => app.post("/search", { cache: { ttl: 5 } }, handler),
    (app) => app.enableCaching({ methods: ["GET", "POST"] }).post("/search", { cache: { ttl: 5 } }, handler),
    "option 'cache' of the route POST /search has no effect: name its method in `methods` of enableCaching()",
  ],
  [
    "reports of a content security policy that is off",
    (app) => app.enableSecurityHeaders({ contentSecurityPolicy: false, contentSecurityPolicyReportOnly: true }),
    (app) => app.enableSecurityHeaders({ contentSecurityPolicyReportOnly: true }),
    "option 'contentSecurityPolicyReportOnly' in enableSecurityHeaders() has no effect: contentSecurityPolicy is false",
  ],
  [
    "HSTS that no list of browsers takes",
    (app) => app.enableSecurityHeaders({ hsts: { preload: true, maxAge: "30d" } }),
    (app) => app.enableSecurityHeaders({ hsts: { preload: true } }),
    "option 'preload' in hsts of enableSecurityHeaders() has no effect: lists of browsers need includeSubDomains and a maxAge of at least 365 days",
  ],
  [
    "queries of spans that are not exported",
    (app) => app.enableTelemetry({ traces: false, recordQuery: true }),
    (app) => app.enableTelemetry({ recordQuery: true }),
    "option 'recordQuery' in OpenTelemetryConfig has no effect: spans are not exported",
  ],
  [
    "the pause between exports of metrics that are off",
    (app) => app.enableTelemetry({ metrics: false, metricInterval: "1h" }),
    (app) => app.enableTelemetry({ metricInterval: "1h" }),
    "option 'metricInterval' in OpenTelemetryConfig has no effect: metrics are not exported",
  ],
  [
    "hosts of traces that fetch does not pass on",
    (app) => app.enableTelemetry({ fetch: false, propagateTo: ["api.example.com"] }),
    (app) => app.enableTelemetry({ propagateTo: ["api.example.com"] }),
    "option 'propagateTo' in OpenTelemetryConfig has no effect: fetch is false, so it passes no trace on",
  ],
  [
    "compression of exports over gRPC",
    (app) => app.enableTelemetry({ protocol: "grpc", compression: "gzip" }),
    (app) => app.enableTelemetry({ protocol: "grpc", compression: "none" }),
    "option 'compression' in OpenTelemetryConfig has no effect: exports over gRPC are not compressed",
  ],
  [
    "the interval of snapshots that are off",
    (app) => app.enableEventSourcing({ snapshotInterval: 5, enableSnapshots: false }),
    (app) => app.enableEventSourcing({ snapshotInterval: 5 }),
    "option 'snapshotInterval' in EventSourcingConfig has no effect: enableSnapshots is false",
  ],
  [
    "the schema of events in memory",
    (app) => app.enableEventSourcing({ storeType: "memory", schema: "shop" }),
    (app) => app.enableDatabase("pglite:").enableEventSourcing({ schema: "shop" }),
    "option 'schema' in EventSourcingConfig has no effect: events are kept in memory",
  ],
  [
    "the time of keys of personal data that is not used",
    (app) => app.enableEventSourcing({ keyCache: "2m" }),
    (app) => app.enableEventSourcing({ keyCache: "2m", personalKeys: secret }),
    "option 'keyCache' in EventSourcingConfig has no effect: there are no personalKeys",
  ],
  [
    "the time of pings that are not sent",
    (app) => app.enableGrpc({ keepaliveInterval: 0, keepaliveTimeout: "1s" }),
    (app) => app.enableGrpc({ keepaliveTimeout: "1s" }),
    "option 'keepaliveTimeout' in GrpcConfig has no effect: keepaliveInterval is 0, so no pings are sent",
  ],
  [
    "the size of lists in a cost that is not computed",
    (app) => app.enableGraphql({ typeDefs, limits: { complexity: 0, listSize: 5 } }),
    (app) => app.enableGraphql({ typeDefs, limits: { listSize: 5 } }),
    "option 'listSize' in option 'limits' of GraphQLConfig has no effect: complexity is 0, so no cost is computed",
  ],
  [
    "a page for a schema that cannot be read",
    (app) => app.enableGraphql({ typeDefs, playground: true, introspection: false }),
    (app) => app.enableGraphql({ typeDefs, introspection: false }),
    "option 'playground' in GraphQLConfig shows no schema: set introspection: true, which is off in production",
  ],
  [
    "a page whose operations are refused",
    (app) => app.enableGraphql({ typeDefs, playground: true, persisted: { operations: {}, only: true } }),
    (app) => app.enableGraphql({ typeDefs, playground: true, persisted: { operations: {} } }),
    "option 'playground' in GraphQLConfig has no effect: with persisted.only its operations are refused",
  ],
  [
    "options of subscriptions without any",
    (app) => app.enableGraphql({ typeDefs, subscriptions: { maxPerProcess: 5 } }),
    (app) => {
      const resolvers = { Subscription: { one: { subscribe: async function* () {} } } };
      const both = `${typeDefs} type Subscription { one: Int }`;
      return app.enableGraphql({ typeDefs: both, resolvers, subscriptions: { maxPerProcess: 5 } });
    },
    "option 'subscriptions' in GraphQLConfig has no effect: the schema has no subscriptions",
  ],
  [
    "the host of an embedded database",
    (app) => app.enableDatabase({ url: "pglite:", host: "db.example.com" }),
    (app) => app.enableDatabase({ url: "postgres://", host: "db.example.com" }),
    "option 'host' in DatabaseConfig has no effect: an embedded database has no server to connect to",
  ],
  [
    "a certificate of a database without TLS",
    (app) => app.enableDatabase({ url: "postgres://localhost", sslmode: "disable", sslrootcert: "system" }),
    (app) => app.enableDatabase({ url: "postgres://localhost", sslmode: "verify-full", sslrootcert: "system" }),
    "option 'sslrootcert' in DatabaseConfig has no effect: sslmode is disable",
  ],
  [
    "the lag of replicas that do not exist",
    (app) => app.enableDatabase({ url: "postgres://localhost", maxReplicaLag: "1s" }),
    (app) => app.enableDatabase({ url: "postgres://a", replicas: ["postgres://b"], maxReplicaLag: "1s" }),
    "option 'maxReplicaLag' in DatabaseConfig has no effect: there are no replicas",
  ],
  [
    "the host of a server on a Unix socket",
    running({ path: "/run/app.sock", host: "0.0.0.0" }),
    running({ path: "/run/app.sock" }),
    "option 'host' in run() has no effect: path is given, and the server listens there alone",
  ],
  [
    "the port of a server on a Unix socket",
    running({ path: "/run/app.sock", port: 80 }),
    running({ port: 80 }),
    "option 'port' in run() has no effect: path is given, and the server listens there alone",
  ],
  [
    "a delay of the drain in a process of the caller",
    running({ exit: false, drainDelay: "5s" }),
    running({ drainDelay: "5s" }),
    "option 'drainDelay' in run() has no effect: with exit: false the process belongs to the caller",
  ],
  [
    "a watch over a process of the caller",
    running({ exit: false, stuckTimeout: "5s" }),
    running({ exit: false, stuckTimeout: 0 }),
    "option 'stuckTimeout' in run() has no effect: with exit: false the process belongs to the caller",
  ],
  [
    "a banner in a process of the caller",
    running({ exit: false, banner: true }),
    running({ exit: false, banner: false }),
    "option 'banner' in run() has no effect: with exit: false the process belongs to the caller",
  ],
  [
    "routes that a single process cannot refuse",
    running({ refuseDeadlyRoutes: "5m", workers: 1 }),
    running({ refuseDeadlyRoutes: "5m", workers: 2 }),
    "option 'refuseDeadlyRoutes' in run() has no effect: it needs a supervisor: set workers to 2 or more",
  ],
  [
    "a size of targets beyond that of heads",
    running({ maxTargetSize: 65_536 }),
    running({ maxTargetSize: 65_536, maxHeadSize: 65_536 }),
    "option 'maxTargetSize' in run() has no effect: maxHeadSize counts the target too, and is smaller",
  ],
  [
    "a window of HTTP/2 streams beyond that of their connection",
    running({ http2: { streamWindow: 2 ** 21 } }),
    running({ http2: { streamWindow: 2 ** 21, connectionWindow: 2 ** 21 } }),
    "option 'streamWindow' in http2 has no effect: connectionWindow is smaller, and bounds all streams together",
  ],
  [
    "bodies that are allowed and never fit into memory",
    running({ maxBodyMemory: 2 ** 20 }),
    (app) => running({ maxBodyMemory: 2 ** 20 })(app.enableBodyLimit(2 ** 20)),
    "option 'maxBodyMemory' in run() is below the body limit of 10485760 bytes: a body between both gets 503, however often it is sent",
  ],
];

describe("the review of settings at the start", () => {
  it.each(rules)("The start warns of %s, once, and not with the cure", async (_name, idle, cured, warning) => {
    expect(await warnings(idle)).toEqual([warning]);
    expect(await warnings(cured)).toEqual([]);
  });

  it("Features with their defaults have nothing to warn of, in development and in production", async () => {
    const all: Setup = (app) =>
      app
        .enableDatabase("pglite:")
        .enableKvstore("redis://127.0.0.1:6379")
        .enableMemoryBroker()
        .enableOutbox()
        .enableEventSourcing()
        .enableCqrs()
        .enableSaga()
        .enableJobs()
        .enableTelemetry()
        .enableRequestId()
        .enableLogging()
        .enableMetrics()
        .enableHealthChecks()
        .enableCors()
        .enableSecurityHeaders()
        .enableCompression()
        .enableEtag()
        .enableBodyLimit()
        .enableRateLimit()
        .enableSessions({ secret })
        .enableCsrf()
        .enableCaching()
        .enableCircuitBreaker()
        .enableRooms()
        .enableGraphql({ typeDefs })
        .enableGrpc()
        .enableMcp()
        .enableLivePage()
        .enableOpenapi();
    for (const env of ["development", "production"] as const) expect(await warnings(all, env)).toEqual([]);
  });

  it("Options that contradict each other are refused", () => {
    const job = (limit: object) => new App().enableDatabase("pglite:").enableJobs().job("a", { limit }, handler);
    expect(() => job({ running: 1, per: "3s" })).toThrow("'per' of a limit of app.job() is the time of 'starts'");
    expect(() => job({ running: 1, starts: 2, per: "3s" })).not.toThrow();
    expect(() => new App().enableCaching({ methods: [] })).toThrow(
      "option 'methods' in enableCaching() must be a list that is not empty, not []",
    );
    expect(() => new App().enableAmqp({ queueType: "classic", deliveryLimit: 5 })).toThrow(
      "option 'deliveryLimit' in AmqpConfig goes with queueType \"quorum\" only",
    );
    expect(() => new App().enableAmqp({ topics: { a: { bindings: { g: ["x"] } } } })).toThrow(
      "option 'bindings' in the topic 'a' of AmqpConfig goes with another 'type'",
    );
    expect(() => new App().enableAmqp({ topics: { a: { type: "topic", bindings: { g: ["x"] } } } })).not.toThrow();
  });

  it("The age from which a token can be refreshed must be below its lifetime", () => {
    const options = { secret, expiration: "1m" } as const;
    expect(() => new JwtConfig({ ...options, refreshAge: "1m" })).toThrow(
      "option 'refreshAge' in JwtConfig must be below 'expiration'",
    );
    expect(new JwtConfig({ ...options, refreshAge: "59s" }).refreshAge).toBe(59);
    expect(new JwtConfig({ ...options, refreshAge: "1m", leeway: "1s" }).refreshAge).toBe(60);
  });
});

function running(options: RunOptions): Setup {
  return (app) => runs.set(app, options);
}

/** A store that is not in the memory of one process. */
function sharedStore(): RateLimitStore {
  const store = new MemoryRateLimitStore();
  return { limiter: (policy) => store.limiter(policy) };
}

/** The warnings of an application, up to the review of its settings. Nothing is opened. */
async function warnings(setUp: Setup, env: "development" | "production" = "development"): Promise<string[]> {
  const lines: string[] = [];
  const app = new App();
  const logger: App["logger"] = {
    debug() {},
    info() {},
    warn: (line: string) => void lines.push(line),
    error() {},
    child: () => logger,
  };
  app.logger = logger;
  setUp(app);
  hostOf(app).configure(planRun({}, readRunOptions(runs.get(app)), { env, workers: 1 }).settings);
  await hostOf(app).prepare();
  return lines;
}
