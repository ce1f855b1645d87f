import { openSync } from "node:fs";
import { resolvers, typeDefs } from "../lib/graphql-books.mjs";
import { stoaEntry } from "../lib/stoa-build.mjs";

const { App, FileSink, JwtAuth, RateLimitConfig, Response } = await stoaEntry();

/** The whole framework, as `run` starts it in production. */
export function serve(workload, port, options = {}) {
  const app = new App();
  routes[workload.kind](app, workload);
  if (process.env.STOA_FEATURES === "all") enableAll(app);
  return app.run({
    host: "127.0.0.1",
    port,
    env: "production",
    workers: workload.workers ?? 1,
    ...(workload.kind !== "batteries" && workload.kind !== "shared" && { logs: false }),
    ...options,
  });
}

const routes = {
  text: (app, { path, value }) => app.get(path, () => value),
  json: (app, { path, value }) => app.get(path, () => value),
  params(app, { route, others }) {
    const answer = (request) => ({ user: request.params.user, post: request.params.post, q: request.query.get("q") });
    for (const template of [...others, route]) app.get(template, answer);
  },
  echo: (app, { path }) => app.post(path, (request) => request.json()),
  middleware(app, { path, value, count, form }) {
    for (let n = 0; n < count; n++) app.use(form === "function" ? (_, next) => next() : { before() {} });
    app.get(path, () => value);
  },
  stream: (app, { path, chunks }) => app.get(path, () => Response.stream(chunks())),
  sse(app, { path, value, hub }) {
    app.get(path, () => value);
    app.get("/events", () => Response.sse(() => hub.events()));
    app.post("/publish", () => hub.publish("an event"));
  },
  websocket(app, { path, value }) {
    app.get(path, () => value);
    app.websocket("/echo", async (socket) => {
      for await (const message of socket) await socket.sendText(message.text);
    });
  },
  traced(app, { path, value, rate }) {
    app.enableTelemetry({ otlpEndpoint: process.env.BENCH_COLLECTOR, samplingRate: rate, metrics: false });
    app.get(path, () => value);
  },
  static: (app, { directory }) => app.enableStaticFiles({ directory }),
  multipart: (app, { path }) =>
    app.post(path, { stream: true }, async (request) => {
      const answer = { name: "", size: 0 };
      for await (const part of request.parts()) {
        answer.name = part.filename;
        for await (const chunk of part.stream()) answer.size += chunk.length;
      }
      return answer;
    }),
  graphql: (app, { path }) => app.enableGraphql({ path, typeDefs, resolvers }),
  batteries(app, { path, value, secret, kind }) {
    const chosen = process.env.STOA_BATTERIES?.split(",") ?? Object.keys(batteries);
    for (const name of chosen) batteries[name]?.(app, secret);
    app.get(path, kind === "shared" ? { cache: { credentials: "share" } } : {}, () => value);
  },
  /** The limit and the cached responses are in Redis, for all machines. */
  shared(app, workload) {
    app.enableKvstore(process.env.BENCH_REDIS);
    app.enableCaching();
    routes.batteries(app, workload);
  },
  supervised(app, { path, value, shared }) {
    if (shared.includes("uncounted")) app.enableRateLimit({ store: uncounted });
    if (shared.includes("rate limit")) batteries["rate limit"](app);
    if (shared.includes("cache")) app.enableCaching();
    if (shared.includes("circuits")) app.enableCircuitBreaker();
    app.get(path, () => value);
  },
};

/** A limit with its headers, and without its counts. */
const uncounted = { limiter: () => ({ take: () => ({ allowed: true, remaining: 9, resetMs: 1000, retryMs: 0 }) }) };

/** Every HTTP feature that needs no other server. */
function enableAll(app) {
  const directory = new URL(".", import.meta.url);
  app
    .enableCors()
    .enableSecurityHeaders()
    .trustProxy(["loopback"])
    .enableIpFilter({ allow: ["loopback"] });
  app.enableRequestId().enableLogging().enableMetrics().enableHealthChecks().enableOpenapi().enableRequestContext();
  app.enableEtag().enableCompression().enableBodyLimit().enableCaching().enableStaticFiles({ directory });
  app
    .enableRateLimit()
    .enableCircuitBreaker()
    .enableSessions({ secret: "s".repeat(32) })
    .enableCsrf();
  app.websocket("/socket", () => {});
}

/** Each as its guide shows it; the limit is one that the load does not reach. */
export const batteries = {
  cors: (app) => app.enableCors(),
  "request id": (app) => app.enableRequestId(),
  metrics: (app) => app.enableMetrics(),
  etag: (app) => app.enableEtag(),
  "rate limit": (app) => app.enableRateLimit(RateLimitConfig.tokenBucket(1e9, 60)),
  compression: (app) => app.enableCompression(),
  "body limit": (app) => app.enableBodyLimit(),
  logging: (app) => app.enableLogging({ sink: new FileSink({ fd: openSync("/dev/null", "w") }) }),
  jwt: (app, secret) => app.use(new JwtAuth({ secret: Buffer.from(secret), algorithm: "HS256" })),
};
