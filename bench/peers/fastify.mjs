import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import fastify from "fastify";

export async function serve(workload, port) {
  if (workload.kind === "batteries" || workload.kind === "shared") return serveBatteries(workload, port);
  if (workload.kind === "traced") return serveTraced(workload, port);
  const app = fastify();
  await routes[workload.kind](app, workload);
  return app.listen({ port, host: "127.0.0.1" });
}

const routes = {
  text: (app, { path, value }) => app.get(path, (_, reply) => reply.send(value)),
  json: (app, { path, value }) => app.get(path, (_, reply) => reply.send(value)),
  params(app, { route, others }) {
    const answer = ({ params, query }, reply) => reply.send({ user: params.user, post: params.post, q: query.q });
    for (const template of [...others, route]) app.get(template.replace(/\{(\w+)\}/g, ":$1"), answer);
  },
  echo: (app, { path }) => app.post(path, (request, reply) => reply.send(request.body)),
  middleware(app, { path, value, count }) {
    for (let n = 0; n < count; n++) app.addHook("onRequest", (_request, _reply, done) => done());
    app.get(path, (_, reply) => reply.send(value));
  },
  stream(app, { path, chunks }) {
    const type = "application/octet-stream";
    app.get(path, (_, reply) => reply.type(type).send(Readable.from(chunks(), { objectMode: false })));
  },
  async static(app, { directory }) {
    const { default: files } = await import("@fastify/static");
    await app.register(files, { root: directory, prefix: "/static/" });
  },
  async graphql(app, { path }) {
    const { default: mercurius } = await import("mercurius");
    const { resolvers, typeDefs } = await import("../lib/graphql-books.mjs");
    await app.register(mercurius, { schema: typeDefs, resolvers, path, jit: 1 });
  },
  async multipart(app, { path }) {
    const { default: multipart } = await import("@fastify/multipart");
    await app.register(multipart, { limits: { fileSize: 10_485_760 } });
    app.post(path, async (request) => {
      const { filename, file } = await request.file();
      let size = 0;
      for await (const chunk of file) size += chunk.length;
      return { name: filename, size };
    });
  },
};

/** The official plugins, with their own defaults; the limit is one that the load does not reach. */
async function serveBatteries({ path, value, secret, kind }, port) {
  const plugins = ["@fastify/cors", "@fastify/etag", "@fastify/rate-limit", "@fastify/compress", "@fastify/jwt"];
  const [cors, etag, rateLimit, compress, jwt] = await Promise.all(
    plugins.map(async (name) => (await import(name)).default),
  );
  const { default: metrics } = await import("fastify-metrics");
  const app = fastify({
    logger: { level: "info", file: "/dev/null" },
    bodyLimit: 10_485_760,
    requestIdHeader: "x-request-id",
    genReqId: () => randomUUID(),
  });
  app.addHook("onRequest", async (request, reply) => void reply.header("X-Request-ID", request.id));
  await app.register(cors);
  await app.register(metrics.default ?? metrics, { endpoint: "/metrics" });
  const redis = kind === "shared" ? new (await import("ioredis")).Redis(process.env.BENCH_REDIS) : undefined;
  await app.register(rateLimit, { max: 1e9, timeWindow: "1 minute", redis });
  await app.register(compress, { threshold: 1024 });
  await app.register(etag, { weak: true });
  await app.register(jwt, { secret, verify: { algorithms: ["HS256"] } });
  app.addHook("onRequest", (request) => request.jwtVerify());
  app.get(path, (_, reply) => reply.send(value));
  return app.listen({ port, host: "127.0.0.1" });
}

/**
 * The SDK of OpenTelemetry with its own defaults and the instrumentation of node:http, which makes the span. Only the
 * name by the route is added; @fastify/otel, which adds two more spans to each request, is left out.
 */
async function serveTraced({ path, value, rate }, port) {
  const { trace } = await import("@opentelemetry/api");
  const { BatchSpanProcessor, NodeTracerProvider, ParentBasedSampler, TraceIdRatioBasedSampler } = await import(
    "@opentelemetry/sdk-trace-node"
  );
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
  const { registerInstrumentations } = await import("@opentelemetry/instrumentation");
  const { HttpInstrumentation } = await import("@opentelemetry/instrumentation-http");
  const { resourceFromAttributes } = await import("@opentelemetry/resources");
  process.env.OTEL_SEMCONV_STABILITY_OPT_IN = "http";
  const exporter = new OTLPTraceExporter({ url: `${process.env.BENCH_COLLECTOR}/v1/traces` });
  new NodeTracerProvider({
    resource: resourceFromAttributes({ "service.name": "bench" }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(rate) }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 8192 })],
  }).register();
  registerInstrumentations({ instrumentations: [new HttpInstrumentation()] });
  // The instrumentation takes effect when the module is required.
  createRequire(import.meta.url)("node:http");
  const app = fastify();
  app.addHook("onRequest", (request, _reply, done) => {
    const span = trace.getActiveSpan();
    span
      ?.updateName(`${request.method} ${request.routeOptions.url}`)
      .setAttribute("http.route", request.routeOptions.url);
    done();
  });
  app.get(path, (_, reply) => reply.send(value));
  return app.listen({ port, host: "127.0.0.1" });
}
