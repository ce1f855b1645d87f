import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from "node:http2";
import { expect, it } from "vitest";
import { App } from "../../src/entry/index.js";
import { open } from "../server/http2/client.js";
import { eventually, frame } from "./server.js";

/** Runs an application, and opens a connection of HTTP/2 to it. */
async function connected(app: App) {
  const server = await app.run({ port: 0, host: "127.0.0.1", http2: true, exit: false, logs: false });
  const session = await open(server.url);
  await eventually(() => session.remoteSettings.enableConnectProtocol === true);
  return {
    session,
    close: () => server.close(),
    async [Symbol.asyncDispose]() {
      session.destroy();
      await server.close();
    },
  };
}

function handshake(session: ClientHttp2Session, path: string, fields: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = session.request(
    { ":method": "CONNECT", ":protocol": "websocket", ":path": path, "sec-websocket-version": "13", ...fields },
    { endStream: false },
  );
  stream.on("error", () => {});
  return stream;
}

async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const [headers] = (await once(stream, "response")) as [{ ":status": number }];
  return headers[":status"];
}

const echoes = (app: App): App =>
  app.websocket("/echo", { protocols: ["chat"] }, async (socket) => {
    for await (const message of socket) await socket.sendText(`${message.text}!`);
  });

it("The server says that it opens WebSockets, and the response to the handshake has the fields of middleware", async () => {
  await using server = await connected(echoes(new App().enableRequestId()));
  const stream = handshake(server.session, "/echo", { "sec-websocket-protocol": "other, chat" });
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  expect(headers[":status"]).toBe(200);
  expect(headers["sec-websocket-protocol"]).toBe("chat");
  expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers["sec-websocket-accept"]).toBeUndefined();
});

it("Many sockets and requests share one connection", async () => {
  await using server = await connected(echoes(new App().get("/plain", () => "plain")));
  const streams = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const stream = handshake(server.session, "/echo");
      expect(await statusOf(stream)).toBe(200);
      stream.write(frame(1, `m${n}`));
      return stream;
    }),
  );
  for (const [n, stream] of streams.entries()) {
    const [bytes] = (await once(stream, "data")) as [Buffer];
    expect(bytes.subarray(2).toString()).toBe(`m${n}!`);
  }
  expect(await statusOf(server.session.request({ ":path": "/plain" }))).toBe(200);
});

it.each([
  ["a guard that refuses it", "/guarded", {}, 403],
  ["a page of another origin", "/echo", { origin: "https://evil.example" }, 403],
  ["another version", "/echo", { "sec-websocket-version": "8" }, 426],
  ["a path of which there is nothing", "/nothing", {}, 404],
  ["a path that has a page only", "/page", {}, 404],
  ["another protocol", "/echo", { ":protocol": "connect-udp" }, 501],
])("A WebSocket is not opened for %s", async (_, path, fields, status) => {
  const app = echoes(new App().get("/page", () => "a page"));
  app.websocket("/guarded", { guards: [() => false] }, () => {});
  await using server = await connected(app);
  expect(await statusOf(handshake(server.session, path, fields as OutgoingHttpHeaders))).toBe(status);
});

it("A client that resets the stream, or loses the connection, ends the socket and its signal", async () => {
  const ends: string[] = [];
  const app = new App().websocket("/wait", async (socket) => {
    socket.signal.addEventListener("abort", () => ends.push("aborted"));
    const { code } = await socket.closed;
    ends.push(String(code));
  });
  await using server = await connected(app);
  const stream = handshake(server.session, "/wait");
  await statusOf(stream);
  stream.close(constants.NGHTTP2_CANCEL);
  await eventually(() => ends.length === 2);
  await statusOf(handshake(server.session, "/wait"));
  server.session.destroy();
  await eventually(() => ends.length === 4);
  expect(ends.filter((end) => end === "1006")).toHaveLength(2);
});

it("A server that ends closes the sockets with 1001", async () => {
  const server = await connected(echoes(new App()));
  const stream = handshake(server.session, "/echo");
  await statusOf(stream);
  const received: Buffer[] = [];
  stream.on("data", (bytes: Buffer) => {
    received.push(bytes);
    if (bytes[0] === 0x88) stream.end(frame(8, bytes.subarray(2)));
  });
  await server.close();
  expect(Buffer.concat(received).subarray(0, 4)).toEqual(Buffer.of(0x88, 2, 1001 >> 8, 1001 & 0xff));
});

it("A client that does not read holds up only its own socket, which ends after sendTimeout", async () => {
  let ended: number | undefined;
  const options = { maxBuffered: 100_000, sendTimeout: "300ms" } as const;
  const app = echoes(new App()).websocket("/flood", options, async (socket) => {
    void socket.closed.then(({ code }) => {
      ended = code;
    });
    const text = "x".repeat(100_000);
    while (socket.isOpen) await socket.sendText(text);
  });
  await using server = await connected(app);
  const flooded = handshake(server.session, "/flood");
  await statusOf(flooded);
  flooded.pause();
  const stream = handshake(server.session, "/echo");
  await statusOf(stream);
  await eventually(() => ended === 1006);
  stream.write(frame(1, "still here"));
  const [bytes] = (await once(stream, "data")) as [Buffer];
  expect(bytes.subarray(2).toString()).toBe("still here!");
});
