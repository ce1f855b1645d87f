import { EventEmitter, once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { type ChannelOptions, GrpcChannel, type GrpcServiceConfig } from "stoa/grpc";
import { describe, expect, it, onTestFinished } from "vitest";
import { RoundRobin } from "../../../src/apis/grpc/client/round-robin.js";
import { Echo } from "./fixtures/echo_pb.js";
import { type RunningApp, serve } from "./support.js";

const quiet = { logs: false } as const;

/** A server whose responses name it. */
async function started(name: string, address = "127.0.0.1:0", health = true): Promise<RunningApp> {
  const running = await serve(
    (app) => {
      app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
      app.addGrpcService(Echo, { say: () => ({ text: name }), look: () => ({ text: name }) });
    },
    { address, health },
    quiet,
  );
  onTestFinished(() => running.close());
  return running;
}

function clientOf(targets: readonly string[], serviceConfig: GrpcServiceConfig, options: ChannelOptions = {}) {
  const channel = new GrpcChannel(targets, { serviceConfig, retryDelay: "1ms", retries: 20, ...options });
  onTestFinished(() => channel.close());
  return channel.client(Echo);
}

type Client = ReturnType<typeof clientOf>;

async function namesOf(client: Client, calls: number): Promise<string[]> {
  const names: string[] = [];
  for (let i = 0; i < calls; i++) names.push((await client.look({})).text);
  return names.sort();
}

/** Until twice as many calls as there are servers reach each of them twice, and no other. */
async function reaches(client: Client, ...names: string[]): Promise<void> {
  const expected = [...names, ...names].sort();
  await expect.poll(() => namesOf(client, expected.length), { timeout: 30_000, interval: 20 }).toEqual(expected);
}

const roundRobin: GrpcServiceConfig = { loadBalancingConfig: [{ round_robin: {} }] };

describe("round_robin", () => {
  it("Calls go to all addresses in turn; one that is down gets none until it is back", async () => {
    const [a, b, c] = [await started("a"), await started("b"), await started("c")];
    const client = clientOf([a.target, b.target, c.target], roundRobin);
    await reaches(client, "a", "b", "c");
    await b.close();
    await reaches(client, "a", "c");
    await started("b", b.target);
    await reaches(client, "a", "b", "c");
  });

  it("An address that is not serving gets no calls, and one without the health service does", async () => {
    const watched = await watchedServer();
    const without = await started("without", undefined, false);
    const client = clientOf([watched.target, without.target], { ...roundRobin, healthCheckConfig: {} });
    await reaches(client, "without");
    watched.say("SERVING");
    await reaches(client, "watched", "without");
    watched.say("NOT_SERVING");
    await reaches(client, "without");
    expect(watched.services).toEqual([""]);
  });

  it("A call fails with UNAVAILABLE if no address serves, and works when one does", async () => {
    const watched = await watchedServer();
    const config = { ...roundRobin, healthCheckConfig: { serviceName: "test.echo.v1.Echo" } };
    const client = clientOf([watched.target, "127.0.0.1:1"], config, { retries: 0 });
    watched.say("NOT_SERVING");
    await expect(client.say({})).rejects.toMatchObject({ statusName: "UNAVAILABLE" });
    expect(watched.services).toEqual(["test.echo.v1.Echo"]);
    watched.say("SERVING");
    await expect
      .poll(
        () =>
          client.say({}).then(
            ({ text }) => text,
            () => "none",
          ),
        { timeout: 30_000 },
      )
      .toBe("watched");
  });

  it("No call waits for an address of a channel that is closed", async () => {
    const session = Object.assign(new EventEmitter(), { closed: false, destroyed: false });
    const close = (): void => {
      session.destroyed = true;
      session.emit("close");
    };
    const picker = new RoundRobin([{ host: "a", ready: async () => session, close } as never], {
      retryDelay: 1,
      healthOf: null,
    });
    expect((await picker.pick()).session).toBe(session);
    picker.close();
    // The loss of the connection is noticed after the close.
    await new Promise(setImmediate);
    await expect(async () => picker.pick()).rejects.toThrow("the channel has been closed");
  });
});

describe("pick_first", () => {
  it("All calls go to the first address that is up, and to the next one when it is down", async () => {
    const [a, b] = [await started("a"), await started("b")];
    const client = clientOf(["127.0.0.1:1", a.target, b.target], {});
    expect(await namesOf(client, 3)).toEqual(["a", "a", "a"]);
    await a.close();
    expect(await namesOf(client, 3)).toEqual(["b", "b", "b"]);
  });
});

describe("a connection that is lost", () => {
  it("Its calls fail with UNAVAILABLE, and those that can be repeated are", async () => {
    const server = http2.createServer();
    const sockets: Socket[] = [];
    let calls = 0;
    server.on("connection", (socket) => sockets.push(socket));
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      if (calls++ % 2 === 0) return void sockets.at(-1)!.destroy();
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.alloc(5));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const client = clientOf([`127.0.0.1:${(server.address() as AddressInfo).port}`], {});
    await expect(client.say({})).rejects.toMatchObject({ statusName: "UNAVAILABLE" });
    calls = 0;
    expect((await client.look({})).text).toBe("");
    expect(calls).toBe(2);
  });
});

it("A load balancing policy that is not known, and a list without addresses, are refused", () => {
  const config = (name: string) => ({ serviceConfig: { loadBalancingConfig: [{ [name]: {} }] } });
  expect(() => new GrpcChannel("localhost:1", config("ring_hash"))).toThrow("pick_first: {} } or { round_robin: {} }");
  expect(() => new GrpcChannel([])).toThrow("takes the address of a server");
});

/** A server of another implementation, whose health the test says. It is not known before. */
async function watchedServer() {
  const server = new grpc.Server();
  const statuses = { SERVING: 1, NOT_SERVING: 2 };
  const watching = new Set<grpc.ServerWritableStream<Buffer, Buffer>>();
  const services: string[] = [];
  let status: number | null = null;
  const bytes = (value: Buffer): Buffer => value;
  const method = (path: string, responseStream: boolean) => ({
    path,
    requestStream: false,
    responseStream,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  });
  server.addService(
    {
      Say: method("/test.echo.v1.Echo/Say", false),
      Look: method("/test.echo.v1.Echo/Look", false),
      Watch: method("/grpc.health.v1.Health/Watch", true),
    },
    {
      Say: (_call: unknown, done: grpc.sendUnaryData<Buffer>) => done(null, Buffer.from("\x0a\x07watched")),
      Look: (_call: unknown, done: grpc.sendUnaryData<Buffer>) => done(null, Buffer.from("\x0a\x07watched")),
      Watch: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
        services.push(call.request.subarray(2).toString());
        watching.add(call);
        if (status !== null) call.write(Buffer.from([8, status]));
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  return {
    target: `127.0.0.1:${port}`,
    services,
    say(name: keyof typeof statuses) {
      status = statuses[name];
      for (const call of watching) call.write(Buffer.from([8, status]));
    },
  };
}
