import { App, GrpcConfig } from "stoa";
import { GrpcChannel } from "stoa/grpc";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultAddress } from "../../../src/apis/grpc/address.js";
import { loadProto } from "../../../src/apis/grpc/proto/load.js";
import { Echo } from "./fixtures/echo_pb.js";
import { addEcho, type RunningApp, serve } from "./support.js";

const fixture = new URL("./fixtures/echo.proto", import.meta.url);

describe("the settings", () => {
  it("The contract's order and both spellings are read", () => {
    expect(new GrpcConfig("[::]:6000", true, true)).toMatchObject({
      address: "[::]:6000",
      reflection: true,
      enable_web: true,
    });
    expect(new GrpcConfig({ enable_web: true }).enableWeb).toBe(true);
    expect(new GrpcConfig()).toMatchObject({ address: "[::]:50051", enableWeb: false, max_message_size: 4_194_304 });
  });

  it.each(["", "50051", "host", "::1:50051", "host:99999", "host:-1"])("The address %j is refused", (address) => {
    expect(() => new GrpcConfig({ address })).toThrow("address");
  });

  it("Without an address the server has the host of run in development, and all addresses in production", () => {
    expect(new GrpcConfig().listen).toBeNull();
    expect(defaultAddress("development", "127.0.0.1")).toEqual({ host: "127.0.0.1", port: 50_051 });
    expect(defaultAddress("development", "0.0.0.0")).toEqual({ host: "0.0.0.0", port: 50_051 });
    expect(defaultAddress("production", "127.0.0.1")).toEqual({ host: "::", port: 50_051 });
    expect(new GrpcConfig("[::]:50051").listen).toEqual({ host: "::", port: 50_051 });
  });

  it("Services without enableGrpc are an error at the start", async () => {
    await expect(new App().addGrpcService("a.B", {}).start()).rejects.toThrow("app.enableGrpc() was not called");
  });

  it.each([
    ["a name that is none", ["1a", {}], "takes a generated service, or a name"],
    ["nothing", [], "takes a generated service, or a name"],
    ["handlers that are no functions", ["a.B", { c: 1 }], "must be a function"],
    ["an unknown option", ["a.B", {}, { guard: [] }], "did you mean 'guards'"],
    ["an unknown kind", ["a.B", { c: { kind: "both", handler() {} } }], "kind"],
    ["names that are none", ["a.B", ["x y"]], "is not a name of a method"],
  ])("A service with %s is refused", (_name, given, reason) => {
    const app = new App() as unknown as { addGrpcService(...args: unknown[]): unknown };
    expect(() => app.addGrpcService(...given)).toThrow(reason);
  });

  it("A service can be added once", () => {
    expect(() => new App().addGrpcService("a.B").add_grpc_service("a.B")).toThrow("has been added already");
  });

  it("A handler for a method that the service does not have is refused with a suggestion", async () => {
    const app = new App().enableGrpc();
    app.addGrpcService("test.echo.v1.Echo", { Sya: () => ({}) }, { proto: fixture });
    await expect(app.start()).rejects.toThrow("did you mean 'Say'");
  });
});

describe("services by name, by definition and by class", () => {
  let running: RunningApp;
  let channel: GrpcChannel;

  beforeAll(async () => {
    running = await serve(
      (app) => {
        addEcho(app);
        app.add_grpc_service("plain.Plain", {
          Hello: (message: { name: string }) => ({ hello: message.name }),
          async *Count(message: { to: number }) {
            for (let i = 1; i <= message.to; i++) yield { i };
          },
          Sum: {
            kind: "client_streaming",
            async handler(messages: AsyncIterable<{ value: number }>) {
              let sum = 0;
              for await (const { value } of messages) sum += value;
              return { sum };
            },
          },
        });
        app.addGrpcService("named.Only", ["First", "Second"]);
        app.addGrpcService(
          "test.Proto",
          new (class {
            greeting = "hello";
            Greet({ name }: { name: string }) {
              return { text: this.helper(name) };
            }
            helper(name: string) {
              return `${this.greeting} ${name}`;
            }
          })() as never,
          {
            proto:
              'syntax = "proto3"; package test; message M { string name = 1; string text = 2; } service Proto { rpc Greet(M) returns (M); }',
          },
        );
      },
      { reflection: true },
    );
    channel = new GrpcChannel(running.target);
  });

  afterAll(async () => {
    await channel.close();
    await running.close();
  });

  it("A service given by its name exchanges JSON objects, streams included", async () => {
    const plain = channel.client("plain.Plain");
    expect(await plain.unary("Hello", { name: "ada" })).toEqual({ hello: "ada" });
    const counted: unknown[] = [];
    for await (const message of plain.serverStreaming("Count", { to: 3 })) counted.push(message);
    expect(counted).toEqual([{ i: 1 }, { i: 2 }, { i: 3 }]);
    expect(await plain.clientStreaming("Sum", [{ value: 1 }, { value: 2 }])).toEqual({ sum: 3 });
  });

  it("Methods that were only named are UNIMPLEMENTED", async () => {
    await expect(channel.client("named.Only").unary("First")).rejects.toMatchObject({
      statusName: "UNIMPLEMENTED",
      message: expect.stringContaining("/named.Only/First is declared, but the server has no handler for it"),
    });
  });

  it("The handlers of a class have it as this", async () => {
    const proto =
      'syntax = "proto3"; package test; message M { string name = 1; string text = 2; } service Proto { rpc Greet(M) returns (M); }';
    expect(await channel.client("test.Proto", { proto }).unary("Greet", { name: "ada" })).toMatchObject({
      text: "hello ada",
    });
  });

  it("The health service reports the application and each service", async () => {
    const proto = `syntax = "proto3"; package grpc.health.v1; message HealthCheckRequest { string service = 1; }
      message HealthCheckResponse { enum S { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; } S status = 1; }
      service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); rpc Watch(HealthCheckRequest) returns (stream HealthCheckResponse); }`;
    const health = channel.client("grpc.health.v1.Health", { proto });
    expect(await health.unary("Check", {})).toMatchObject({ status: 1 });
    expect(await health.unary("Check", { service: "plain.Plain" })).toMatchObject({ status: 1 });
    await expect(health.unary("Check", { service: "nope" })).rejects.toMatchObject({ statusName: "NOT_FOUND" });
    for await (const message of health.serverStreaming("Watch", { service: "nope" })) {
      expect(message).toMatchObject({ status: 3 });
      break;
    }
    const drained: unknown[] = [];
    const other = await serve(addEcho);
    const watching = new GrpcChannel(other.target);
    let closing: Promise<void> | null = null;
    for await (const message of watching.client("grpc.health.v1.Health", { proto }).serverStreaming("Watch", {})) {
      drained.push((message as { status: number }).status);
      closing ??= other.close();
    }
    await closing;
    await watching.close();
    expect(drained).toEqual([1, 2]);
  });

  it.each(["v1", "v1alpha"])("Reflection %s lists the services and gives their files", async (version) => {
    const proto = `syntax = "proto3"; package grpc.reflection.${version};
      message Request { string host = 1; oneof ask { string file_by_filename = 3; string file_containing_symbol = 4; string list_services = 7; } }
      message Response { oneof answer { Files files = 4; List list = 6; Error error = 7; } }
      message Files { repeated bytes file = 1; } message List { repeated Name service = 1; } message Name { string name = 1; }
      message Error { int32 code = 1; }
      service ServerReflection { rpc ServerReflectionInfo(stream Request) returns (stream Response); }`;
    type Answer = {
      answer: { case: string; value: { service?: { name: string }[]; file?: Uint8Array[]; code?: number } };
    };
    const client = channel.client(`grpc.reflection.${version}.ServerReflection`, { proto });
    const asks = [
      { ask: { case: "listServices", value: "" } },
      { ask: { case: "fileContainingSymbol", value: "test.echo.v1.Echo.Say" } },
      { ask: { case: "fileByFilename", value: "google/protobuf/timestamp.proto" } },
      { ask: { case: "fileContainingSymbol", value: "nope" } },
    ];
    const answers: Answer["answer"][] = [];
    for await (const { answer } of client.bidiStreaming<Answer>("ServerReflectionInfo", asks)) answers.push(answer);
    expect(answers[0]?.value.service?.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "test.echo.v1.Echo",
        "plain.Plain",
        "grpc.health.v1.Health",
        `grpc.reflection.${version}.ServerReflection`,
      ]),
    );
    expect(answers[1]?.value.file?.length).toBeGreaterThan(1);
    expect(answers[2]?.value.file).toHaveLength(1);
    expect(answers[3]?.value.code).toBe(5);
  });

  it("Reflection is off in production unless it is asked for", async () => {
    const production = await serve(addEcho, {}, { env: "production" });
    const other = new GrpcChannel(production.target);
    const call = other.client("grpc.reflection.v1.ServerReflection").bidiStreaming("ServerReflectionInfo", []).next();
    await expect(call).rejects.toMatchObject({ statusName: "UNIMPLEMENTED" });
    await other.close();
    await production.close();
  });
});

describe("the parser of .proto files", () => {
  it("A file gives the same descriptors as the compiler of protobuf", () => {
    const file = loadProto(fixture);
    const describeMessage = (message: (typeof file.messages)[number]): unknown => [
      message.typeName,
      message.fields.map((f) => [
        f.name,
        f.number,
        f.localName,
        f.jsonName,
        f.fieldKind,
        f.scalar,
        f.enum?.typeName,
        f.message?.typeName,
        f.oneof?.name,
        f.presence,
      ]),
      message.nestedMessages.map(describeMessage),
    ];
    expect(file.messages.map(describeMessage)).toEqual(Echo.file.messages.map(describeMessage));
    expect(file.services[0]?.methods.map((m) => [m.name, m.methodKind, m.idempotency])).toEqual(
      Echo.methods.map((m) => [m.name, m.methodKind, m.idempotency]),
    );
  });

  it.each([
    ['syntax = "proto3"; message M { string a = x; }', "service.proto:1:43: an integer is expected"],
    ['syntax = "proto3"; message M { Nope a = 1; }', "uses the type Nope, which is not defined"],
    ['syntax = "proto4";', "the syntax"],
    ['syntax = "proto3"; message M {', "a name is expected"],
    ['syntax = "proto3"; import "x.proto";', "which was not found"],
    ['syntax = "proto3"; nonsense;', "'nonsense' is unknown here"],
    ['syntax = "proto3"; /* open', "a comment does not end"],
    ['syntax = "proto3; message M {}', "a string does not end"],
  ])("The text %j is refused with its place", (text, reason) => {
    expect(() => loadProto(text)).toThrow(reason);
  });
});
