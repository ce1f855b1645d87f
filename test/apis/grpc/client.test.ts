import { once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { App } from "stoa";
import { GrpcChannel, GrpcError, grpcDetail } from "stoa/grpc";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { writeGrpcTimeout } from "../../../src/apis/grpc/wire/timeout.js";
import type { Tracer } from "../../../src/kit/tracer.js";
import { Echo, EchoRequestSchema } from "./fixtures/echo_pb.js";
import { addInterop, interopProto } from "./fixtures/interop.js";
import { addEcho, type RunningApp, serve } from "./support.js";

let running: RunningApp;
let channel: GrpcChannel;
const flaky = { failures: 0, calls: 0, aborted: false };

beforeAll(async () => {
  running = await serve((app) => {
    addEcho(app);
    addInterop(app);
    const other =
      'syntax = "proto3"; package test; message N { int32 n = 1; } service Other { rpc Number (N) returns (N); }';
    app.addGrpcService("test.Other", { Number: () => ({ n: 7 }) }, { proto: other });
    app.addGrpcService("test.Flaky", {
      Try: (_message, { metadata, headers, trailers }) => {
        flaky.calls++;
        headers.set("x-seen", metadata.get("x-sent") ?? "");
        if (flaky.calls <= flaky.failures) throw new GrpcError("UNAVAILABLE", "not yet");
        trailers.set("x-after", "done");
        return { calls: flaky.calls, traced: metadata.get("traceparent") ?? null };
      },
      Detailed: () => {
        throw new GrpcError("INVALID_ARGUMENT", "bad 100%", {
          details: [grpcDetail(EchoRequestSchema, { text: "field" })],
        });
      },
      Hang: (_message, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            flaky.aborted = true;
          });
        }),
    });
  });
  channel = new GrpcChannel(running.target, { retryDelay: "1ms" });
});

afterAll(async () => {
  await channel.close();
  await running.close();
});

async function* texts(count: number) {
  for (let i = 0; i < count; i++) yield { text: String(i) };
}

describe("a channel to a server", () => {
  it("A service with messages of its own that is called by its name alone is an error with the cure", async () => {
    const call = channel.client("test.Other").unary("Number", { id: 7 });
    await expect(call).rejects.toMatchObject({
      code: "INTERNAL",
      message: "the response is no google.protobuf.Struct: give client() the definition of the service as `proto`",
    });
  });

  it("All four kinds of calls work with a generated service", async () => {
    const client = channel.client(Echo);
    expect((await client.say({ text: "hi", times: 2 })).text).toBe("hi");
    const numbers: number[] = [];
    for await (const { number } of client.count({ times: 300 })) numbers.push(number);
    expect(numbers).toHaveLength(300);
    expect((await client.collect(texts(200))).number).toBe(200);
    const echoed: string[] = [];
    for await (const { text } of client.chat(texts(100))) echoed.push(text);
    expect(echoed).toHaveLength(100);
  });

  it("A service is called by its name, with JSON objects or with a definition", async () => {
    flaky.calls = 0;
    expect(await channel.client("test.Flaky").unary("Try", { any: [1, null] })).toMatchObject({ calls: 1 });
    const interop = channel.client("grpc.testing.TestService", { proto: interopProto });
    const { payload } = await interop.unary<{ payload: { body: Uint8Array } }>("UnaryCall", { responseSize: 7 });
    expect(payload.body).toHaveLength(7);
    await expect(interop.unary("StreamingOutputCall", {})).rejects.toThrow("server_streaming");
    await expect(interop.unary("Nothing", {})).rejects.toThrow("no method Nothing");
  });

  it("Metadata goes in both directions", async () => {
    flaky.calls = 0;
    const seen: (string | undefined)[] = [];
    await channel.client("test.Flaky").unary(
      "Try",
      {},
      {
        metadata: { "x-sent": "value" },
        onHeaders: (metadata) => seen.push(metadata.get("x-seen")),
        onTrailers: (metadata) => seen.push(metadata.get("x-after")),
      },
    );
    expect(seen).toEqual(["value", "done"]);
  });

  it("A call fails with the error of its onHeaders or onTrailers", async () => {
    const wrong = (): never => {
      throw new Error("wrong");
    };
    const client = channel.client(Echo);
    for (const options of [{ onHeaders: wrong }, { onTrailers: wrong }])
      await expect(client.say({}, options)).rejects.toThrow("wrong");
  });

  it("An error has the code, the message and the details of the server", async () => {
    const error = await channel
      .client("test.Flaky")
      .unary("Detailed")
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GrpcError);
    expect(error).toMatchObject({ statusName: "INVALID_ARGUMENT", message: "bad 100%" });
    expect((error as GrpcError).details).toMatchObject([{ typeUrl: "type.googleapis.com/test.echo.v1.EchoRequest" }]);
  });

  it("A call that can be repeated is repeated while the server is not available", async () => {
    Object.assign(flaky, { calls: 0, failures: 2 });
    const client = channel.client("test.Flaky");
    expect(await client.unary("Try", {}, { idempotent: true })).toMatchObject({ calls: 3 });
    Object.assign(flaky, { calls: 0, failures: 2 });
    await expect(client.unary("Try", {})).rejects.toMatchObject({ statusName: "UNAVAILABLE" });
    expect(flaky.calls).toBe(1);
    flaky.failures = 0;
  });

  it("A misspelt option of a call or of an error is refused", async () => {
    const call = channel.client("test.Flaky").unary("Try", {}, { timout: 1 } as never);
    await expect(call).rejects.toThrow("unknown option 'timout' in a call of gRPC; did you mean 'timeout'?");
    expect(new GrpcError("NOT_FOUND", "x", { httpStatus: 410 }).status).toBe(410);
    expect(() => new GrpcError("NOT_FOUND", "x", { detail: [] } as never)).toThrow(
      "unknown option 'detail' in GrpcError; did you mean 'details'?",
    );
  });

  it("A deadline ends the call on both sides", async () => {
    flaky.aborted = false;
    await expect(channel.client("test.Flaky").unary("Hang", {}, { timeout: 0.05 })).rejects.toMatchObject({
      statusName: "DEADLINE_EXCEEDED",
    });
    await vi.waitFor(() => expect(flaky.aborted).toBe(true), 10_000);
  });

  it("A signal cancels the call on both sides", async () => {
    flaky.aborted = false;
    const controller = new AbortController();
    const call = channel.client("test.Flaky").unary("Hang", {}, { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(call).rejects.toMatchObject({ statusName: "CANCELLED" });
    await expect(channel.client(Echo).say({}, { signal: controller.signal })).rejects.toMatchObject({
      statusName: "CANCELLED",
    });
  });

  it("A consumer that stops early cancels the stream", async () => {
    for await (const { number } of channel.client(Echo).count({ times: 1_000_000 })) if (number === 3) break;
    expect((await channel.client(Echo).say({ text: "well" })).text).toBe("well");
  });

  it("A message beyond the limit of the channel is refused", async () => {
    const small = new GrpcChannel(`http://${running.target}`, { maxMessageSize: 100 });
    await expect(small.client(Echo).say({ text: "x".repeat(1000) })).rejects.toMatchObject({
      statusName: "RESOURCE_EXHAUSTED",
    });
    await small.close();
  });

  it("Compressed messages are read by the server", async () => {
    const compressing = new GrpcChannel(running.target, { compression: true });
    expect((await compressing.client(Echo).say({ text: "x".repeat(10_000) })).text).toHaveLength(10_000);
    await compressing.close();
  });

  it("Errors of the messages that are sent reach the caller", async () => {
    async function* broken() {
      yield { text: "a" };
      throw new Error("out of messages");
    }
    await expect(channel.client(Echo).collect(broken())).rejects.toThrow("out of messages");
  });
});

describe("a server that is away", () => {
  it("The page of a balancer without servers is UNAVAILABLE, whatever it says", async () => {
    const balancer = http2.createServer().listen(0, "127.0.0.1");
    balancer.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.respond({ ":status": 503, "content-type": "text/html" });
      stream.end("<html><body><h1>503 Service Unavailable</h1>No server is available.</body></html>");
    });
    await once(balancer, "listening");
    const lonely = new GrpcChannel(`127.0.0.1:${(balancer.address() as AddressInfo).port}`, { retries: 0 });
    onTestFinished(async () => {
      await lonely.close();
      balancer.close();
    });
    await expect(lonely.client(Echo).say({ text: "x" })).rejects.toMatchObject({
      statusName: "UNAVAILABLE",
      message: "the server responded with HTTP status 503 and type text/html",
    });
  });

  it("A call fails with UNAVAILABLE and the reason", async () => {
    const away = new GrpcChannel("127.0.0.1:1", { retries: 1, retryDelay: "1ms" });
    await expect(away.client(Echo).say({})).rejects.toMatchObject({
      statusName: "UNAVAILABLE",
      message: expect.stringContaining("127.0.0.1:1"),
    });
    await away.close();
    await expect(away.client(Echo).say({})).rejects.toThrow("has been closed");
  });

  it("A channel connects again after the server was restarted", async () => {
    const first = await serve(addEcho);
    const again = new GrpcChannel(first.target, { retryDelay: "20ms" });
    expect((await again.client(Echo).say({ text: "1" })).text).toBe("1");
    await first.close();
    const second = await serve(addEcho, { address: first.target });
    expect((await again.client(Echo).say({ text: "2" })).text).toBe("2");
    await again.close();
    await second.close();
  });
});

describe("a server that breaks the protocol", () => {
  async function channelTo(fields: http2.OutgoingHttpHeaders, flags: number, status: string): Promise<GrpcChannel> {
    const server = http2.createServer().listen(0, "127.0.0.1");
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.respond({ "content-type": "application/grpc", ...fields }, { waitForTrailers: status !== "" });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
      stream.end(Buffer.from([flags, 0, 0, 0, 0]));
    });
    await once(server, "listening");
    const broken = new GrpcChannel(`127.0.0.1:${(server.address() as AddressInfo).port}`, { retries: 0 });
    onTestFinished(async () => {
      await broken.close();
      server.close();
    });
    return broken;
  }

  it("A status before a message is not the status of the call", async () => {
    const broken = await channelTo({ "grpc-status": "9" }, 0, "");
    await expect(broken.client(Echo).say({})).rejects.toMatchObject({ statusName: "INTERNAL" });
    const late = await channelTo({ "grpc-status": "9" }, 0, "0");
    expect(await late.client(Echo).say({})).toMatchObject({ text: "" });
  });

  it("A message in a compression that is not known is INTERNAL, others are read", async () => {
    const broken = await channelTo({ "grpc-encoding": "br" }, 1, "0");
    await expect(broken.client(Echo).say({})).rejects.toMatchObject({
      statusName: "INTERNAL",
      message: 'the compression "br" is not supported',
    });
    const plain = await channelTo({ "grpc-encoding": "br" }, 0, "0");
    expect(await plain.client(Echo).say({})).toMatchObject({ text: "" });
  });
});

describe("deadlines", () => {
  it("A server that cancels the call when the deadline has passed gives DEADLINE_EXCEEDED", async () => {
    const wait = globalThis.setTimeout;
    const server = http2.createServer().listen(0, "127.0.0.1");
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      wait(() => stream.close(http2.constants.NGHTTP2_CANCEL), 60);
    });
    await once(server, "listening");
    const ended = new GrpcChannel(`127.0.0.1:${(server.address() as AddressInfo).port}`, { retries: 0 });
    onTestFinished(async () => {
      vi.useRealTimers();
      await ended.close();
      server.close();
    });
    // The timer of the client is late.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    await expect(ended.client(Echo).say({}, { timeout: "50ms" })).rejects.toMatchObject({
      statusName: "DEADLINE_EXCEEDED",
    });
  });

  it("The server is told no less time than the client waits", () => {
    const sent = [0, 0.0001, 0.25, 1.5, 199.2, 99_999_999, 100_000_000.5, 1e15].map(writeGrpcTimeout);
    expect(sent).toEqual(["0u", "1u", "250u", "2m", "200m", "99999999m", "100001S", "99999999S"]);
  });
});

describe("tracing", () => {
  it("A call is a client span, and its headers go with the call", async () => {
    flaky.calls = 0;
    const ended: unknown[] = [];
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const start: Tracer["start"] = (name, attributes, options) => {
      const span = {
        traceId: "",
        spanId: "",
        recording: true,
        set: () => span,
        event: () => span,
        rename: () => span,
        run: <T>(work: () => T) => work(),
        headers: () => ({ traceparent }),
        end: (error?: unknown) => void ended.push([name, attributes?.["rpc.method"], options?.kind, error]),
      };
      return span;
    };
    const traced = new GrpcChannel(running.target, { tracer: { start } });
    expect(await traced.client("test.Flaky").unary("Try")).toMatchObject({ traced: traceparent });
    expect(ended).toEqual([["test.Flaky/Try", "Try", "client", undefined]]);
    await traced.close();
  });
});

describe("options of a channel", () => {
  it.each(["", "http://", "ftp://x", "http://a/b", "no port:x"])("The target %j is refused", (target) => {
    expect(() => new GrpcChannel(target)).toThrow("takes the address of a server");
  });

  it("Unknown options are refused with a suggestion", () => {
    expect(() => new GrpcChannel("localhost:1", { timeuot: 1 } as object)).toThrow("did you mean 'timeout'");
  });

  it("A channel of an application is closed with it", async () => {
    const app = new App();
    const own = app.grpcChannel(running.target);
    await app.start();
    expect((await own.client(Echo).say({ text: "x" })).text).toBe("x");
    await app.stop();
    await expect(own.client(Echo).say({})).rejects.toThrow("has been closed");
  });
});
