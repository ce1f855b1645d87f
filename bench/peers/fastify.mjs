import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import fastify from "fastify";

export async function serve(workload, port) {
  if (workload.kind === "batteries") return serveBatteries(workload, port);
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
async function serveBatteries({ path, value, secret }, port) {
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
  await app.register(rateLimit, { max: 1e9, timeWindow: "1 minute" });
  await app.register(compress, { threshold: 1024 });
  await app.register(etag, { weak: true });
  await app.register(jwt, { secret, verify: { algorithms: ["HS256"] } });
  app.addHook("onRequest", (request) => request.jwtVerify());
  app.get(path, (_, reply) => reply.send(value));
  return app.listen({ port, host: "127.0.0.1" });
}
