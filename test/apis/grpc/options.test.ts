import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelOptions, GrpcChannel, type GrpcOptions } from "stoa/grpc";
import { describe, expect, it, onTestFinished } from "vitest";
import { END_HEADERS, FrameClient, frame, HEADERS, PING, request, SETTINGS } from "../../server/http2/frames.js";
import { Echo } from "./fixtures/echo_pb.js";
import { addEcho, type RunningApp, serve } from "./support.js";

async function started(options: GrpcOptions, build: Parameters<typeof serve>[0] = addEcho): Promise<RunningApp> {
  const running = await serve((app) => {
    app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
    build(app);
  }, options);
  onTestFinished(() => running.close());
  return running;
}

function channelTo(target: string, options?: ChannelOptions): GrpcChannel {
  const channel = new GrpcChannel(target, options);
  onTestFinished(() => channel.close());
  return channel;
}

async function frameClient(target: string): Promise<FrameClient> {
  const client = await FrameClient.open({ host: "127.0.0.1", port: Number(target.split(":").at(-1)) });
  onTestFinished(() => void client.socket.destroy());
  return client;
}

describe("options of a gRPC service and of a channel", () => {
  const never = (): Promise<never> => new Promise(() => {});

  it("A unary call gets DEADLINE_EXCEEDED after the timeout of its service", async () => {
    const { target } = await started({}, (app) => app.addGrpcService(Echo, { say: never }, { timeout: "20ms" }));
    const channel = channelTo(target, { timeout: 0 });
    await expect(channel.client(Echo).say({})).rejects.toMatchObject({ statusName: "DEADLINE_EXCEEDED" });
  });

  it("A unary call gets DEADLINE_EXCEEDED after the timeout of its channel", async () => {
    const { target } = await started({}, (app) => app.addGrpcService(Echo, { say: never }, { timeout: 0 }));
    const channel = channelTo(target, { timeout: "20ms", retries: 0 });
    await expect(channel.client(Echo).say({})).rejects.toMatchObject({ statusName: "DEADLINE_EXCEEDED" });
  });

  it("A message beyond maxMessageSize of its service is refused, and one of another service is not", async () => {
    const { target } = await started({}, (app) => {
      const say = ({ text }: { text: string }) => ({ text });
      app.addGrpcService(Echo, { say }, { maxMessageSize: 100 });
    });
    const client = channelTo(target).client(Echo);
    await expect(client.say({ text: "x".repeat(50) })).resolves.toMatchObject({ text: "x".repeat(50) });
    await expect(client.say({ text: "x".repeat(200) })).rejects.toMatchObject({ statusName: "RESOURCE_EXHAUSTED" });
  });

  it("Every call of a channel has its metadata", async () => {
    const { target } = await started({}, (app) => {
      app.addGrpcService(Echo, {
        say: (_message, { request }) => ({ text: request.headers.get("x-tenant") ?? "none" }),
      });
    });
    const textOf = async (options: ChannelOptions): Promise<string> =>
      (await channelTo(target, options).client(Echo).say({})).text;
    expect(await textOf({ metadata: { "x-tenant": "blue" } })).toBe("blue");
    expect(await textOf({})).toBe("none");
  });

  it("Imports of a .proto file are found in the folders of protoPath", async () => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-proto-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "word.proto"), 'syntax = "proto3"; package test; message Word { string text = 1; }');
    const proto = `syntax = "proto3"; package test; import "word.proto";
      service Words { rpc Say (Word) returns (Word); }`;
    const { target } = await started({}, (app) =>
      app.addGrpcService("test.Words", { Say: ({ text }) => ({ text: `said ${text}` }) }, { proto, protoPath: folder }),
    );
    const client = channelTo(target).client("test.Words", { proto, protoPath: folder });
    await expect(client.unary("Say", { text: "hi" })).resolves.toMatchObject({ text: "said hi" });
  });
});

describe("options of the gRPC server", () => {
  it("The health service is served unless health is false", async () => {
    const proto = `syntax = "proto3"; package grpc.health.v1; message R { int32 status = 1; }
      service Health { rpc Check (R) returns (R); }`;
    const call = ({ target }: RunningApp): Promise<unknown> =>
      channelTo(target).client("grpc.health.v1.Health", { proto }).unary("Check", {});
    await expect(call(await started({ health: false }))).rejects.toMatchObject({ statusName: "UNIMPLEMENTED" });
    await expect(call(await started({}))).resolves.toMatchObject({ status: 1 });
  });

  it("Clients are told maxConcurrentStreams", async () => {
    const client = await frameClient((await started({ maxConcurrentStreams: 7 })).target);
    const sent = (await client.until(({ type }) => type === SETTINGS))!.payload;
    const pairs = Array.from({ length: sent.length / 6 }, (_, i) => [
      sent.readUInt16BE(i * 6),
      sent.readUInt32BE(i * 6 + 2),
    ]);
    expect(pairs).toContainEqual([3, 7]);
  });

  it("A connection beyond maxConnections is closed", async () => {
    const { target } = await started({ maxConnections: 1 });
    const first = await frameClient(target);
    const second = connect(Number(target.split(":").at(-1)), "127.0.0.1");
    second.on("error", () => {});
    await once(second.resume(), "close");
    expect(first.closed).toBe(false);
  });

  it("A client that sends no reply to a ping is disconnected after keepaliveTimeout", async () => {
    const silent = async (keepaliveTimeout: string): Promise<string> => {
      const { target } = await started({ keepaliveInterval: "20ms", keepaliveTimeout } as GrpcOptions);
      const client = await frameClient(target);
      const type = ["content-type", "application/grpc"] as const;
      client.send(frame(HEADERS, END_HEADERS, 1, request("/test.echo.v1.Echo/Collect", "POST", [type])));
      expect(await client.until((sent) => sent.type === PING)).toBeDefined();
      await client.end();
      return keepaliveTimeout;
    };
    const long = silent("1h");
    expect(await Promise.race([silent("20ms"), long])).toBe("20ms");
  });

  it("The messages of unexpected errors are shown to clients if maskErrors is false", async () => {
    const failing: Parameters<typeof serve>[0] = (app) =>
      app.addGrpcService(Echo, {
        say: () => {
          throw new Error("out of ink");
        },
      });
    const messageOf = async (maskErrors: boolean): Promise<string> => {
      const { target } = await started({ maskErrors }, failing);
      return channelTo(target)
        .client(Echo)
        .say({})
        .then(
          () => "no error",
          (error: Error) => error.message,
        );
    };
    expect(await messageOf(true)).not.toContain("out of ink");
    expect(await messageOf(false)).toContain("out of ink");
  });
});

describe("options of a gRPC channel", () => {
  it("A server that accepts connections and says nothing is UNAVAILABLE after connectTimeout", async () => {
    const held = new Set<Socket>();
    const server = createServer((socket) => void held.add(socket.on("error", () => {}))).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      for (const socket of held) socket.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const channel = channelTo(`127.0.0.1:${port}`, { connectTimeout: "30ms", retries: 0 });
    await expect(channel.client(Echo).say({})).rejects.toMatchObject({
      statusName: "UNAVAILABLE",
      message: expect.stringContaining("no connection within 0.03 s"),
    });
  });

  it("A call ends when the server sends no reply to a ping within keepaliveTimeout", async () => {
    const { target } = await started({ drainTimeout: 0 });
    const upstream = Number(target.split(":").at(-1));
    // Passes everything on until it is told to be silent.
    const replies = new Set<Socket>();
    const proxy = createServer((socket) => {
      const server = connect(upstream, "127.0.0.1");
      for (const each of [server, socket]) each.on("error", () => {});
      replies.add(server);
      server.pipe(socket).pipe(server);
      socket.on("close", () => server.destroy());
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    onTestFinished(() => {
      for (const reply of replies) reply.destroy();
      proxy.close();
    });
    const { port } = proxy.address() as AddressInfo;
    const chat = (keepaliveTimeout: string): AsyncIterator<unknown> => {
      const options = { keepaliveInterval: "20ms", keepaliveTimeout } as ChannelOptions;
      const channel = channelTo(`127.0.0.1:${port}`, options);
      return channel.client(Echo).chat(endless())[Symbol.asyncIterator]();
    };
    const ended = (chatting: AsyncIterator<unknown>, name: string): Promise<string> =>
      chatting.next().then(
        () => `${name} went on`,
        () => name,
      );
    const [patient, impatient] = [chat("1h"), chat("20ms")];
    await patient.next();
    await impatient.next().catch(() => {}); // a busy machine may be too late for it already here
    for (const reply of replies) reply.unpipe().pause();
    expect(await Promise.race([ended(impatient, "impatient"), ended(patient, "patient")])).toBe("impatient");
  });

  it("The imports of a definition are found in the folders of protoPath", async () => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-proto-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(
      join(folder, "said.proto"),
      'syntax = "proto3"; package test.echo.v1; message Said { string text = 1; }',
    );
    const proto = `syntax = "proto3"; package test.echo.v1; import "said.proto";
      service Echo { rpc Look(Said) returns (Said); }`;
    const channel = channelTo((await started({})).target);
    await expect(channel.client("test.echo.v1.Echo", { proto }).unary("Look")).rejects.toThrow(
      "option 'protoPath' names no folder",
    );
    const client = channel.client("test.echo.v1.Echo", { proto, protoPath: folder });
    expect(await client.unary("Look", { text: "Ada" })).toMatchObject({ text: "seen Ada" });
  });
});

/** One message, and then none for as long as the call lasts. */
async function* endless(): AsyncGenerator<{ text: string }> {
  yield { text: "first" };
  await new Promise(() => {});
}
