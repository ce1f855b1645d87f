import { connect as dial, type ServerHttp2Stream } from "node:http2";
import { describe, expect, it, vi } from "vitest";
import { Response } from "../../../src/http/response.js";
import {
  type Http2StreamHandler,
  Http2StreamHandlers,
  type Http2StreamPeer,
} from "../../../src/server/http2/streams.js";
import { reply, send, start } from "./client.js";
import {
  CANCEL,
  DATA,
  END_HEADERS,
  ENHANCE_YOUR_CALM,
  FrameClient,
  frame,
  get,
  HEADERS,
  RST_STREAM,
  request,
  uint32,
  WINDOW_UPDATE,
} from "./frames.js";

/** A server whose streams of gRPC go to this handler. */
function serving(handler: Http2StreamHandler, options: Parameters<typeof start>[1] = {}) {
  const http2Streams = new Http2StreamHandlers();
  http2Streams.add(handler);
  return start(() => new Response("from the application"), { http2Streams, ...options });
}

const grpc = { ":method": "POST", "content-type": "application/grpc+proto", te: "trailers" };

describe("streams of another protocol on a server of HTTP/2", () => {
  it("A stream of gRPC is offered to the handler, which responds with trailers", async () => {
    let peer: Http2StreamPeer | undefined;
    const { dial } = await serving((stream, headers, given) => {
      peer = given;
      stream.respond({ ":status": 200, "content-type": headers["content-type"] }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.pipe(stream);
      return true;
    });
    const session = await dial();
    const stream = session.request({ ":path": "/a.B/C", ...grpc });
    let trailers: object = {};
    stream.on("trailers", (given) => {
      trailers = given;
    });
    stream.end("message");
    expect(await reply(stream)).toMatchObject({ status: 200, body: "message", code: 0 });
    expect(trailers).toMatchObject({ "grpc-status": "0" });
    expect(peer).toMatchObject({ remoteAddress: "127.0.0.1", secure: false });
    expect(peer!.rawHeaders.slice(0, 2)).toEqual([":path", "/a.B/C"]);
  });

  it("A stream that the handler leaves, and one of another type, go to the application", async () => {
    const offered: string[] = [];
    const { dial } = await serving((_stream, headers) => {
      offered.push(String(headers["content-type"]));
      return false;
    });
    const session = await dial();
    for (const type of ["application/grpc-web", "application/json", "text/plain"]) {
      const response = await send(session, { ":method": "POST", "content-type": type }, "x");
      expect(response.body).toBe("from the application");
    }
    expect(offered).toEqual(["application/grpc-web"]);
  });

  it("A handler of streams that throws resets the stream, and the connection continues", async () => {
    const { dial, errors } = await serving(() => {
      throw new Error("broken");
    });
    const session = await dial();
    expect((await send(session, grpc, "x")).code).toBe(2);
    expect((await send(session)).status).toBe(200);
    expect(errors).toEqual([new Error("broken")]);
  });

  it("Draining waits for a stream that a handler has taken", async () => {
    let taken: ServerHttp2Stream | undefined;
    const { dial, transport } = await serving((stream) => {
      taken = stream;
      stream.respond({ ":status": 200 });
      return true;
    });
    const session = await dial();
    const response = send(session, grpc, "x");
    await expect.poll(() => taken?.headersSent).toBe(true);
    const drained = transport.drain();
    taken!.end("done");
    expect((await response).body).toBe("done");
    await drained;
  });

  it("A client that cancels streams of another protocol is told to calm down", async () => {
    const { address, abuses } = await serving((stream) => {
      stream.respond({ ":status": 200 });
      return true;
    });
    const client = await FrameClient.open(address);
    const head = request("/", "POST", [["content-type", "application/grpc"]]);
    for (let id = 1; !client.closed && id < 20_000; id += 2) {
      await client.sendAll(frame(HEADERS, END_HEADERS, id, head), frame(RST_STREAM, 0, id, uint32(CANCEL)));
      if (id % 100 === 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await client.end()).toBe(ENHANCE_YOUR_CALM);
    expect(abuses).toEqual(["HTTP2_RESET_FLOOD"]);
  });

  it("A client that floods with frames beside an open stream of another protocol is told to calm down", async () => {
    const { address, abuses } = await serving((stream, _headers, peer) => {
      stream.on("data", (piece: Buffer) => peer.received(piece.length));
      stream.respond({ ":status": 200 });
      return true;
    });
    const client = await FrameClient.open(address);
    client.send(frame(HEADERS, END_HEADERS, 1, request("/", "POST", [["content-type", "application/grpc"]])));
    const block = Buffer.concat(Array.from({ length: 1000 }, () => frame(WINDOW_UPDATE, 0, 0, uint32(1))));
    while (!client.closed) {
      await client.sendAll(block);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await client.end()).toBe(ENHANCE_YOUR_CALM);
    expect(abuses).toEqual(["HTTP2_FRAME_FLOOD"]);
  });

  it("A client may send many small messages of another protocol, each in a frame of its own", async () => {
    let received = 0;
    const { address, abuses } = await serving((stream, _headers, peer) => {
      stream.on("data", (piece: Buffer) => {
        received += piece.length;
        peer.received(piece.length);
      });
      stream.on("end", () => stream.end());
      stream.respond({ ":status": 200 });
      return true;
    });
    const client = await FrameClient.open(address);
    client.send(frame(HEADERS, END_HEADERS, 1, request("/", "POST", [["content-type", "application/grpc"]])));
    const block = Buffer.concat(Array.from({ length: 1000 }, () => frame(DATA, 0, 1, Buffer.from("x"))));
    for (let sent = 1000; sent <= 400_000 && !client.closed; sent += 1000) {
      await client.sendAll(block);
      // The window of the stream.
      await vi.waitUntil(() => sent - received < 200_000 || client.closed, { timeout: 30_000, interval: 1 });
    }
    client.send(frame(DATA, 1, 1));
    expect(await client.ended(1)).toBe(0);
    expect([received, abuses]).toEqual([400_000, []]);
    client.socket.destroy();
  });

  it("A client that does not take the bytes of such a stream has it reset", async () => {
    let closed = false;
    const { address } = await serving(
      (stream) => {
        stream.respond({ ":status": 200 });
        stream.on("close", () => {
          closed = true;
        });
        stream.write("x".repeat(100_000));
        return true;
      },
      { writeTimeout: 0.2 },
    );
    const session = dial(`http://127.0.0.1:${address.port}`);
    session.on("error", () => {});
    const stream = session.request(grpc);
    stream.on("error", () => {});
    await expect.poll(() => closed).toBe(true);
    session.destroy();
    const raw = await FrameClient.open(address);
    raw.send(get(1));
    expect(await raw.ended(1)).toBe(0);
    raw.socket.destroy();
  });
});
