/** An application with all batteries on, for scripts/fuzz.mjs and scripts/attacks.mjs. Prints its address as JSON when it listens. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Authenticated, Blueprint, JwtAuth, Response } from "stoa";
import { z } from "zod";

const [transport, protocol] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "stoa-fuzz-"));
writeFileSync(join(folder, "page.html"), "<p>page</p>".repeat(1000));

const app = new App();
app
  .enableCors()
  .enableCompression()
  .enableEtag()
  .enableRequestId()
  .enableBodyLimit(200_000)
  .enableRateLimit({ maxRequests: 1_000_000_000, windowSecs: 60 })
  .enableCaching({ maxSize: 8 * 1024 * 1024 })
  .enableCircuitBreaker({ failureThreshold: 1_000_000 })
  .enableSessions({ secret: "s".repeat(32) })
  .enableCsrf()
  .enableSecurityHeaders()
  .enableMetrics()
  .enableHealthChecks()
  .enableOpenapi()
  .enableStaticFiles({ directory: folder, prefix: "/static" })
  .enableTelemetry({ otlpEndpoint: "http://127.0.0.1:9", samplingRate: 0.1 });

// The requests that are still in memory. A client must not be able to fill it by leaving.
let kept = 0;
const registry = new FinalizationRegistry(() => kept--);
app.use({
  name: "kept",
  before(request) {
    kept++;
    registry.register(request);
  },
});
app.get("/kept", { cache: false }, async () => {
  for (let i = 0; i < 2; i++) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { kept, heap: process.memoryUsage().heapUsed };
});
app.get("/honest", () => ({ ok: true }));
app.get("/items/{id}", { params: z.object({ id: z.coerce.number().int() }) }, (_, { params }) => params);
app.get(
  "/search",
  { query: z.object({ q: z.string().max(100).optional() }), cache: { ttl: 60, tags: ["s"] } },
  (_, { query }) => query,
);
app.post(
  "/items",
  { body: z.object({ name: z.string(), tags: z.array(z.string()).max(1000).optional() }) },
  (_, { body }) => body,
);
app.post("/form", (request) => ({ fields: [...request.form()].length }));
app.post("/raw", (request) => ({ bytes: request.bytes().length }));
app.post("/packed", { decompress: true }, (request) => ({ bytes: request.bytes().length }));
app.post("/upload", { stream: true }, async (request) => {
  let bytes = 0;
  for await (const piece of request.stream()) bytes += piece.length;
  return { bytes };
});
app.get("/stream", async function* () {
  for (let i = 0; i < 20; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    yield `${i}\n`.repeat(100);
  }
});
app.get("/events", () =>
  Response.sse(async function* () {
    for (let i = 0; i < 5; i++) yield { data: { i } };
  }),
);
app.get("/broken", async function* () {
  yield "one";
  throw new Error("broken on purpose");
});
app.get("/throws", () => {
  throw new Error("thrown on purpose");
});
app.get("/session", (request) => {
  request.session.set("n", (request.session.get("n") ?? 0) + 1);
  return { n: request.session.get("n") };
});
app.websocket("/socket", async (socket) => {
  for await (const message of socket) await socket.sendText(message.text ?? "bytes");
});
const user = { name: "ada", friends: () => [user, user] };
app.enableGraphql({
  typeDefs: "type Query { me: User } type User { name: String friends: [User!]! }",
  resolvers: { Query: { me: () => user } },
});
app.enableGrpc({ address: "127.0.0.1:0" }).addGrpcService("fuzz.Echo", { Say: (message) => message });
const closed = new Blueprint("/closed", { guards: [Authenticated()] });
closed.use(new JwtAuth({ secret: "s".repeat(32) }));
closed.get("/{rest:*}", (request) => request.params);
app.registerBlueprint(closed);

const { address } = await app.run({
  port: 0,
  host: "127.0.0.1",
  env: "production",
  workers: 1,
  logs: false,
  transport,
  http2: protocol === "http2",
  headTimeout: 5,
  bodyTimeout: 5,
  banner: false,
});
process.stdout.write(
  `${JSON.stringify({ port: address.port, grpcPort: Number(app.grpc.address.split(":").at(-1)), pid: process.pid })}\n`,
);
