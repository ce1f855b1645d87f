import { Hono } from "hono";

/** The application, for any runtime. */
export function createApp(workload) {
  const app = new Hono();
  routes[workload.kind](app, workload);
  return app;
}

const routes = {
  text: (app, { path, value }) => app.get(path, (c) => c.text(value)),
  json: (app, { path, value }) => app.get(path, (c) => c.json(value)),
  params(app, { route, others }) {
    const answer = (c) => c.json({ user: c.req.param("user"), post: c.req.param("post"), q: c.req.query("q") });
    for (const template of [...others, route]) app.get(template.replace(/\{(\w+)\}/g, ":$1"), answer);
  },
  echo: (app, { path }) => app.post(path, async (c) => c.json(await c.req.json())),
  middleware(app, { path, value, count }) {
    for (let n = 0; n < count; n++) app.use(async (_, next) => next());
    app.get(path, (c) => c.json(value));
  },
  stream: (app, { path, chunks }) => app.get(path, (c) => c.body(ReadableStream.from(chunks()))),
  sse(app, { path, value, hub }) {
    app.get(path, (c) => c.text(value));
    app.get("/events", async (c) => {
      const { streamSSE } = await import("hono/streaming");
      return streamSSE(c, async (stream) => {
        for await (const data of hub.events()) await stream.writeSSE({ data });
      });
    });
    app.post("/publish", (c) => {
      hub.publish("an event");
      return c.body(null, 204);
    });
  },
  multipart: (app, { path }) =>
    app.post(path, async (c) => {
      const { file } = await c.req.parseBody();
      return c.json({ name: file.name, size: file.size });
    }),
};
