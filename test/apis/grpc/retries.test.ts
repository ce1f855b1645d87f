import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { GrpcChannel, GrpcError, type GrpcServiceConfig } from "stoa/grpc";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Echo, EchoRequestSchema, EchoResponseSchema } from "./fixtures/echo_pb.js";
import { Peer, serve } from "./support.js";

/** A server of the most used implementation for Node: it fails as often as a test says. */
const server = new grpc.Server();
const state = {
  failures: 0,
  code: grpc.status.UNAVAILABLE,
  pushback: null as string | null,
  /** The attempts that the server was told of, for each call that it got. */
  previous: [] as string[],
};
let target: string;

/** The error of this attempt; null if it succeeds. */
function failure(metadata: grpc.Metadata): Partial<grpc.StatusObject> | null {
  state.previous.push(String(metadata.get("grpc-previous-rpc-attempts")[0] ?? "none"));
  if (state.previous.length > state.failures) return null;
  const trailers = new grpc.Metadata();
  if (state.pushback !== null) trailers.set("grpc-retry-pushback-ms", state.pushback);
  return { code: state.code, details: "not yet", metadata: trailers };
}

beforeAll(async () => {
  const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
    path: `/test.echo.v1.Echo/${name}`,
    requestStream,
    responseStream,
    requestSerialize: (value: never) => Buffer.from(toBinary(EchoRequestSchema, value)),
    requestDeserialize: (bytes: Buffer) => fromBinary(EchoRequestSchema, bytes),
    responseSerialize: (value: object) =>
      Buffer.from(toBinary(EchoResponseSchema, create(EchoResponseSchema, value as never))),
    responseDeserialize: (bytes: Buffer) => fromBinary(EchoResponseSchema, bytes),
  });
  const definition = {
    Say: method("Say", false, false),
    Count: method("Count", false, true),
    Collect: method("Collect", true, false),
    Chat: method("Chat", true, true),
  };
  server.addService(definition as unknown as grpc.ServiceDefinition, {
    Say: (call: grpc.ServerUnaryCall<{ text: string }, object>, done: grpc.sendUnaryData<object>) => {
      if (call.request.text === "hang") return;
      done(failure(call.metadata), { text: call.request.text });
    },
    Count: (call: grpc.ServerWritableStream<{ text: string }, object>) => {
      if (call.request.text === "late") call.write({ number: 1 });
      const error = failure(call.metadata);
      if (error !== null) return void call.emit("error", error);
      call.write({ number: 2 });
      call.end();
    },
    Collect: (call: grpc.ServerReadableStream<{ text: string }, object>, done: grpc.sendUnaryData<object>) => {
      const texts: string[] = [];
      call.on("data", ({ text }) => texts.push(text));
      call.on("end", () => done(failure(call.metadata), { text: texts.join(" ") }));
    },
    Chat: (call: grpc.ServerDuplexStream<{ text: string }, object>) => {
      const error = failure(call.metadata);
      if (error !== null) return void call.emit("error", error);
      call.on("data", ({ text }) => call.write({ text }));
      call.on("end", () => call.end());
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  target = `127.0.0.1:${port}`;
});

afterAll(() => server.forceShutdown());

beforeEach(() => {
  Object.assign(state, { failures: 0, code: grpc.status.UNAVAILABLE, pushback: null, previous: [] });
});

const retryPolicy = {
  maxAttempts: 3,
  initialBackoff: "0.001s",
  maxBackoff: "0.002s",
  backoffMultiplier: 2,
  retryableStatusCodes: ["UNAVAILABLE", 8],
} as const;

function clientWith(serviceConfig: GrpcServiceConfig) {
  const channel = new GrpcChannel(target, { serviceConfig });
  onTestFinished(() => channel.close());
  return channel.client(Echo);
}

const always = (policy: object = {}): GrpcServiceConfig => ({
  methodConfig: [{ name: [{}], retryPolicy: { ...retryPolicy, ...policy } }],
});

const textsOf = async (messages: AsyncIterable<{ text: string; number: number }>) => {
  const texts: string[] = [];
  for await (const { text, number } of messages) texts.push(text || String(number));
  return texts;
};

async function* words() {
  yield { text: "a" };
  yield { text: "b" };
}

describe("retries by a service config, to a server of another implementation", () => {
  it("Calls of all kinds are repeated, with all their messages and the number of attempts before", async () => {
    const client = clientWith(always());
    const calls = [
      async () => expect((await client.say({ text: "a" })).text).toBe("a"),
      async () => expect(await textsOf(client.count({}))).toEqual(["2"]),
      async () => expect((await client.collect(words())).text).toBe("a b"),
      async () => expect(await textsOf(client.chat(words()))).toEqual(["a", "b"]),
    ];
    for (const call of calls) {
      Object.assign(state, { failures: 2, previous: [] });
      await call();
      expect(state.previous).toEqual(["none", "1", "2"]);
    }
  });

  it("A call fails with the last error after the attempts of its policy, and five are the most", async () => {
    state.failures = 100;
    await expect(clientWith(always()).say({})).rejects.toMatchObject({ statusName: "UNAVAILABLE", message: "not yet" });
    expect(state.previous).toHaveLength(3);
    state.previous = [];
    await expect(clientWith(always({ maxAttempts: 9 })).say({})).rejects.toThrow("not yet");
    expect(state.previous).toHaveLength(5);
  });

  it("Other codes are not repeated, nor a call of which something was received", async () => {
    Object.assign(state, { failures: 1, code: grpc.status.ABORTED });
    const client = clientWith(always());
    await expect(client.say({})).rejects.toMatchObject({ statusName: "ABORTED" });
    expect(state.previous).toHaveLength(1);
    Object.assign(state, { failures: 1, code: grpc.status.RESOURCE_EXHAUSTED, previous: [] });
    await expect(textsOf(client.count({ text: "late" }))).rejects.toMatchObject({ statusName: "RESOURCE_EXHAUSTED" });
    expect(state.previous).toHaveLength(1);
  });

  it("A stream that has sent more than is kept is not repeated", async () => {
    state.failures = 1;
    async function* large() {
      for (let i = 0; i < 6; i++) yield { text: "x".repeat(200_000) };
    }
    await expect(clientWith(always()).collect(large())).rejects.toMatchObject({ statusName: "UNAVAILABLE" });
    expect(state.previous).toHaveLength(1);
  });

  it("A message that an interceptor gives as a generator is sent with each attempt", async () => {
    state.failures = 2;
    async function* changed() {
      yield { text: "changed" };
    }
    const channel = new GrpcChannel(target, {
      serviceConfig: always(),
      interceptors: [(_call, next) => next(changed())],
    });
    onTestFinished(() => channel.close());
    expect((await channel.client(Echo).say({ text: "a" })).text).toBe("changed");
    expect(state.previous).toHaveLength(3);
  });

  it("The server says when a call is repeated, and whether", async () => {
    const client = clientWith(always({ initialBackoff: "1h", maxBackoff: "1h" }));
    Object.assign(state, { failures: 2, pushback: "0" });
    expect((await client.say({ text: "a" })).text).toBe("a");
    for (const pushback of ["-1", "soon"]) {
      Object.assign(state, { failures: 1, pushback, previous: [] });
      await expect(client.say({})).rejects.toThrow("not yet");
      expect(state.previous).toHaveLength(1);
    }
  });

  it("The end of the channel ends the wait for another attempt", async () => {
    Object.assign(state, { failures: 1, pushback: "3600000" });
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const channel = new GrpcChannel(target, { serviceConfig: always(), timeout: 0 });
    const failed = expect(channel.client(Echo).say({})).rejects.toMatchObject({
      statusName: "CANCELLED",
      message: "the channel has been closed",
      cause: { message: "not yet" },
    });
    await vi.waitUntil(() => timers.mock.calls.some(([, delay]) => delay === 3_600_000));
    await channel.close();
    await failed;
  });

  it("Nothing is repeated while half of the tokens are gone, and again after calls that succeed", async () => {
    const client = clientWith({ ...always(), retryThrottling: { maxTokens: 4, tokenRatio: 1 } });
    const attempts = async (): Promise<number> => {
      Object.assign(state, { failures: 100, previous: [] });
      await expect(client.say({})).rejects.toThrow("not yet");
      return state.previous.length;
    };
    expect([await attempts(), await attempts()]).toEqual([2, 1]);
    state.failures = 0;
    for (let i = 0; i < 4; i++) await client.say({});
    expect(await attempts()).toBe(2);
  });

  it("The most exact name of a method holds, with its timeout", async () => {
    const client = clientWith({
      methodConfig: [
        { name: [{}], retryPolicy },
        { name: [{ service: "test.echo.v1.Echo", method: "Say" }], timeout: "20ms" },
        { name: [{ service: "test.echo.v1.Echo" }], retryPolicy: { ...retryPolicy, maxAttempts: 2 } },
      ],
    });
    await expect(client.say({ text: "hang" }, { timeout: "1h" })).rejects.toMatchObject({
      statusName: "DEADLINE_EXCEEDED",
    });
    state.failures = 100;
    await expect(textsOf(client.count({}))).rejects.toThrow("not yet");
    expect(state.previous).toHaveLength(2);
  });

  it.each([
    [
      { methodConfig: [{ name: [{}], retryPolicy: { ...retryPolicy, maxAttempts: 1 } }] },
      "'maxAttempts' in retryPolicy",
    ],
    [
      { methodConfig: [{ name: [{}], retryPolicy: { ...retryPolicy, retryableStatusCodes: [] } }] },
      "at least one status",
    ],
    [
      { methodConfig: [{ name: [{}], retryPolicy: { ...retryPolicy, retryableStatusCodes: ["OK"] } }] },
      "such as UNAVAILABLE",
    ],
    [{ methodConfig: [{ name: [{}], retryPolicy: { maxAttempts: 2 } }] }, "'initialBackoff' is required"],
    [{ methodConfig: [{ name: [{}, {}] }] }, "twice"],
    [{ methodConfig: [{ name: [{ method: "Say" }] }] }, "needs its service"],
    [{ retryThrottling: { maxTokens: 2000, tokenRatio: 1 } }, "'maxTokens' in retryThrottling"],
    [{ retryPolicy }, "unknown option 'retryPolicy' in serviceConfig"],
  ])("The service config %j is refused", (serviceConfig, message) => {
    expect(() => new GrpcChannel("localhost:1", { serviceConfig: serviceConfig as GrpcServiceConfig })).toThrow(
      message,
    );
  });
});

describe("retries of a client of another implementation", () => {
  it("The server says when a call is repeated, and sees the attempts before", async () => {
    const seen: (string | undefined)[] = [];
    const running = await serve((app) => {
      app.addGrpcService(Echo, {
        say: (_message, { metadata }) => {
          seen.push(metadata.get("grpc-previous-rpc-attempts"));
          if (seen.length === 3) return { text: "well" };
          throw new GrpcError("UNAVAILABLE", "not yet", { metadata: { "grpc-retry-pushback-ms": "0" } });
        },
      });
    });
    onTestFinished(() => running.close());
    const config = JSON.stringify(always({ initialBackoff: "3600s", maxBackoff: "3600s" }));
    const peer = new Peer(running.target, undefined, { "grpc.enable_retries": 1, "grpc.service_config": config });
    onTestFinished(() => peer.close());
    expect((await peer.call(Echo.method.say, {})).messages[0]?.text).toBe("well");
    expect(seen).toEqual([undefined, "1", "2"]);
  });
});
