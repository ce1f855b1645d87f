import { Book, stoa } from "../lib/stoa-models.mjs";
import { poolSize } from "../lib/store-server.mjs";
import { authorsWithBooks, calls } from "./stoa-orm.mjs";

/** The whole framework: its own HTTP layer, its models, and querysets returned as its guide shows it. */
export function serve(workload, port) {
  const app = new stoa.App();
  app.enableDatabase({ url: process.env.BENCH_DATABASE, poolSize });
  routes[workload.kind](app, workload);
  return app.run({ host: "127.0.0.1", port, env: "production", logs: false });
}

const routes = {
  row: (app) => app.get("/books/{id}", (request) => calls.book(Number(request.params.id))),
  rows: (app, { path, limit }) => app.get(path, () => Book.objects.orderBy("id").limit(limit)),
  join: (app, { path, limit }) => app.get(path, () => Book.objects.selectRelated("author").orderBy("id").limit(limit)),
  insert: (app, { path }) => app.post(path, (request) => calls.addBook(request.json())),
  nestedRead: (app, { path, limit, newest }) => app.get(path, () => authorsWithBooks(limit, newest)),
  nestedWrite: (app, { path }) => app.post(path, (request) => calls.addAuthor(request.json())),
  queries: (app, { path, ids }) => app.get(path, () => Promise.all(ids.map(calls.book))),
  sequence: (app, { path, ids }) =>
    app.get(path, async () => {
      const found = [];
      for (const id of ids) found.push(await calls.book(id));
      return found;
    }),
};
