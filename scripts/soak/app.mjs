/**
 * The application of scripts/soak.mjs: two workers, with small bounds for all that clients can fill, so that each is full
 * after a few seconds. The supervisor and each worker print their memory after a collection as a line of JSON.
 */
import cluster from "node:cluster";
import { App, MemorySessionStore } from "stoa";

const app = new App();
app
  .enableRequestId()
  .enableMetrics()
  .enableHealthChecks()
  .enableEtag()
  .enableCompression()
  .enableSecurityHeaders()
  .enableRateLimit({ maxRequests: 1000, maxKeys: 1000, key: (request) => request.headers.get("x-client") ?? null })
  .enableCaching({ ttl: 60, maxSize: 1024 * 1024 })
  .enableCircuitBreaker()
  .enableSessions({ store: new MemorySessionStore(1000) })
  .enableRooms({ maxRooms: 100, history: 10 })
  .enableGraphql({ cacheSize: 2 * 1024 * 1024, persisted: { automatic: true } });
app.graphql.query("echo", { type: "String", args: { text: "String" } }, ({ text }) => text);

app.get("/items/{id}", (request) => ({ id: request.params.id, text: "x".repeat(500) }));
app.get("/sessions/{id}", { cache: false }, async (request) => {
  request.session.set("id", request.params.id);
  return { id: request.session.get("id") };
});
app.post("/rooms/{id}", async (request) => ({ sent: await app.rooms(request.params.id).send("hello") }));
app.get("/failing/{id}", { circuitBreaker: false }, (request) => {
  throw new Error(`failed for ${request.params.id}`);
});
app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };

const role = cluster.worker === undefined ? "supervisor" : `worker ${cluster.worker.id}`;
setInterval(() => {
  globalThis.gc();
  // `external` counts the bytes of buffers already.
  const { heapUsed, external, rss } = process.memoryUsage();
  console.log(JSON.stringify({ role, used: heapUsed + external, rss }));
}, Number(process.env.SOAK_INTERVAL)).unref();

await app.run({
  port: Number(process.env.SOAK_PORT),
  env: "production",
  workers: 2,
  // On a machine with other work a process can wait for long: that is no finding.
  stuckTimeout: 0,
  banner: false,
  logs: false,
});
