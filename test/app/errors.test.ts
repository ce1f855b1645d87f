import { App, ForbiddenError, GuardError, HttpError, type Logger, Response, UnauthorizedError } from "stoa";
import { field, Model } from "stoa/orm";
import { describe, expect, it, onTestFinished } from "vitest";
import { hostOf } from "../../src/app/app.js";

class Animal extends Error {}
class Dog extends Animal {}

function appWith(env: "development" | "production" = "development") {
  const app = new App();
  const lines: { message: string; fields: Record<string, unknown> | undefined }[] = [];
  const log = (message: string, fields?: Record<string, unknown>) => void lines.push({ message, fields });
  const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
  app.logger = logger;
  hostOf(app).configure({ env, debug: env === "development", logs: false, requestTimeout: 30, workers: 1 });
  app.get("/sync", () => {
    throw new RangeError("secret 1");
  });
  app.get("/async", async () => {
    throw new RangeError("secret 2");
  });
  return { app, lines };
}

describe("an unexpected error", () => {
  it("An unexpected error shows its class and message in debug mode, and if the handler was async", async () => {
    const { app } = appWith();
    const sync = await app.request("/sync");
    expect(sync.status).toBe(500);
    expect(await sync.json()).toEqual({ error: "Handler error: RangeError: secret 1", status: 500 });
    expect(await (await app.request("/async")).json()).toEqual({
      error: "Async handler error: RangeError: secret 2",
      status: 500,
    });
  });

  it("An unexpected error shows nothing in production, and is logged with method and path", async () => {
    const { app, lines } = appWith("production");
    for (const path of ["/sync", "/async"]) {
      const response = await app.request(path, { headers: { accept: "text/html" } });
      expect(response.status).toBe(500);
      expect(await response.text()).toBe('{"error":"Internal Server Error","status":500}');
    }
    expect(lines.map((line) => line.message)).toEqual(["GET /sync failed", "GET /async failed"]);
    expect(lines[0]!.fields!["error"]).toBeInstanceOf(RangeError);
  });

  it("An unexpected error is a page for a browser in debug mode", async () => {
    const { app } = appWith();
    const response = await app.request("/sync", { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
    expect(response.status).toBe(500);
    expect(response.headers.get("content-type")).toContain("text/html");
    expect(await response.text()).toContain("RangeError");
  });

  it.each([
    ["null", null],
    ["undefined", undefined],
    ["a string", "oops"],
    [
      "an object whose toString throws",
      Object.create({
        toString: () => {
          throw new Error("no");
        },
      }),
    ],
    [
      "a proxy that throws",
      new Proxy(
        {},
        {
          get() {
            throw new Error("no");
          },
        },
      ),
    ],
  ])("A handler that throws %s gets a 500 response", async (_name, thrown) => {
    const { app } = appWith();
    app.get("/odd", () => {
      throw thrown;
    });
    app.get("/odd-async", () => Promise.reject(thrown));
    expect((await app.request("/odd")).status).toBe(500);
    expect((await app.request("/odd-async")).status).toBe(500);
  });
});

describe("an HttpError", () => {
  it("An HttpError is a problem document with its status, headers and extensions", async () => {
    const { app } = appWith();
    app.get("/", () => {
      throw new HttpError(409, "Already there", { headers: { "X-A": "b" }, extensions: { errors: [1] } });
    });
    const response = await app.request("/");
    expect(response.status).toBe(409);
    expect(response.headers.get("x-a")).toBe("b");
    expect(await response.json()).toEqual({
      type: "/errors/conflict",
      title: "Conflict",
      status: 409,
      detail: "Already there",
      error: "Conflict",
      errors: [1],
    });
  });
});

describe("exception handlers", () => {
  it("The exception handler of the nearest ancestor class is used", async () => {
    const { app } = appWith();
    app.exceptionHandler(Error, () => Response.text("any"));
    app.exception_handler(Animal, (_request, error) => Response.json({ animal: error.message }, 418));
    app.get("/dog", () => {
      throw new Dog("rex");
    });
    app.get("/type", () => {
      throw new TypeError();
    });
    const dog = await app.request("/dog");
    expect([dog.status, await dog.json()]).toEqual([418, { animal: "rex" }]);
    expect(await (await app.request("/type")).text()).toBe("any");
  });

  it("An exception handler can be async, and also gets the framework's own errors", async () => {
    const { app } = appWith();
    app.exceptionHandler(HttpError)(async (_request, error) => Response.json({ code: error.code }, error.status));
    expect(await (await app.request("/nope")).json()).toEqual({ code: "NOT_FOUND" });
  });

  it("An exception handler that throws gives the plain 500, logged once with the original error", async () => {
    for (const failing of [
      () => {
        throw new Error("handler broke");
      },
      () => Promise.reject(new Error("handler broke")),
    ]) {
      const { app, lines } = appWith("production");
      app.exceptionHandler(RangeError, failing);
      const response = await app.request("/sync");
      expect(await response.json()).toEqual({ error: "Internal Server Error", status: 500 });
      expect(lines).toEqual([
        {
          message: "GET /sync failed",
          fields: { error: new Error("handler broke"), handled: new RangeError("secret 1") },
        },
      ]);
    }
  });

  it("An exception handler gets guard errors with status_code and message", async () => {
    const { app } = appWith();
    app.exceptionHandler(GuardError, (_request, error) =>
      Response.json([error.status_code, error.statusCode, error.message], error.status_code),
    );
    app.get(
      "/a",
      {
        guards: [
          () => {
            throw new UnauthorizedError("who");
          },
        ],
      },
      () => "",
    );
    app.get(
      "/b",
      {
        guards: [
          () => {
            throw new ForbiddenError("no");
          },
        ],
      },
      () => "",
    );
    expect(await (await app.request("/a")).json()).toEqual([401, 401, "who"]);
    expect(await (await app.request("/b")).json()).toEqual([403, 403, "no"]);
  });

  it("exceptionHandler() refuses invalid arguments, and a second handler for a class", () => {
    const { app } = appWith();
    expect(() => app.exceptionHandler("x" as never, () => "")).toThrow("takes a class of errors first");
    expect(() => app.exceptionHandler(Error, "x" as never)).toThrow("takes a function (request, error) second");
    app.exceptionHandler(Error, () => "");
    expect(() => app.exceptionHandler(Error, () => "")).toThrow("registered already");
  });
});

describe("a handler that throws a response", () => {
  it("A thrown response is sent, and no error is logged", async () => {
    const logged: string[] = [];
    const app = new App();
    app.logger = { ...app.logger, error: (message) => void logged.push(message) };
    app.get("/sync", () => {
      throw Response.json({ error: "Book not found" }, 404);
    });
    app.get("/web", async () => {
      throw globalThis.Response.json({ error: "gone" }, { status: 410 });
    });
    app.use({
      before: (request) => {
        if (request.path === "/early") throw new Response("stop", 403);
      },
    });
    const ask = async (path: string): Promise<[number, string]> => {
      const response = await app.request(path);
      return [response.status, await response.text()];
    };
    expect(await ask("/sync")).toEqual([404, '{"error":"Book not found"}']);
    expect(await ask("/web")).toEqual([410, '{"error":"gone"}']);
    expect(await ask("/early")).toEqual([403, "stop"]);
    expect(logged).toEqual([]);
  });

  it("A web response that was already sent is refused with a clear error", async () => {
    const { app, lines } = appWith();
    const web = new globalThis.Response("once", { status: 410 });
    app.get("/thrown", () => {
      throw web;
    });
    app.get("/returned", () => web);
    expect(await (await app.request("/returned")).text()).toBe("once");
    for (const path of ["/thrown", "/returned"]) {
      const response = await app.request(path);
      expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("can be sent once")]);
    }
    expect(lines.map(({ message }) => message)).toEqual(["GET /thrown failed", "GET /returned failed"]);
  });
});

describe("a thrown response that cannot be sent", () => {
  it("A thrown response that cannot be sent is a 500, and the error is logged", async () => {
    const logged: string[] = [];
    const app = new App();
    app.logger = { ...app.logger, error: (message) => void logged.push(message) };
    app.get("/", async () => {
      const used = new globalThis.Response("once");
      await used.text();
      throw used;
    });
    expect((await app.request("/")).status).toBe(500);
    expect(logged).toEqual(["GET / failed"]);
  });

  it("A thrown response whose file is missing is a 404, as when it is returned", async () => {
    const app = new App();
    app.get("/thrown", () => {
      throw Response.file("/no/such/file");
    });
    app.get("/returned", () => Response.file("/no/such/file"));
    expect((await app.request("/returned")).status).toBe(404);
    expect((await app.request("/thrown")).status).toBe(404);
  });
});

describe("the result of an exception handler", () => {
  class Broken extends Error {}

  it.each([
    ["an object", () => ({ error: "broken" }), 500, '{"error":"broken"}'],
    ["a string", async () => "broken", 500, "broken"],
    ["a response", () => Response.json({ error: "broken" }, 418), 418, '{"error":"broken"}'],
  ])(
    "An exception handler can return %s, with the status of the error unless it is a response",
    async (_, handler, status, text) => {
      const app = new App().exceptionHandler(Broken, handler);
      app.get("/", () => {
        throw new Broken();
      });
      const response = await app.request("/");
      expect([response.status, await response.text()]).toEqual([status, text]);
    },
  );

  it("The result of an exception handler has the status of an HttpError", async () => {
    const app = new App().exceptionHandler(HttpError, (_request, error) => ({ problem: error.message }));
    app.get("/", () => {
      throw new HttpError(409, "taken");
    });
    const response = await app.request("/");
    expect([response.status, await response.json()]).toEqual([409, { problem: "taken" }]);
  });
});

describe("the place of an error", () => {
  class Missing extends Model("missing_rows", { id: field.auto() }) {}

  it("An error of a queryset that a handler returns has the line of the route, others have none of it", async () => {
    const { app, lines } = appWith();
    app.enableDatabase("pglite:");
    onTestFinished(() => app.stop());
    app.get("/missing", () => Missing.objects.filter({ id: 1 }));
    for (const path of ["/missing", "/missing", "/async"]) expect((await app.request(path)).status).toBe(500);
    const stacks = lines
      .filter(({ message }) => message.endsWith("failed"))
      .map(({ fields }) => (fields!["error"] as Error).stack!);
    const route = /\n {4}at GET \/missing \(.*errors\.test\.ts:\d+:\d+\)$/;
    expect(stacks.map((stack) => route.test(stack))).toEqual([true, true, false]);
    expect(stacks[2]).not.toContain("GET /async");
  });
});

describe("new App", () => {
  it("The constructor of App accepts no arguments, and its error names where they belong", () => {
    const Any = App as unknown as new (options: object) => App;
    expect(() => new Any({ port: 8000 })).toThrow("new App() takes no arguments: give name, port");
  });
});
