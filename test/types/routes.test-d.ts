import { App, Blueprint, Depends, type Handler, type PathParams, type Request, Response, type WebSocket } from "stoa";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

interface Mailer {
  send(to: string): void;
}

describe("params", () => {
  it("The types of params come from the path", () => {
    expectTypeOf<keyof PathParams<"/books">>().toBeNever();
    expectTypeOf<PathParams<"/books/{id}">>().toEqualTypeOf<{ readonly id: string }>();
    expectTypeOf<PathParams<"/a/{b}/c/{d}/{rest:*}">>().toEqualTypeOf<{
      readonly b: string;
      readonly d: string;
      readonly rest: string;
    }>();
    expectTypeOf<PathParams<string>>().toEqualTypeOf<Record<string, string>>();
  });

  it("The handler knows the params of its path, and no others", () => {
    const app = new App();
    app.get("/books/{id}/pages/{page}", (request) => {
      expectTypeOf(request.params.id).toBeString();
      expectTypeOf(request.params.page).toBeString();
      // @ts-expect-error the path has no such parameter
      request.params.isbn;
    });
    app.get("/plain", (request) => {
      // @ts-expect-error the path has no parameter
      request.params.id;
    });
  });

  it("The params of a blueprint's prefix are known to its routes", () => {
    const users = new Blueprint("/users/{user}");
    users.get("/books/{book}", (request) => {
      expectTypeOf(request.params).toEqualTypeOf<{ readonly user: string; readonly book: string }>();
    });
  });

  it("The params of a path are known to the curried form", () => {
    const app = new App();
    app.get("/books/{id}")((request) => {
      expectTypeOf(request.params.id).toBeString();
    });
  });
});

describe("injected values", () => {
  const Book = z.object({ title: z.string(), year: z.number().nullable().default(null) });

  it("The injected inputs have the output types of the schemas", () => {
    new App().post(
      "/books/{id}",
      { body: Book, query: z.object({ page: z.coerce.number() }), params: z.object({ id: z.coerce.number() }) },
      (request, injected) => {
        expectTypeOf(injected.body).toEqualTypeOf<{ title: string; year: number | null }>();
        expectTypeOf(injected.query.page).toBeNumber();
        expectTypeOf(injected.params.id).toBeNumber();
        expectTypeOf(request.params.id).toBeString();
        // @ts-expect-error no schema of headers was given
        injected.headers;
      },
    );
  });

  it("Injected dependencies have the type of their Depends", () => {
    new App().post("/mail", { inject: { mail: Depends<Mailer>("mail") } }, (_request, { mail }) => {
      expectTypeOf(mail).toEqualTypeOf<Mailer>();
      // @ts-expect-error a Mailer cannot do that
      mail.sing();
    });
  });

  it("Nothing is injected into a plain route", () => {
    new App().get("/x", (_request, injected) => {
      expectTypeOf(injected).not.toBeAny();
      // @ts-expect-error nothing was asked for
      injected.body;
    });
  });
});

describe("handlers that stand apart", () => {
  const one = (request: Request<{ readonly id: string }>) => request.params.id;
  const book: Handler<"/books/{isbn}"> = (request) => request.params.isbn;
  const chat = (socket: WebSocket<{ readonly room: string }>) => socket.params.room;

  it("A handler whose params are those of the path compiles", () => {
    const app = new App();
    app.get("/a/{id}", one);
    app.get("/a/{id}/{more}", one);
    app.get("/a/{id}", { tags: ["a"] }, one);
    app.get("/a/{id}")(one);
    app.get("/a/{id}", { tags: ["a"] })(one);
    app.route("/a/{id}", one);
    app.route("/a/{id}", ["GET", "POST"], one);
    app.route("/a/{id}", ["GET", "POST"])(one);
    app.get("/books/{isbn}", book);
    app.get("/plain", (_request: Request) => null);
    app.get("/plain", () => null);
    app.websocket("/chat/{room}", chat);
    new Blueprint("/a/{id}").get("/x", one);
    const path: string = "/made/{at}/run-time";
    app.get(path, (request) => request.params["at"]);
  });

  it("A handler for another path does not compile", () => {
    const app = new App();
    // @ts-expect-error the path has no parameter 'id'
    app.get("/a/{name}", one);
    // @ts-expect-error the path has no parameter 'isbn'
    app.post("/books/{id}", book);
    // @ts-expect-error the path has no parameter 'id'
    app.get("/a", { tags: ["a"] }, one);
    // @ts-expect-error the path has no parameter 'id'
    app.get("/a")(one);
    // @ts-expect-error the path has no parameter 'id'
    app.route("/a/{name}", one);
    // @ts-expect-error the path has no parameter 'id'
    app.route("/a/{name}", ["GET"], one);
    // @ts-expect-error the path has no parameter 'room'
    app.websocket("/chat/{id}", chat);
    // @ts-expect-error neither the prefix nor the path has the parameter 'id'
    new Blueprint("/a/{name}").get("/x", one);
  });

  it("A value that is neither options nor a handler does not compile", () => {
    const app = new App();
    // @ts-expect-error a number is no handler
    app.get("/a", 5);
    // @ts-expect-error a string is no handler
    app.get("/a", "text");
  });

  it("A list of blueprints takes routes", () => {
    for (const blueprint of [new Blueprint("/outer"), new Blueprint("/inner/{id}")]) blueprint.get("/x", () => "");
  });

  it("The handlers of a list of blueprints are checked", () => {
    for (const blueprint of [new Blueprint("/outer"), new Blueprint("/inner/{id}")]) {
      blueprint.route("/a", (request) => request.method);
      blueprint.route("/b", ["POST"], (request) => request.method);
      blueprint.websocket("/c", (socket) => socket.sendText("x"));
      // @ts-expect-error a handler gets a request
      blueprint.route("/d", (request: number) => request);
      // @ts-expect-error a handler gets a request
      blueprint.route("/e", ["POST"], (request: number) => request);
      // @ts-expect-error a handler of a WebSocket gets a socket
      blueprint.websocket("/f", (socket: number) => socket);
    }
  });
});

describe("options", () => {
  it("Wrong route options do not compile, with a message that names them", () => {
    const app = new App();
    // @ts-expect-error 'sumary' is not an option here
    app.get("/x", { sumary: "List" }, () => null);
    // @ts-expect-error tags are a list
    app.get("/x", { tags: "books" }, () => null);
    // @ts-expect-error a body is a schema
    app.post("/x", { body: 12 }, () => null);
  });

  it("Route options exist in the contract's spelling too", () => {
    new App().get("/x", { operation_id: "x", body_limit: 10 }, () => null);
  });
});

describe("chaining", () => {
  it("Methods return the app for chaining in both spellings", () => {
    const app = new App();
    expectTypeOf(app.get("/x", () => null).use({ before() {} })).toEqualTypeOf<App>();
    expectTypeOf(
      app
        .enable_logging()
        .register_singleton("a", 1)
        .add_guard(() => true),
    ).toEqualTypeOf<App>();
    expectTypeOf(app.enableLogging().enable_logging()).toEqualTypeOf<App>();
  });
});

describe("decorators", () => {
  it("Decorators accept methods whose request fits the path", () => {
    const app = new App();
    class Books {
      @app.get("/books/{id}")
      one(request: Request<{ readonly id: string }>) {
        return request.params.id;
      }

      @app.get("/books")
      list(_request: Request) {
        return [];
      }
    }
    new Books();
  });
});

describe("errors", () => {
  class TeapotError extends Error {
    readonly temperature = 90;
  }
  it("Errors reach their handler with their own type", () => {
    const app = new App();
    app.exceptionHandler(TeapotError, (request, error) => {
      expectTypeOf(request.method).toBeString();
      expectTypeOf(error.temperature).toBeNumber();
      return new Response("teapot", 418);
    });
    app.exception_handler(TeapotError, (_request, error) => {
      expectTypeOf(error.temperature).toBeNumber();
    });
  });
});
