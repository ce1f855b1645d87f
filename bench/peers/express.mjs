import express from "express";

export function serve(workload, port) {
  const app = express();
  routes[workload.kind](app, workload);
  return app.listen(port, "127.0.0.1");
}

const routes = {
  text: (app, { path, value }) => app.get(path, (_, response) => response.type("text").send(value)),
  json: (app, { path, value }) => app.get(path, (_, response) => response.json(value)),
  params(app, { route, others }) {
    const answer = ({ params, query }, response) => response.json({ user: params.user, post: params.post, q: query.q });
    for (const template of [...others, route]) app.get(template.replace(/\{(\w+)\}/g, ":$1"), answer);
  },
  echo: (app, { path }) => app.post(path, express.json(), (request, response) => response.json(request.body)),
};
