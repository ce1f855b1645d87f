import { Elysia } from "elysia";

/** The application, for any runtime. */
export function createApp(workload, options) {
  const app = new Elysia(options);
  routes[workload.kind](app, workload);
  return app;
}

const routes = {
  text: (app, { path, value }) => app.get(path, () => value),
  json: (app, { path, value }) => app.get(path, () => value),
  params(app, { route, others }) {
    const answer = ({ params, query }) => ({ user: params.user, post: params.post, q: query.q });
    for (const template of [...others, route]) app.get(template.replace(/\{(\w+)\}/g, ":$1"), answer);
  },
  echo: (app, { path }) => app.post(path, ({ body }) => body),
  websocket: (app, { path, value }) =>
    app.get(path, () => value).ws("/echo", { message: (socket, message) => void socket.send(message) }),
};
