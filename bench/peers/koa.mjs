import { bodyParser } from "@koa/bodyparser";
import { Router } from "@koa/router";
import Koa from "koa";

export function serve(workload, port) {
  const app = new Koa();
  const router = new Router();
  routes[workload.kind](router, workload);
  return app.use(router.routes()).listen(port, "127.0.0.1");
}

const routes = {
  text: (router, { path, value }) => answer(router, path, () => value),
  json: (router, { path, value }) => answer(router, path, () => value),
  params(router, { route, others }) {
    for (const template of [...others, route]) {
      answer(router, template.replace(/\{(\w+)\}/g, ":$1"), ({ params, query }) => ({
        user: params.user,
        post: params.post,
        q: query.q,
      }));
    }
  },
  echo: (router, { path }) =>
    router.post(path, bodyParser(), (context) => {
      context.body = context.request.body;
    }),
};

function answer(router, path, result) {
  router.get(path, (context) => {
    context.body = result(context);
  });
}
