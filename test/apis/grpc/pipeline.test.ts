import { once } from "node:events";
import http2 from "node:http2";
import { Depends, ForbiddenError, HttpError, JwtAuth, JwtConfig, UnauthorizedError } from "stoa";
import { type GrpcCall, GrpcError, grpcDetail } from "stoa/grpc";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Echo, EchoRequestSchema } from "./fixtures/echo_pb.js";
import { addEcho, Peer, type RunningApp, serve } from "./support.js";

const jwt = new JwtAuth(new JwtConfig({ secret: "a secret of at least thirty-two bytes", algorithm: "HS256" }));
const lines: Record<string, unknown>[] = [];
let running: RunningApp;
let peer: Peer;

const seen = { chats: 0 };

class Teapot extends Error {}

/** A detail with a number that its type cannot hold, as it may come from a client. */
const unencodable = grpcDetail(EchoRequestSchema, { times: 1e20 });

beforeAll(async () => {
  running = await serve(
    (app) => {
      app.logger = loggerInto(lines);
      app.enableRequestId().enableLogging().enableMetrics();
      app.registerSingleton("greeting", "hello");
      app.use(jwt.skipPath("/metrics").skipPath("/open.Open"));
      app.exceptionHandler(Teapot, () => ({ status: 418 }));
      app.addGrpcService(
        Echo,
        {
          say: (message, call, { greeting }) => ({
            text: `${greeting} ${message.text} ${call.request.context.jwt_claims?.["sub"]}`,
          }),
          look() {
            throw new Error("a secret of the program");
          },
          async *chat(_messages, { signal }) {
            seen.chats++;
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            yield { text: "too late" };
          },
          async *count() {
            yield { number: 1 };
            throw new Error("a secret of the program");
          },
        },
        {
          inject: { greeting: Depends<string>("greeting") },
          guards: [(request) => request.context.jwt_claims?.["role"] !== "blocked" || "you are blocked"],
        },
      );
      app.addGrpcService("open.Open", {
        Fail: (message: { status: number }) => {
          throw new HttpError(message.status, "as you wish");
        },
        Guarded: () => {
          throw new ForbiddenError("not for you");
        },
        Unauthorized: () => {
          throw new UnauthorizedError("who are you");
        },
        Wrong: () => "text",
        Unsendable: () => {
          throw new HttpError(400, "never", { headers: { "Proxy-Connection": "keep-alive" } });
        },
        Details: () => {
          throw new GrpcError("ABORTED", "never", { details: [unencodable] });
        },
        LateDetails: async function* () {
          yield {};
          throw new GrpcError("ABORTED", "never", { details: [unencodable] });
        },
        Chat: {
          kind: "bidi_streaming",
          async *handler(messages: AsyncIterable<object>) {
            yield* messages;
          },
        },
      });
    },
    {},
    { env: "production", debug: false, logs: true },
  );
  peer = new Peer(running.target);
});

afterAll(async () => {
  peer.close();
  await running.close();
});

const bearer = async (claims: Record<string, unknown>) => ({
  metadata: { authorization: `Bearer ${await jwt.createToken({ sub: "ada", ...claims })}` },
});

describe("middleware, guards and dependencies", () => {
  it("A call without a token is UNAUTHENTICATED", async () => {
    expect((await peer.call(Echo.method.say, { text: "x" })).code).toBe(16);
  });

  it("A call with a token reaches the handler, with its claims and dependencies", async () => {
    const { messages, code } = await peer.call(Echo.method.say, { text: "world" }, await bearer({}));
    expect(code).toBe(0);
    expect(messages[0]?.text).toBe("hello world ada");
  });

  it("A stream ends with UNAUTHENTICATED when its token is revoked", async () => {
    const settings = await bearer({});
    const ended = peer.call(Echo.method.chat, [{ text: "hello" }], settings);
    await expect.poll(() => seen.chats).toBe(1);
    await jwt.revoke(settings.metadata.authorization.slice("Bearer ".length));
    expect((await ended).code).toBe(16);
  });

  it("A guard refuses with PERMISSION_DENIED and its message", async () => {
    const { code, details } = await peer.call(Echo.method.say, {}, await bearer({ role: "blocked" }));
    expect([code, details]).toEqual([7, "you are blocked"]);
  });

  it("Every call has a request id, a line in the log and a place in the metrics", async () => {
    const settings = await bearer({});
    const { headers } = await peer.call(Echo.method.say, { text: "logged" }, settings);
    expect(headers?.get("x-request-id")[0]).toMatch(/^[0-9a-f-]{36}$/);
    await peer.call(Echo.method.look, {}, settings);
    const logged = lines.filter(({ path }) => path === "/test.echo.v1.Echo/Look").map(({ status }) => status);
    expect(logged).toContain(500);
    const metrics = await (await fetch(new URL("/metrics", running.url))).text();
    expect(metrics).toMatch(/requests_total\{method="POST",status="200",path="\/test\.echo\.v1\.Echo\/Say"\} \d/);
  });
});

describe("errors", () => {
  it("A request that breaks the protocol counts as a fault of the client, and not as one of the server", async () => {
    const session = http2.connect(`http://${running.target}`);
    const path = "/open.Open/Guarded";
    const type = { "content-type": "application/grpc", te: "trailers" };
    const stream = session.request({ ":method": "POST", ":path": path, ...type });
    const answered = once(stream, "response");
    stream.end(Buffer.from([0, 0, 0, 0, 9, 1]));
    const [headers] = (await answered) as [http2.IncomingHttpHeaders];
    stream.resume();
    expect(headers["grpc-status"]).toBe("13");
    expect(headers["grpc-message"]).toContain("in the middle of a message");
    await vi.waitFor(() => expect(lines.some((line) => line["path"] === path)).toBe(true));
    expect(lines.filter((line) => line["path"] === path).map(({ status, error }) => [status, error])).toEqual([
      [400, undefined],
    ]);
    session.close();
  });

  it("A message that breaks the protocol in the middle of a stream is no line of an error in the log", async () => {
    const { session, stream } = begin("/open.Open/Chat");
    const ended = trailersOf(stream);
    stream.write(empty);
    await once(stream, "data");
    lines.length = 0;
    stream.end(Buffer.from([1, 0, 0, 0, 1, 7]));
    expect(await ended).toMatchObject({ "grpc-status": "13", "grpc-message": expect.stringContaining("compressed") });
    expect(lines.filter(({ error }) => error !== undefined)).toEqual([]);
    session.close();
  });

  it.each(["Details", "LateDetails"])(
    "An error whose details cannot be encoded ends the call and is logged: %s",
    async (method) => {
      const { session, stream } = begin(`/open.Open/${method}`);
      const ended = trailersOf(stream);
      stream.resume().end(empty);
      expect(await ended).toMatchObject({ "grpc-status": "13", "grpc-message": "internal error" });
      await vi.waitFor(() => expect(lines.some(({ error }) => error instanceof GrpcError)).toBe(true));
      lines.length = 0;
      session.close();
    },
  );

  it("A response with a field that HTTP/2 does not know breaks off its call alone", async () => {
    const { session, stream } = begin("/open.Open/Unsendable");
    stream.resume().end(empty);
    await once(stream, "error");
    expect(stream.rstCode).toBe(http2.constants.NGHTTP2_INTERNAL_ERROR);
    expect(lines.map(({ message }) => message)).toContain("the response of a call cannot be sent");
    session.close();
  });

  it("The message of an unexpected error is hidden in production, before and after the first message", async () => {
    const settings = await bearer({});
    const before = await peer.call(Echo.method.look, {}, settings);
    expect([before.code, before.details]).toEqual([13, "internal error"]);
    const after = await peer.call(Echo.method.count, {}, settings);
    expect([after.code, after.details, after.messages.length]).toEqual([13, "internal error", 1]);
  });

  it("A result that is no message is an internal error with a line in the log", async () => {
    const { code } = await call("Wrong", {});
    expect(code).toBe(13);
    expect(JSON.stringify(lines.map(({ error }) => String(error)))).toContain("returned no google.protobuf.Struct");
  });

  it.each([
    [400, 3],
    [401, 16],
    [403, 7],
    [404, 5],
    [409, 10],
    [412, 9],
    [413, 8],
    [422, 3],
    [429, 8],
    [500, 13],
    [501, 12],
    [503, 14],
    [504, 4],
    [418, 9],
  ])("The HTTP status %i becomes the code %i", async (status, code) => {
    expect((await call("Fail", { status })).code).toBe(code);
  });

  it("Errors of guards that a handler throws keep their codes and messages", async () => {
    expect(await call("Guarded", {})).toMatchObject({ code: 7, details: "not for you" });
    expect(await call("Unauthorized", {})).toMatchObject({ code: 16, details: "who are you" });
  });
});

async function call(method: string, message: Record<string, unknown>) {
  const { StructCodec } = await import("../../../src/apis/grpc/codec/struct-codec.js");
  const codec = new StructCodec();
  const encode = (value: unknown): Buffer => codec.encode(value).subarray(5);
  return peer.raw(`/open.Open/${method}`, "unary", message, encode, (bytes) => codec.decode(bytes));
}

describe("setting up", () => {
  it("In debug the message of an unexpected error is shown", async () => {
    const debug = await serve((app) => {
      app.logger = loggerInto([]);
      app.addGrpcService(Echo, {
        say() {
          throw new Error("what went wrong");
        },
      });
    });
    const client = new Peer(debug.target);
    expect((await client.call(Echo.method.say, {})).details).toBe("Error: what went wrong");
    client.close();
    await debug.close();
  });

  it("A call in flight is finished when the server stops, and a stuck one is ended after its time", async () => {
    let call: GrpcCall | null = null;
    let finish: (() => void) | null = null;
    const stopping = await serve(
      (app) => {
        app.logger = loggerInto([]);
        app.addGrpcService(Echo, {
          say: async (_message, given) => {
            call = given;
            await new Promise<void>((resolve) => {
              finish = resolve;
            });
            return { text: "finished" };
          },
          look: (_message, { signal }) =>
            new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new GrpcError("ABORTED")))),
        });
      },
      { drainTimeout: 1 },
    );
    const client = new Peer(stopping.target);
    const first = client.call(Echo.method.say, {});
    const stuck = client.call(Echo.method.look, {});
    await vi.waitFor(() => expect(call).not.toBeNull(), 10_000);
    const closed = stopping.close();
    await vi.waitFor(() => expect(stopping.app.phase).toBe("draining"), 10_000);
    finish!();
    expect((await first).messages[0]?.text).toBe("finished");
    expect((await stuck).code).not.toBe(0);
    await closed;
    client.close();
  });

  it("An address that is in use is one clear error", async () => {
    const second = serve(addEcho, { address: running.target });
    await expect(second).rejects.toThrow("is already in use");
  });
});

const empty = Buffer.alloc(5);

/** A call whose messages are written by the test itself. */
function begin(path: string) {
  const session = http2.connect(`http://${running.target}`);
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  return { session, stream: session.request(headers) };
}

/** The fields that end a call: trailers, or the headers of a response without a message. */
function trailersOf(stream: http2.ClientHttp2Stream): Promise<http2.IncomingHttpHeaders> {
  return new Promise((resolve) => {
    const take = (fields: http2.IncomingHttpHeaders): void => {
      if (fields["grpc-status"] !== undefined) resolve(fields);
    };
    stream.on("response", take);
    stream.on("trailers", take);
  });
}

function loggerInto(into: Record<string, unknown>[]) {
  const write = (message: string, fields: object = {}): void => void into.push({ message, ...fields });
  const logger = { debug() {}, info: write, warn: write, error: write, child: () => logger };
  return logger;
}
