import { App, Depends } from "stoa";
import { type GrpcCall, GrpcChannel, type GrpcClientCall, type GrpcInterceptor, type InterceptedCall } from "stoa/grpc";
import { describe, expectTypeOf, it } from "vitest";
import { Echo, type EchoRequest, type EchoResponse } from "../apis/grpc/fixtures/echo_pb.js";

describe("services with a generated descriptor", () => {
  it("A service with a generated descriptor types messages, results and dependencies in both spellings", () => {
    const app = new App();
    const chained = app.addGrpcService(
      Echo,
      {
        say: (message, call, { mail }) => {
          expectTypeOf(message).toEqualTypeOf<EchoRequest>();
          expectTypeOf(call).toEqualTypeOf<GrpcCall>();
          expectTypeOf(mail).toEqualTypeOf<number>();
          return { text: message.text };
        },
        async collect(messages) {
          for await (const message of messages) expectTypeOf(message).toEqualTypeOf<EchoRequest>();
          return {};
        },
        async *count() {
          yield { number: 1 };
        },
      },
      { inject: { mail: Depends<number>("mail") } },
    );
    expectTypeOf(chained).toEqualTypeOf<App>();
    expectTypeOf(app.add_grpc_service).toEqualTypeOf(app.addGrpcService);
    // @ts-expect-error a result of another type
    app.addGrpcService(Echo, { say: () => ({ text: 5 }) });
    // @ts-expect-error a method that the service does not have
    app.addGrpcService(Echo, { shout: () => ({}) });
    // @ts-expect-error a stream must be iterable
    app.addGrpcService(Echo, { count: () => ({ number: 1 }) });
  });
});

describe("services by name", () => {
  it("A handler of a service by name gives the type of its message", () => {
    new App().addGrpcService("a.B", {
      Hello: (message: { name: string }) => ({ hello: message.name }),
      Many: { kind: "client_streaming", handler: (messages: AsyncIterable<{ n: number }>) => ({ messages }) },
    });
  });
});

describe("clients", () => {
  it("A client of a generated service has typed methods", () => {
    const client = new GrpcChannel("localhost:1").client(Echo);
    expectTypeOf(client.say).returns.toEqualTypeOf<Promise<EchoResponse>>();
    expectTypeOf(client.count).returns.toEqualTypeOf<AsyncIterableIterator<EchoResponse>>();
    // @ts-expect-error a field of another type
    () => client.say({ text: 1 });
  });

  it("An interceptor knows the call of its side, and one for both sides knows what they share", () => {
    const shared: GrpcInterceptor = (call, next) => {
      expectTypeOf(call).toEqualTypeOf<InterceptedCall>();
      return next();
    };
    new GrpcChannel("localhost:1", {
      interceptors: [
        shared,
        (call, next) => {
          expectTypeOf(call).toEqualTypeOf<GrpcClientCall>();
          return next();
        },
      ],
    });
    new App().enableGrpc({
      interceptors: [
        shared,
        (call, next) => {
          expectTypeOf(call).toEqualTypeOf<GrpcCall>();
          return next();
        },
      ],
    });
  });
});
