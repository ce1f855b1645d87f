import { createReadStream, type ReadStream } from "node:fs";
import { createServer } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { App, Response } from "stoa";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { withoutNative } from "../server/support.js";

/** The streams that handlers have made, until they are closed. */
const open = new Set<PassThrough | ReadStream>();

function noted<S extends PassThrough | ReadStream>(stream: S): S {
  open.add(stream);
  stream.once("close", () => open.delete(stream));
  return stream;
}

const missing = () => noted(createReadStream("/no/such/file"));
const present = () => noted(createReadStream(fileURLToPath(import.meta.url)));

/** Handlers whose stream is not sent, with the status of their response. */
const unsent: Readonly<Record<string, readonly [status: number, make: (stream: ReadStream) => unknown]>> = {
  "a member of a result": [500, (file) => ({ name: "a", file })],
  "an item of a result": [500, (file) => [1, { list: new Set([file]) }]],
  "a promise in a result": [500, async (file) => ({ file: Promise.resolve({ file }) })],
  "a member of Response.json": [500, (file) => Response.json({ file })],
  "a response with a bad header": [500, (file) => Response.stream(file, { headers: { "X-A": "a\r\nb" } })],
  "a bad header later": [500, (file) => Response.stream(file).header("X-A", "a\r\nb")],
  "status 204": [500, (file) => Response.stream(file, 204)],
  "status 304": [500, (file) => Response.stream(file, { status: 304 })],
  "status 99": [500, (file) => Response.stream(file, { status: 99 })],
};

/** The same for streams that exist, or that are not begun. */
const sentByGet: typeof unsent = {
  "a response": [200, (file) => Response.stream(file)],
  "the stream": [200, (file) => file],
  "an event stream": [200, (file) => Response.sse(file)],
  "a web Response": [200, (file) => new globalThis.Response(file as unknown as ReadableStream)],
  "a tagged response": [200, (file) => Response.stream(file).header("ETag", '"a"')],
  "a replaced response": [403, (file) => Response.stream(file).header("X-Replace", "1")],
};

function application(): App {
  const app = new App();
  app.logger = silent;
  app.enableEtag();
  app.use(async (_request, next) => {
    const response = await next();
    if (!response.headers.has("x-replace")) return response;
    return Response.text("denied", 403);
  });
  for (const [name, [, make]] of Object.entries({ ...unsent, ...sentByGet })) {
    app.get(`/missing/${name.replaceAll(" ", "-")}`, () => make(missing()));
    app.get(`/present/${name.replaceAll(" ", "-")}`, () => make(present()));
  }
  app.get("/silent", () =>
    Response.stream(noted(new PassThrough()), { headers: { "Content-Type": "text/event-stream" } }),
  );
  return app;
}

const silent: App["logger"] = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

type Send = (path: string, method: string, headers?: Record<string, string>) => Promise<number>;

interface Served {
  readonly send: Send;
  readonly port: number | null;
  close(): unknown;
}

const sendTo =
  (url: string): Send =>
  async (path, method, headers = {}) => {
    const response = await fetch(url + path, { method, headers });
    await response.text();
    return response.status;
  };

async function running(options: object): Promise<Served> {
  const server = await application().run({ port: 0, exit: false, ...options });
  return { send: sendTo(server.url), port: server.address.port, close: () => server.close() };
}

const ways: Readonly<Record<string, () => Promise<Served>>> = {
  net: () => running({ transport: "net" }),
  node: () => running({ transport: "node" }),
  ...(withoutNative === undefined && { native: () => running({ transport: "native" }) }),
  async http2() {
    const { port, close } = await running({ http2: true });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const send: Send = (path, method, headers) =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ":path": path, ":method": method, ...headers });
        stream.on("response", (head) => stream.on("close", () => resolve(head[":status"]!)).resume());
        stream.on("error", reject);
      });
    return {
      send,
      port,
      close: () => {
        session.destroy();
        return close();
      },
    };
  },
  async fetch() {
    const app = application();
    const send: Send = async (path, method, headers = {}) =>
      (await app.fetch(new Request(`http://a${path}`, { method, headers }))).status;
    return { send, port: null, close: () => app.stop() };
  },
  async nodeListener() {
    const server = createServer(application().nodeListener());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return { send: sendTo(`http://127.0.0.1:${port}`), port, close: () => server.close() };
  },
};

// A stream that fails without a listener is an uncaught exception, which fails the run.
describe.each(Object.entries(ways))("Streams that are not sent by %s", (_name, serve) => {
  let served: Served;
  beforeAll(async () => {
    served = await serve();
  });
  afterAll(() => served.close());
  const closed = () => vi.waitFor(() => expect(open.size).toBe(0), { timeout: 10_000 });

  it.each(Object.entries(unsent))("A stream in %s is closed, and its error is caught", async (name, [status]) => {
    for (const kind of ["missing", "present"]) {
      expect(await served.send(`/${kind}/${name.replaceAll(" ", "-")}`, "GET")).toBe(status);
      await closed();
    }
  });

  it.each(Object.entries(sentByGet))(
    "HEAD closes the stream of %s, and its error is caught",
    async (name, [status]) => {
      for (const kind of ["missing", "present"]) {
        expect(await served.send(`/${kind}/${name.replaceAll(" ", "-")}`, "HEAD")).toBe(status);
        await closed();
      }
    },
  );

  it("The stream of a response that becomes 304 is closed", async () => {
    for (const [kind, method] of [
      ["present", "GET"],
      ["present", "HEAD"],
      ["missing", "HEAD"],
    ] as const) {
      expect(await served.send(`/${kind}/a-tagged-response`, method, { "if-none-match": '"a"' })).toBe(304);
      await closed();
    }
  });

  it("A stream that has nothing to send is closed when its client leaves", async ({ skip }) => {
    if (served.port === null) skip();
    const socket = connect(served.port!, "127.0.0.1").on("error", () => {});
    socket.write("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n");
    await vi.waitFor(() => expect(open.size).toBe(1), { timeout: 10_000 });
    socket.resetAndDestroy();
    await closed();
  });
});
