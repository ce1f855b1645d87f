import http2, { type ClientHttp2Session, constants } from "node:http2";
import net from "node:net";
import { gzipSync } from "node:zlib";
import * as grpc from "@grpc/grpc-js";
import { GrpcError } from "stoa/grpc";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  DATA,
  END_HEADERS,
  FrameClient,
  frame as frameOf,
  HEADERS,
  RST_STREAM,
  request as requestFields,
  uint32,
} from "../../server/http2/frames.js";
import { Echo } from "./fixtures/echo_pb.js";
import { addEcho, Peer, type RunningApp, serve } from "./support.js";

let running: RunningApp;
let peer: Peer;
const seen = { aborted: 0, reason: null as unknown, produced: 0, ended: 0, taken: 0, started: 0 };
let release: (() => void) | null = null;

beforeAll(async () => {
  running = await serve(
    (app) => {
      app.addGrpcService(Echo, {
        say: (message) => ({ text: message.text.repeat(Math.max(1, message.times)) }),
        look: (_message, { signal }) =>
          new Promise((_resolve, reject) => {
            seen.started++;
            signal.addEventListener("abort", () => {
              seen.aborted++;
              seen.reason = signal.reason;
              reject(signal.reason);
            });
          }),
        async *count(message) {
          try {
            for (let number = 0; number < message.times; number++) {
              seen.produced++;
              yield { number, payload: new Uint8Array(10_000) };
            }
          } finally {
            seen.ended++;
          }
        },
        async collect(messages) {
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          for await (const _message of messages) seen.taken++;
          return { number: seen.taken };
        },
        async *chat(messages) {
          for await (const { text } of messages) {
            if (text === "end") return;
            yield { text };
          }
        },
      });
    },
    {
      maxMessageSize: 100_000,
      maxResponseSize: 100_000,
      maxMetadataSize: 8192,
      compression: true,
      keepaliveInterval: 0,
    },
  );
  peer = new Peer(running.target);
});

afterAll(async () => {
  peer.close();
  await running.close();
});

beforeEach(() => {
  Object.assign(seen, { aborted: 0, reason: null, produced: 0, ended: 0, taken: 0, started: 0 });
});

describe("deadlines and cancellation", () => {
  it("A deadline that passes aborts the handler and gives DEADLINE_EXCEEDED", async () => {
    const session = connect();
    const { headers } = await raw(session, "/test.echo.v1.Echo/Look", frame(""), { "grpc-timeout": "50m" });
    expect(headers["grpc-status"]).toBe("4");
    expect(seen.aborted).toBe(1);
    expect(seen.reason).toBeInstanceOf(GrpcError);
    session.close();
  });

  it("A client that cancels aborts the handler", async () => {
    const outcome = await peer.call(
      Echo.method.look,
      {},
      { onCall: (call) => void vi.waitFor(() => expect(seen.started).toBe(1), 10_000).then(() => call.cancel()) },
    );
    expect(outcome.code).toBe(1);
    await vi.waitFor(() => expect(seen.aborted).toBe(1), 10_000);
  });

  it("A client that leaves in the middle of a stream ends the generator", async () => {
    const session = connect();
    const stream = session.request(headersOf("/test.echo.v1.Echo/Count"));
    stream.end(frame("", 1_000_000));
    stream.on("error", () => {});
    stream.once("data", () => session.destroy());
    await vi.waitFor(() => expect(seen.ended).toBe(1), 10_000);
    expect(seen.produced).toBeLessThan(1000);
  });

  it.each([
    ["cancels the call", (client: FrameClient) => client.send(frameOf(RST_STREAM, 0, 1, uint32(8)))],
    ["resets the stream without an error", (client: FrameClient) => client.send(frameOf(RST_STREAM, 0, 1, uint32(0)))],
    ["closes the connection", (client: FrameClient) => client.socket.end()],
    ["is killed", (client: FrameClient) => client.socket.destroy()],
  ])(
    "A handler does not take the messages of a client that leaves for all of them: the client %s",
    async (_how, leave) => {
      const outcomes: unknown[] = [];
      let taken = 0;
      const own = await serve((app) => {
        app.addGrpcService(Echo, {
          async collect(messages) {
            try {
              for await (const _message of messages) taken++;
              outcomes.push("all");
            } catch (error) {
              outcomes.push((error as GrpcError).statusName);
            }
            return {};
          },
        });
      });
      const [host, port] = own.target.split(":");
      const client = await FrameClient.open({ host: host!, port: Number(port) });
      const head = requestFields("/test.echo.v1.Echo/Collect", "POST", [["content-type", "application/grpc"]]);
      client.send(frameOf(HEADERS, END_HEADERS, 1, head), frameOf(DATA, 0, 1, Buffer.alloc(10)));
      await vi.waitFor(() => expect(taken).toBe(2), 20_000);
      leave(client);
      await vi.waitFor(() => expect(outcomes).toEqual(["CANCELLED"]), 20_000);
      client.socket.destroy();
      await own.close();
    },
  );

  it.each(["5", "x", "123456789m", "-1S", "5s"])("The timeout %j is refused", async (timeout) => {
    const session = connect();
    const { headers } = await raw(session, "/test.echo.v1.Echo/Say", frame("a"), { "grpc-timeout": timeout });
    expect(headers["grpc-status"]).toBe("13");
    session.close();
  });
});

describe("flow control", () => {
  it("A client that does not read pauses the handler", async () => {
    const session = connect();
    const stream = session.request(headersOf("/test.echo.v1.Echo/Count"));
    stream.on("error", () => {});
    stream.end(frame("", 100_000));
    await new Promise((resolve) => stream.once("response", resolve));
    let last = -1;
    await vi.waitFor(
      () => {
        const before = last;
        last = seen.produced;
        expect(last).toBe(before);
      },
      { timeout: 10_000, interval: 200 },
    );
    expect(seen.produced).toBeLessThan(500);
    session.destroy();
    await vi.waitFor(() => expect(seen.ended).toBe(1), 10_000);
  });

  it("A handler that does not read pauses the client, and gets every message later", async () => {
    const session = connect();
    const stream = session.request(headersOf("/test.echo.v1.Echo/Collect"));
    const ended = outcomeOf(stream);
    const message = frame("x".repeat(10_000));
    let sent = 0;
    let blocked = false;
    const total = 400;
    const write = (): void => {
      while (sent < total) {
        sent++;
        if (!stream.write(message)) {
          blocked = true;
          stream.once("drain", write);
          return;
        }
      }
      stream.end();
    };
    write();
    let last = -1;
    await vi.waitFor(
      () => {
        const before = last;
        last = sent;
        expect(last).toBe(before);
      },
      { timeout: 10_000, interval: 200 },
    );
    expect(blocked).toBe(true);
    expect(sent).toBeLessThan(total);
    release?.();
    expect((await ended).trailers["grpc-status"]).toBe("0");
    expect(seen.taken).toBe(total);
    session.close();
  });

  it("A handler that ends early ends the call although the client still sends", async () => {
    const session = connect();
    const stream = session.request(headersOf("/test.echo.v1.Echo/Chat"));
    const ended = outcomeOf(stream);
    stream.write(frame("one"));
    stream.write(frame("end"));
    const { trailers } = await ended;
    expect(trailers["grpc-status"]).toBe("0");
    session.close();
  });
});

describe("sizes and compression", () => {
  it("A message beyond the limit is RESOURCE_EXHAUSTED, and is not waited for", async () => {
    const session = connect();
    const prefix = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]);
    const { headers } = await raw(session, "/test.echo.v1.Echo/Say", prefix, {}, false);
    expect(headers["grpc-status"]).toBe("8");
    session.close();
  });

  it("A response beyond the limit is RESOURCE_EXHAUSTED", async () => {
    expect((await peer.call(Echo.method.say, { text: "x".repeat(1000), times: 200 })).code).toBe(8);
  });

  it("Compressed requests are read, and responses compressed for clients that accept it", async () => {
    for (const algorithm of [grpc.compressionAlgorithms.gzip, grpc.compressionAlgorithms.deflate]) {
      const client = new Peer(running.target, undefined, { "grpc.default_compression_algorithm": algorithm });
      const { messages, code } = await client.call(Echo.method.say, { text: "y".repeat(20_000), times: 3 });
      expect(code).toBe(0);
      expect(messages[0]?.text).toHaveLength(60_000);
      client.close();
    }
    const session = connect();
    const { headers, body } = await raw(session, "/test.echo.v1.Echo/Say", frame("z", 5000), {
      "grpc-accept-encoding": "gzip",
    });
    expect(headers["grpc-encoding"]).toBe("gzip");
    expect(body[0]).toBe(1);
    expect(body.length).toBeLessThan(500);
    session.close();
  });

  it("A decompression bomb is stopped at the limit", async () => {
    const session = connect();
    const bomb = gzipSync(Buffer.alloc(60_000_000));
    const { headers } = await raw(session, "/test.echo.v1.Echo/Say", framed(bomb, 1), { "grpc-encoding": "gzip" });
    expect(headers["grpc-status"]).toBe("8");
    session.close();
  });

  it.each([
    ["an unknown compression", { "grpc-encoding": "br" }, framed(Buffer.from("x"), 1), "12"],
    ["a compressed message without a header", {}, framed(Buffer.from("x"), 1), "13"],
    ["a compressed message that is broken", { "grpc-encoding": "gzip" }, framed(Buffer.from("x"), 1), "13"],
    ["no message", {}, Buffer.alloc(0), "12"],
    ["two messages", {}, Buffer.concat([frame("a"), frame("b")]), "12"],
    ["half a message", {}, frame("abcdef").subarray(0, 8), "13"],
    ["half a prefix", {}, Buffer.from([0, 0]), "13"],
    ["bytes that are no protobuf", {}, framed(Buffer.from([0xff, 0xff])), "3"],
  ])("A call with %s fails with its status", async (_name, fields, body, status) => {
    const session = connect();
    const { headers } = await raw(session, "/test.echo.v1.Echo/Say", body, fields as Record<string, string>);
    expect(headers["grpc-status"]).toBe(status);
    expect((await raw(session, "/test.echo.v1.Echo/Say", frame("still"))).trailers["grpc-status"]).toBe("0");
    session.close();
  });

  it("A message that comes byte by byte is read", async () => {
    const session = connect();
    const stream = session.request(headersOf("/test.echo.v1.Echo/Say"));
    const ended = outcomeOf(stream);
    for (const byte of frame("slow")) await new Promise((resolve) => stream.write(Buffer.from([byte]), resolve));
    stream.end();
    const { trailers, body } = await ended;
    expect(trailers["grpc-status"]).toBe("0");
    expect(body.toString("latin1")).toContain("slow");
    session.close();
  });
});

describe("hostile clients", () => {
  it("Another content type gets 415 and GET gets an error, without a call", async () => {
    const session = connect();
    const { headers, body } = await raw(session, "/test.echo.v1.Echo/Say", frame("a"), {
      "content-type": "text/plain",
    });
    expect(headers[":status"]).toBe(415);
    expect(JSON.parse(body.toString())).toMatchObject({ status: 415, type: "/errors/unsupported-media-type" });
    session.close();
  });

  it("An unknown method and an unknown service are UNIMPLEMENTED", async () => {
    const session = connect();
    for (const path of ["/test.echo.v1.Echo/Nope", "/nope.Nope/Nope", "/x", "/%00/../x"]) {
      const { headers } = await raw(session, path, frame("a"));
      expect(headers["grpc-status"] ?? headers[":status"]).toSatisfy((code) => code === "12" || code === 400);
    }
    session.close();
  });

  it("Metadata beyond the limit is refused, and the server serves on", async () => {
    const session = connect();
    const { headers } = await raw(session, "/test.echo.v1.Echo/Say", frame("a"), { "x-big": "y".repeat(9000) });
    expect(headers["grpc-status"]).toBe("8");
    session.close();
    expect((await peer.call(Echo.method.say, { text: "well" })).code).toBe(0);
  });

  it("Messages that are not complete are bounded by maxBodyMemory, over all calls", async () => {
    const small = await serve(addEcho, {}, { http2: true, maxBodyMemory: 300_000 });
    const session = http2.connect(small.url);
    session.on("error", () => {});
    const begun = Buffer.concat([Buffer.from([0, 0, 0x10, 0, 0]), Buffer.alloc(100_000)]);
    const statuses: unknown[] = [];
    for (let i = 0; i < 6; i++) {
      const stream = session.request(headersOf("/test.echo.v1.Echo/Say"));
      stream.on("error", () => {});
      stream.on("response", (headers) => statuses.push(headers["grpc-status"]));
      stream.resume();
      stream.write(begun);
    }
    await vi.waitFor(() => expect(statuses).toContain("14"), 20_000);
    expect(statuses.length).toBeLessThan(6);
    session.destroy();
    const honest = new Peer(new URL(small.url).host);
    const payload = new Uint8Array(200_000);
    await vi.waitFor(async () => expect((await honest.call(Echo.method.say, { payload })).code).toBe(0), 20_000);
    honest.close();
    await small.close();
  });

  it("A request to the health service is small, whatever the limit of messages is", async () => {
    const session = connect();
    const { headers } = await raw(session, "/grpc.health.v1.Health/Check", Buffer.from([0, 0, 0x50, 0, 0]));
    expect(headers["grpc-status"]).toBe("8");
    session.close();
  });

  it("A flood of cancelled calls ends the connection, and only that one", async () => {
    const session = connect();
    session.on("error", () => {});
    let closed = false;
    session.on("close", () => {
      closed = true;
    });
    for (let i = 0; i < 3000 && !session.destroyed; i++) {
      const stream = session.request(headersOf("/test.echo.v1.Echo/Look"));
      stream.on("error", () => {});
      stream.end(frame("a"));
      stream.close(constants.NGHTTP2_CANCEL);
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await vi.waitFor(() => expect(closed).toBe(true), 20_000);
    expect((await peer.call(Echo.method.say, { text: "well" })).code).toBe(0);
  });

  it("Bytes that are neither HTTP/2 nor HTTP/1.1 end their connection", async () => {
    const port = Number(running.target.split(":").at(-1));
    const socket = net.connect(port, "127.0.0.1");
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.resume();
    socket.write(Buffer.from("\x16\x03\x01garbage\r\n\r\n"));
    await closed;
  });
});

function connect(): ClientHttp2Session {
  return http2.connect(`http://${running.target}`);
}

function headersOf(path: string): http2.OutgoingHttpHeaders {
  return { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
}

/** The frame of an EchoRequest. */
function frame(text: string, times = 0): Buffer {
  const bytes = Buffer.from(text);
  const field = (tag: number, value: number): number[] => {
    const varint: number[] = [];
    for (let rest = value; ; rest >>>= 7) {
      if (rest < 0x80) return [tag, ...varint, rest];
      varint.push((rest & 0x7f) | 0x80);
    }
  };
  return framed(Buffer.concat([Buffer.from(field(0x0a, bytes.length)), bytes, Buffer.from(field(0x10, times))]));
}

function framed(body: Buffer, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

interface RawOutcome {
  headers: http2.IncomingHttpHeaders;
  trailers: http2.IncomingHttpHeaders;
  body: Buffer;
}

function raw(
  session: ClientHttp2Session,
  path: string,
  body: Buffer,
  fields: Record<string, string> = {},
  end = true,
): Promise<RawOutcome> {
  const stream = session.request({ ...headersOf(path), ...fields });
  const outcome = outcomeOf(stream);
  if (end) stream.end(body);
  else stream.write(body);
  return outcome;
}

function outcomeOf(stream: http2.ClientHttp2Stream): Promise<RawOutcome> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const outcome: RawOutcome = { headers: {}, trailers: {}, body: Buffer.alloc(0) };
    stream.on("response", (headers) => {
      outcome.headers = headers;
    });
    stream.on("trailers", (trailers) => {
      outcome.trailers = trailers;
    });
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("error", () => {});
    stream.on("close", () => resolve({ ...outcome, body: Buffer.concat(pieces) }));
  });
}
