import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";

const text = "text/plain; charset=utf-8";
const json = "application/json; charset=utf-8";
// Not in the import itself: its types would bring those of browsers into the check of all others.
const yoga = "graphql-yoga";

/** Raw node:http, by hand: the measure of the others. */
export async function serve(workload, port) {
  const server = createServer(await listeners[workload.kind](workload));
  if (workload.kind === "websocket") await echoMessages(server);
  return server.listen(port, "127.0.0.1");
}

const listeners = {
  text:
    ({ value }) =>
    (_, response) =>
      send(response, text, value),
  json:
    ({ value }) =>
    (_, response) =>
      send(response, json, JSON.stringify(value)),
  params: ({ route, others }) => {
    const known = new Set([...others, route].map(shapeOf));
    return (request, response) => {
      const mark = request.url.indexOf("?");
      const path = mark < 0 ? request.url : request.url.slice(0, mark);
      const [, collection, first, part, second] = path.split("/");
      if (!known.has(`${collection}/${part}`)) return response.writeHead(404).end();
      const query = new URLSearchParams(mark < 0 ? "" : request.url.slice(mark + 1));
      const body = { user: decodeURIComponent(first), post: decodeURIComponent(second), q: query.get("q") };
      send(response, json, JSON.stringify(body));
    };
  },
  echo: () => (request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      send(response, json, JSON.stringify(JSON.parse(body.toString())));
    });
  },
  stream:
    ({ chunks }) =>
    (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      pipeline(Readable.from(chunks(), { objectMode: false }), response, () => {});
    },
  sse: ({ value }) => {
    const clients = new Set();
    return (request, response) => {
      if (request.url === "/") return send(response, text, value);
      if (request.url === "/publish") {
        for (const client of clients) client.write("data: an event\n\n");
        return response.writeHead(204).end();
      }
      clients.add(response);
      response.on("close", () => clients.delete(response));
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      response.write("data: ready\n\n");
    };
  },
  /** With GraphQL Yoga, which is the listener itself. */
  async graphql({ path }) {
    const { createSchema, createYoga } = await import(yoga);
    const { resolvers, typeDefs } = await import("../lib/graphql-books.mjs");
    return createYoga({ schema: createSchema({ typeDefs, resolvers }), graphqlEndpoint: path, logging: false });
  },
  websocket:
    ({ value }) =>
    (_, response) =>
      send(response, text, value),
  static: ({ directory }) => {
    return async (request, response) => {
      const file = join(directory, request.url.slice("/static".length));
      const { size, mtime } = await stat(file);
      response.writeHead(200, {
        "content-type": text,
        "content-length": size,
        "last-modified": mtime.toUTCString(),
        etag: `W/"${size}-${mtime.getTime()}"`,
      });
      pipeline(createReadStream(file), response, () => {});
    };
  },
};

/** With `ws`, as most do. */
async function echoMessages(server) {
  const { WebSocketServer } = await import("ws");
  new WebSocketServer({ server, path: "/echo", perMessageDeflate: false }).on("connection", (socket) =>
    socket.on("message", (data, binary) => socket.send(data, { binary })),
  );
}

function send(response, type, body) {
  response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function shapeOf(template) {
  const [, collection, , part] = template.split("/");
  return `${collection}/${part}`;
}
