import { GrpcChannel, type GrpcClientCall, GrpcError, type GrpcInterceptor, type InterceptedCall } from "stoa/grpc";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Echo, type EchoRequest } from "./fixtures/echo_pb.js";
import { addEcho, Peer, type RunningApp, serve } from "./support.js";

let running: RunningApp;
let peer: Peer;
const seen: string[] = [];

/** For both sides: it uses nothing but what their calls share. */
const logged = (log: string[]): GrpcInterceptor =>
  async function* ({ method, kind }: InterceptedCall, next) {
    let messages = 0;
    try {
      for await (const message of next()) {
        messages++;
        yield message;
      }
      log.push(`${kind} ${method}: ${messages}`);
    } catch (error) {
      log.push(`${kind} ${method}: ${messages}, then ${(error as GrpcError).statusName}`);
      throw error;
    }
  };

async function* checked(messages: AsyncIterable<unknown> | Iterable<unknown>) {
  for await (const message of messages) {
    if ((message as EchoRequest).text === "bad") throw new GrpcError("INVALID_ARGUMENT", "this is a bad message");
    yield message;
  }
}

beforeAll(async () => {
  running = await serve(addEcho, {
    interceptors: [
      logged(seen),
      (call, next, messages) => {
        call.trailers.set("x-tenant", call.metadata.get("x-tenant") ?? "none");
        return next(checked(messages));
      },
    ],
  });
  peer = new Peer(running.target);
});

afterAll(async () => {
  peer.close();
  await running.close();
});

function clientWith(...interceptors: GrpcInterceptor<GrpcClientCall>[]) {
  const channel = new GrpcChannel(running.target, { interceptors, metadata: { "x-tenant": "channel" } });
  onTestFinished(() => channel.close());
  return channel.client(Echo);
}

const numbersOf = async (messages: AsyncIterable<{ number: number }>) => {
  const numbers: number[] = [];
  for await (const { number } of messages) numbers.push(number);
  return numbers;
};

describe("interceptors of a server", () => {
  it("They see the messages, the metadata and the errors of all kinds of calls of another implementation", async () => {
    seen.length = 0;
    const unary = await peer.call(Echo.method.say, { text: "a" }, { metadata: { "x-tenant": "blue" } });
    expect([unary.messages[0]?.text, unary.trailers.get("x-tenant")]).toEqual(["a", ["blue"]]);
    expect((await peer.call(Echo.method.count, { times: 3 })).messages).toHaveLength(3);
    expect((await peer.call(Echo.method.collect, [{ text: "a" }, { text: "b" }])).messages[0]?.text).toBe("a b");
    const refused = [
      await peer.call(Echo.method.say, { text: "bad" }),
      await peer.call(Echo.method.collect, [{ text: "a" }, { text: "bad" }]),
      await peer.call(Echo.method.chat, [{ text: "a" }, { text: "bad" }]),
    ];
    for (const { code, details } of refused) expect([code, details]).toEqual([3, "this is a bad message"]);
    expect(seen).toEqual([
      "unary Say: 1",
      "server_streaming Count: 3",
      "client_streaming Collect: 1",
      "unary Say: 0, then INVALID_ARGUMENT",
      "client_streaming Collect: 0, then INVALID_ARGUMENT",
      "bidi_streaming Chat: 1, then INVALID_ARGUMENT",
    ]);
  });
});

describe("interceptors of a channel", () => {
  it("They see results and errors of unary calls and of streams, the first one outermost", async () => {
    const log: string[] = [];
    const order: GrpcInterceptor = (_call, next) => {
      log.push("inner");
      return next();
    };
    const client = clientWith(logged(log), order);
    await client.say({ text: "a" });
    expect(await numbersOf(client.count({ times: 3 }))).toEqual([1, 2, 3]);
    await expect(client.say({ text: "bad" })).rejects.toMatchObject({ statusName: "INVALID_ARGUMENT" });
    expect(log).toEqual([
      "inner",
      "unary Say: 1",
      "inner",
      "server_streaming Count: 3",
      "inner",
      "unary Say: 0, then INVALID_ARGUMENT",
    ]);
  });

  it("They change metadata, messages and options, and may call again or not at all", async () => {
    const tenants: (string | undefined)[] = [];
    const client = clientWith(async function* (call, next) {
      call.onTrailers = (trailers) => tenants.push(trailers.get("x-tenant"));
      if (call.method === "Look") return yield { text: "from a cache" };
      try {
        yield* next();
      } catch {
        call.metadata.set("x-tenant", "renewed");
        yield* next([{ text: "good" }]);
      }
    });
    expect((await client.say({ text: "a" })).text).toBe("a");
    expect((await client.say({ text: "bad" })).text).toBe("good");
    expect((await client.look({ text: "a" })).text).toBe("from a cache");
    expect(tenants).toEqual(["channel", "renewed"]);
  });

  it("A consumer that stops early ends the interceptors and the call", async () => {
    let ended = false;
    const client = clientWith(async function* (_call, next) {
      try {
        yield* next();
      } finally {
        ended = true;
      }
    });
    for await (const { number } of client.count({ times: 1_000_000 })) if (number === 2) break;
    expect(ended).toBe(true);
  });

  it("An interceptor that gives no message, two of them or no iterable is an error with the reason", async () => {
    await expect(clientWith(async function* () {}).say({})).rejects.toThrow("an interceptor gave no message");
    const twice = clientWith(async function* () {
      yield* [{}, {}];
    });
    await expect(twice.say({})).rejects.toThrow("an interceptor gave more than one message");
    await expect(clientWith((() => undefined) as never).say({})).rejects.toThrow("must return an async iterable");
    expect(() => clientWith("log" as never)).toThrow("option 'interceptors' in GrpcChannel must be");
  });
});
