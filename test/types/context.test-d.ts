import { App, Authenticated, type Handler, type JwtClaims, Response, type SocketHandler } from "stoa";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

declare module "stoa" {
  interface RequestContext {
    tenantOfTypeTest?: { readonly id: number };
  }
  interface JwtClaims {
    readonly planOfTypeTest?: "free" | "paid";
  }
}

describe("the context of a request", () => {
  it("The keys of the contract have their types, and other keys are unknown", () => {
    new App().get("/", { guards: [Authenticated()] }, ({ context }) => {
      expectTypeOf(context.jwt_claims).toEqualTypeOf<JwtClaims | undefined>();
      expectTypeOf(context.user).toEqualTypeOf<string | undefined>();
      expectTypeOf(context.api_key_name).toEqualTypeOf<string | undefined>();
      expectTypeOf(context.request_id).toEqualTypeOf<string | undefined>();
      expectTypeOf(context["other"]).toBeUnknown();
    });
  });

  it("The claims behind a guard have the types of their registered names", () => {
    new App().get("/", { guards: [Authenticated()] }, ({ context: { jwt_claims, user } }) => {
      expectTypeOf(jwt_claims?.sub ?? user).toEqualTypeOf<string | undefined>();
      expectTypeOf(jwt_claims?.exp).toEqualTypeOf<number | undefined>();
      expectTypeOf(jwt_claims?.aud).toEqualTypeOf<string | readonly string[] | undefined>();
      expectTypeOf(jwt_claims?.["other"]).toBeUnknown();
    });
  });

  it("An application declares its own keys and claims by merging", () => {
    new App().get("/", ({ context }) => {
      expectTypeOf(context.tenantOfTypeTest?.id).toEqualTypeOf<number | undefined>();
      expectTypeOf(context.jwt_claims?.planOfTypeTest).toEqualTypeOf<"free" | "paid" | undefined>();
      // @ts-expect-error a tenant is an object
      context.tenantOfTypeTest = 1;
    });
  });
});

describe("a handler that stands apart from its route", () => {
  it("A handler knows the params of the path it is written for", () => {
    const show: Handler<"/books/{id}/{rest:*}"> = (request) => {
      expectTypeOf(request.params).toEqualTypeOf<{ readonly id: string; readonly rest: string }>();
      return Response.json({ id: request.params.id });
    };
    new App().get("/books/{id}/{rest:*}", show);
  });

  it("A handler without a path fits every path, and its params are strings by name", () => {
    const any: Handler = (request) => {
      expectTypeOf(request.params).toEqualTypeOf<Record<string, string>>();
    };
    new App().get("/books/{id}", any).post("/", any);
  });

  it("A handler with the type of its options knows the injected values", () => {
    const options = { body: z.object({ title: z.string() }) };
    const add: Handler<"/books", typeof options> = (_request, { body }) => {
      expectTypeOf(body).toEqualTypeOf<{ title: string }>();
    };
    new App().post("/books", options, add);
  });

  it("A handler of sockets knows the params of its path", () => {
    const chat: SocketHandler<"/chat/{room}"> = (socket) => {
      expectTypeOf(socket.params.room).toBeString();
    };
    new App().websocket("/chat/{room}", chat);
  });
});
