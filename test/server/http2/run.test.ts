import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { App, Response } from "stoa";
import { afterEach, describe, expect, it } from "vitest";
import { readCommandLine } from "../../../src/server/command-line.js";
import { readEnvironment } from "../../../src/server/environment.js";
import { defaultHttp2 } from "../../../src/server/http2/fields.js";
import { http2Streams } from "../../../src/server/http2/streams.js";
import { planRun, type RunOptions, readRunOptions } from "../../../src/server/run-options.js";
import { open, send } from "./client.js";
import {
  CANCEL,
  DATA,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FrameClient,
  frame,
  GOAWAY,
  get,
  HEADERS,
  preface,
  RST_STREAM,
  request,
  SETTINGS,
  settings,
  uint32,
} from "./frames.js";

const fixture = (name: string) => new URL(`../fixtures/${name}`, import.meta.url).pathname;
const tls = { cert: fixture("cert.pem"), key: fixture("key.pem") };

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function run(app: App, options: RunOptions = {}) {
  const server = await app.run({ port: 0, exit: false, logs: false, http2: true, ...options });
  closers.push(() => server.close());
  return server;
}

describe("run({ http2 })", () => {
  it("An application serves HTTP/2 and HTTP/1.1 on one port without TLS", async () => {
    const app = new App();
    app.get("/", (request) => request.url);
    const { url } = await run(app);
    expect((await send(await open(url))).body).toBe(`${url}/`);
    expect(await (await fetch(url)).text()).toBe(`${url}/`);
  });

  it("An application serves HTTP/2 and HTTP/1.1 on one port with TLS, as the client chooses", async () => {
    const app = new App();
    app.get("/", (request) => request.url);
    const { url } = await run(app, { tls });
    const session = await open(url);
    expect(session.alpnProtocol).toBe("h2");
    expect((await send(session)).body).toBe(`${url}/`);
    const { request } = await import("node:https");
    const text = await new Promise((resolve) => {
      request(url, { rejectUnauthorized: false }, (response) => {
        response.on("data", (piece) => resolve(`${response.httpVersion} ${piece}`));
      }).end();
    });
    expect(text).toBe(`1.1 ${url}/`);
  });

  it.each([
    ["DATA", frame(DATA, END_STREAM, 1, Buffer.from("x"))],
    ["HEADERS", frame(HEADERS, END_STREAM | END_HEADERS, 1, request("/"))],
  ])("A %s frame behind the end of a request is an error, also in a TLS record of its own", async (_type, late) => {
    const app = new App();
    app.get("/", () => "hello");
    const { address } = await run(app, { tls, shutdownTimeout: 0.5 });
    const tcp = connect(address.port, "127.0.0.1");
    closers.push(async () => void tcp.destroy());
    let held: Buffer[] | null = null;
    const wire = new Duplex({
      read() {},
      write(bytes: Buffer, _encoding, done) {
        if (held === null) tcp.write(bytes);
        else held.push(bytes);
        done();
      },
    });
    tcp.on("data", (bytes) => wire.push(bytes));
    tcp.on("close", () => wire.push(null));
    const socket = connectTls({ socket: wire, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    const client = new FrameClient(socket);
    await once(socket, "secureConnect");
    client.send(preface, settings());
    await client.until(({ type }) => type === SETTINGS);
    // Two records, which the server gets at once.
    held = [];
    await new Promise((sent) => socket.write(get(1), sent));
    await new Promise((sent) => socket.write(late, sent));
    tcp.write(Buffer.concat(held));
    // Node ends a session with INTERNAL_ERROR (2) where nghttp2 says STREAM_CLOSED (5).
    const reset = await client.until(({ type }) => type === RST_STREAM || type === GOAWAY);
    expect([2, 5]).toContain(reset?.payload.readUInt32BE(reset.type === GOAWAY ? 4 : 0));
  });

  it("A client that offers only HTTP/2 is refused by a server without it", async () => {
    const app = new App();
    const { url } = await run(app, { tls, http2: false });
    const session = connectHttp2(url, { rejectUnauthorized: false });
    await new Promise((resolve) => session.once("error", resolve));
  });

  it("Routes, bodies, uploads, cookies and ranges of files work over HTTP/2", async () => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-"));
    await writeFile(join(folder, "letters.txt"), "abcdefghijklmnopqrstuvwxyz");
    const app = new App();
    app.enableStaticFiles({ directory: folder, prefix: "/files" });
    app.get("/books/{id}", (request) => ({ id: request.params.id, search: request.query.get("q") }));
    app.post("/json", (request) => request.json());
    app.post("/form", async (request) => {
      const file = request.form().file("upload");
      return `${file?.filename} ${file?.bytes.length}`;
    });
    app.get("/cookie", (request) => new Response(request.cookies.get("a") ?? "none").cookie("b", "2"));
    const { url } = await run(app);
    const session = await open(url);
    expect(JSON.parse((await send(session, { ":path": "/books/7?q=x" })).body)).toEqual({ id: "7", search: "x" });
    const json = { ":method": "POST", ":path": "/json", "content-type": "application/json" };
    expect((await send(session, json, '{"a":[1,2]}')).body).toBe('{"a":[1,2]}');
    const body = `--x\r\nContent-Disposition: form-data; name="upload"; filename="a.bin"\r\n\r\n${"y".repeat(300_000)}\r\n--x--\r\n`;
    const form = { ":method": "POST", ":path": "/form", "content-type": "multipart/form-data; boundary=x" };
    expect((await send(session, form, body)).body).toBe("a.bin 300000");
    const cookie = await send(session, { ":path": "/cookie", cookie: "a=1" });
    expect(cookie).toMatchObject({ body: "1", headers: { "set-cookie": [expect.stringMatching(/^b=2/)] } });
    const range = await send(session, { ":path": "/files/letters.txt", range: "bytes=2-4" });
    expect(range).toMatchObject({ status: 206, body: "cde", headers: { "content-range": "bytes 2-4/26" } });
    expect(await send(session, { ":path": "/files/letters.txt", ":method": "HEAD" })).toMatchObject({
      status: 200,
      body: "",
      headers: { "content-length": "26" },
    });
    await rm(folder, { recursive: true });
  });

  it("A GET request that ends in an empty DATA frame gets its response from the cache", async () => {
    let runs = 0;
    const app = new App().enableCaching();
    app.get("/", () => `run ${++runs}`);
    const { address } = await run(app);
    const client = await FrameClient.open(address);
    const ask = async (id: number, data: string): Promise<string> => {
      client.send(frame(HEADERS, END_HEADERS, id, request()), frame(DATA, END_STREAM, id, Buffer.from(data)));
      await client.ended(id);
      return client.frames.find((one) => one.id === id && one.type === DATA)!.payload.toString();
    };
    expect([await ask(1, ""), await ask(3, ""), await ask(5, "body"), await ask(7, "")]).toEqual([
      "run 1",
      "run 1",
      "run 2",
      "run 1",
    ]);
    client.socket.destroy();
  });

  it("A WebSocket route on HTTP/2 responds with 426, and works over HTTP/1.1 on the same port", async () => {
    const app = new App();
    app.websocket("/ws", async (socket) => socket.sendText("hello"));
    const { url } = await run(app);
    const session = await open(url);
    expect((await send(session, { ":path": "/ws" })).status).toBe(426);
    const { WebSocket } = await import("ws");
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
    expect(String(await new Promise((resolve) => socket.once("message", resolve)))).toBe("hello");
  });

  it("A handler of streams that a feature adds gets the streams of gRPC", async () => {
    const app = new App();
    const { url } = await run(app);
    // Features get the host; the test takes it from a request.
    let host: object | undefined;
    const other = new App();
    other.get("/", (request) => {
      host = request.host ?? undefined;
      return "";
    });
    const second = await run(other);
    await fetch(second.url);
    http2Streams(host!).add((stream) => {
      stream.respond({ ":status": 200 });
      stream.end("taken");
      return true;
    });
    const headers = { ":method": "POST", "content-type": "application/grpc" };
    expect((await send(await open(second.url), headers, "x")).body).toBe("taken");
    expect((await send(await open(url), headers, "x")).status).toBe(404);
  });

  it("Connections that are ended for abuse are counted in the metrics of the application", async () => {
    const app = new App().enableMetrics();
    app.get("/", () => "hello");
    const { url, address } = await run(app, { http2: { maxResets: 10 } });
    const client = await FrameClient.open(address);
    for (let id = 1; !client.closed && id < 1000; id += 2) {
      await client.sendAll(get(id), frame(RST_STREAM, 0, id, uint32(CANCEL)));
    }
    expect(await client.end()).toBe(ENHANCE_YOUR_CALM);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/HTTP2_RESET_FLOOD"\} 1/);
  });

  it("Connections that are ended because nobody reads are counted in the metrics, and the log tells of them", async () => {
    const lines: unknown[][] = [];
    const app = new App().enableMetrics();
    app.logger = { ...app.logger, info: (...line) => lines.push(line) };
    app.get("/", () => "x".repeat(50_000));
    const { url, address } = await run(app, { maxUnreadMemory: 50_000 });
    const client = await FrameClient.open(address, [[4, 0]]);
    client.send(get(1), get(3), get(5));
    await client.end();
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/RESPONSES_UNREAD"\} 1/);
    expect(lines).toContainEqual([
      "a connection was ended because its client does not read its responses",
      expect.objectContaining({ code: "RESPONSES_UNREAD" }),
    ]);
  });

  it("Closing a server finishes the streams that are open, bounded by the shutdown time", async () => {
    let respond = () => {};
    const app = new App();
    app.get("/slow", () => new Promise<string>((resolve) => (respond = () => resolve("done"))));
    app.get("/stuck", () => new Promise<string>(() => {}));
    const server = await app.run({ port: 0, exit: false, logs: false, http2: true, shutdownTimeout: 1 });
    const session = await open(server.url);
    const slow = send(session, { ":path": "/slow" });
    const stuck = send(session, { ":path": "/stuck" });
    await expect.poll(() => respond.toString()).toContain("done");
    const closed = server.close();
    respond();
    expect((await slow).body).toBe("done");
    await closed;
    expect((await stuck).status).toBe(0);
  });
});

describe("the options of HTTP/2", () => {
  const plan = (args: string[], options: RunOptions = {}, variables: Record<string, string> = {}) =>
    planRun(readCommandLine(args).options, readRunOptions(options), readEnvironment(variables)).http2;

  it("HTTP/2 is off unless an option, an argument or the environment turns it on", () => {
    expect(plan([])).toBeNull();
    expect(plan([], { http2: false })).toBeNull();
    expect(plan([], { http2: true })).toEqual(defaultHttp2);
    expect(plan(["--http2"])).toEqual(defaultHttp2);
    expect(plan([], {}, { STOA_HTTP2: "1" })).toEqual(defaultHttp2);
    expect(plan([], { http2: false }, { STOA_HTTP2: "1" })).toBeNull();
    expect(plan(["--http2"], { http2: false })).toEqual(defaultHttp2);
    expect(plan(["--no-http2"], { http2: { maxResets: 5 } })).toBeNull();
  });

  it("The options of HTTP/2 stay as they are when a switch turns it on", () => {
    expect(plan(["--http2"], { http2: { maxResets: 5 } })).toEqual({ ...defaultHttp2, maxResets: 5 });
    expect(plan([], { http2: { max_concurrent_streams: 7 } }, { STOA_HTTP2: "1" })).toMatchObject({
      maxConcurrentStreams: 7,
    });
  });

  it.each([
    [{ http2: "yes" }, /option 'http2' in run\(\) must be true or false, or an object, not "yes"/],
    [{ http2: { maxStreams: 5 } }, /unknown option 'maxStreams' in http2/],
    [{ http2: { maxConcurrentStreams: 0 } }, /option 'maxConcurrentStreams' in http2 must be an integer/],
    [{ http2: { streamWindow: 100 } }, /option 'streamWindow' in http2 must be an integer/],
    [{ http2: true, transport: "node" }, /http2 cannot be used with `transport: "node"`/],
  ])("Wrong options of HTTP/2 are refused: %j", (options, message) => {
    expect(() => plan([], options as RunOptions)).toThrow(message);
  });
});
