import { createServer } from "node:http";

/** Connections that every contestant may have to the database. */
export const poolSize = 10;

/**
 * The same HTTP layer for every store, so that nothing else differs. `open` returns an object with the calls `book`,
 * `books`, `booksWithAuthors`, `addBook`, `authorsWithBooks` and `addAuthor`. If it has `fork`, that makes an object for each request.
 */
export function serveStore(open) {
  return async (workload, port) => {
    const store = await open(process.env.BENCH_DATABASE);
    const answer = answers[workload.kind];
    const server = createServer((request, response) => {
      const calls = store.fork?.() ?? store;
      answer(calls, workload, request).then(
        (result) => send(response, 200, typeof result === "string" ? result : JSON.stringify(result)),
        (error) => send(response, 500, JSON.stringify({ error: error.message })),
      );
    });
    return server.listen(port, "127.0.0.1");
  };
}

const answers = {
  row: (store, _, { url }) => store.book(Number(url.slice("/books/".length))),
  rows: (store, { limit }) => store.books(limit),
  join: (store, { limit }) => store.booksWithAuthors(limit),
  insert: async (store, _, request) => store.addBook(await readJson(request)),
  nestedRead: (store, { limit, newest }) => store.authorsWithBooks(limit, newest),
  nestedWrite: async (store, _, request) => store.addAuthor(await readJson(request)),
  queries: (store, { ids }) => Promise.all(ids.map((id) => store.book(id))),
  async sequence(store, { ids }) {
    const found = [];
    for (const id of ids) found.push(await store.book(id));
    return found;
  },
};

function readJson(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => resolve(JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))));
    request.on("error", reject);
  });
}

function send(response, status, body) {
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
