import { getQuery, H3, serve as listen, readBody } from "h3";

export function serve(workload, port) {
  const app = new H3();
  routes[workload.kind](app, workload);
  return listen(app, { port, hostname: "127.0.0.1", silent: true });
}

const routes = {
  text: (app, { path, value }) => app.get(path, () => value),
  json: (app, { path, value }) => app.get(path, () => value),
  params(app, { route, others }) {
    const answer = (event) => {
      const { user, post } = event.context.params;
      return { user, post, q: getQuery(event).q };
    };
    for (const template of [...others, route]) app.get(template.replace(/\{(\w+)\}/g, ":$1"), answer);
  },
  echo: (app, { path }) => app.post(path, (event) => readBody(event)),
};
