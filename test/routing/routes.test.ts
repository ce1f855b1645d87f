import { App, Blueprint, Response } from "stoa";
import { describe, expect, it } from "vitest";

describe("registering a route", () => {
  it("A route accepts a handler, options and a handler, or returns a decorator", async () => {
    const app = new App();
    app.get("/plain", () => "plain");
    app.get("/options", { status: 202 }, () => "options");
    const same = (): string => "curried";
    expect(app.get("/curried")(same)).toBe(same);
    app.post("/curried", { summary: "x" })(() => "with options");
    expect(await (await app.request("/plain")).text()).toBe("plain");
    expect((await app.request("/options")).status).toBe(202);
    expect(await (await app.request("/curried")).text()).toBe("curried");
    expect(await (await app.request("/curried", { method: "POST" })).text()).toBe("with options");
  });

  it("A route accepts null in place of options or methods", async () => {
    const app = new App();
    app.get("/a", null as never, () => "a");
    app.route("/b", null as never, () => "b");
    app.route("/c", { methods: null as never }, () => "c");
    for (const name of ["a", "b", "c"]) expect(await (await app.request(`/${name}`)).text()).toBe(name);
  });

  it("A route accepts several methods, as an option or in the contract's position, and GET by default", async () => {
    const app = new App();
    app.route("/a", { methods: ["GET", "post"] }, (request) => request.method);
    app.route("/b", ["PUT"], (request) => request.method);
    app.route("/c", (request) => request.method);
    app.route("/d", ["PATCH"])((request) => request.method);
    expect(await (await app.request("/a", { method: "POST" })).text()).toBe("POST");
    expect(await (await app.request("/b", { method: "PUT" })).text()).toBe("PUT");
    expect((await app.request("/b")).status).toBe(405);
    expect(await (await app.request("/c")).text()).toBe("GET");
    expect((await app.request("/d", { method: "PATCH" })).status).toBe(200);
  });

  it("A route refuses invalid handlers, options and methods with a clear error", () => {
    const app = new App();
    expect(() => app.get("/x", 12 as never)).toThrow("the route /x takes options and a handler, not 12");
    expect(() => app.get("/x", {}, "y" as never)).toThrow('the handler of /x must be a function, not "y"');
    expect(() => app.get("/x", { sumary: "" } as never, () => "")).toThrow(
      "unknown option 'sumary' in the route /x; did you mean 'summary'?",
    );
    expect(() => app.get("/x", { status: 99 }, () => "")).toThrow("must be an integer from 200 to 599, not 99");
    expect(() => app.get("/x", { timeout: "90d" }, () => "")).toThrow("must be a duration from 0 to 24d");
    expect(() => app.route("/x", 12 as never, () => "")).toThrow("the route /x takes options and a handler, not 12");
    expect(() => app.route("/x", "POST" as never, () => "")).toThrow('takes options and a handler, not "POST"');
    expect(() => app.route("/x", { methods: [] }, () => "")).toThrow("needs a list of methods");
    expect(() => app.route("/x", { methods: ["BREW"] }, () => "")).toThrow("unknown method 'BREW'");
    expect(() => app.get("x", () => "")).toThrow("begins with '/'");
    expect(() => app.get("/x", { guards: [7 as never] }, () => "")).toThrow("a guard");
  });

  it("A bad path is refused where the route is written, even without a handler or an application", () => {
    expect(() => new App().get("x")).toThrow("begins with '/'");
    expect(() => new Blueprint("/b").get("x", () => "")).toThrow("begins with '/'");
    expect(() => new Blueprint("/b").get("/{id", () => "")).toThrow("/{id");
  });

  it("A blueprint with a route that is registered already adds none of its routes", async () => {
    const app = new App();
    app.get("/b/two", () => "two");
    const inner = new Blueprint("/inner");
    inner.get("/deep", () => "deep");
    const blueprint = new Blueprint("/b").registerBlueprint(inner);
    blueprint.get("/one", () => "one");
    blueprint.get("/two", () => "other");
    for (let i = 0; i < 2; i++) {
      expect(() => app.registerBlueprint(blueprint)).toThrow("GET /b/two is registered already");
    }
    const elsewhere = new App().registerBlueprint(blueprint);
    expect(() => app.route("/b/two", { methods: ["POST", "GET"] }, () => "")).toThrow("GET /b/two is registered");
    app.get("/b/later", () => "later");
    const seen = async (asked: App, path: string, method = "GET"): Promise<string> => {
      const response = await asked.request(path, { method });
      return response.status === 200 ? response.text() : String(response.status);
    };
    expect(await seen(app, "/b/one")).toBe("404");
    expect(await seen(app, "/b/inner/deep")).toBe("404");
    expect(await seen(app, "/b/two")).toBe("two");
    expect(await seen(app, "/b/two", "POST")).toBe("405");
    expect(await seen(app, "/b/later")).toBe("later");
    expect(await seen(elsewhere, "/b/inner/deep")).toBe("deep");
    expect(await seen(elsewhere, "/b/two")).toBe("other");
  });

  it("A route of a blueprint that collides in one of its applications is added to none of them", async () => {
    const blueprint = new Blueprint("/b");
    const first = new App().registerBlueprint(blueprint);
    const second = new App();
    second.get("/b/late", () => "taken");
    second.registerBlueprint(blueprint);
    expect(() => blueprint.get("/late", () => "late")).toThrow("GET /b/late is registered already");
    expect((await first.request("/b/late")).status).toBe(404);
    expect((await new App().registerBlueprint(blueprint).request("/b/late")).status).toBe(404);
    expect(await (await second.request("/b/late")).text()).toBe("taken");
  });

  it("A route that is added after the start is refused", async () => {
    const app = new App();
    await app.start();
    expect(() => app.get("/late", () => "")).toThrow("comes too late: the application has been started");
    expect(() => app.use({ before() {} })).toThrow("too late");
    expect(() => app.addGuard(() => true)).toThrow("too late");
    expect(() => app.registerSingleton("x", 1)).toThrow("too late");
    expect(() => app.enableLogging()).toThrow("too late");
    expect(() => app.onEvent("startup", () => {})).toThrow("too late");
    expect(() => app.exceptionHandler(Error, () => "")).toThrow("too late");
    expect(() => app.registerBlueprint(new Blueprint("/x"))).toThrow("too late");
  });

  it("Blueprints of a started application refuse new routes and guards, and so do the blueprints inside of them", async () => {
    const inner = new Blueprint("/inner");
    const outer = new Blueprint("/outer").registerBlueprint(inner);
    const app = new App().registerBlueprint(outer);
    await app.start();
    for (const blueprint of [outer, inner]) {
      expect(() => blueprint.get("/late", () => "")).toThrow("registering /late comes too late");
      expect(() => blueprint.use({ before() {} })).toThrow("use() comes too late");
      expect(() => blueprint.addGuard(() => true)).toThrow("addGuard() comes too late");
      expect(() => blueprint.registerBlueprint(new Blueprint("/x"))).toThrow("registerBlueprint() comes too late");
    }
  });
});

describe("results of handlers", () => {
  const app = new App();
  const results: Record<string, unknown> = {
    object: { a: 1 },
    array: [1, "two"],
    number: 42,
    boolean: false,
    null: null,
    string: "text",
    bytes: new Uint8Array([1, 2, 3]),
    undefined: undefined,
    ours: new Response("ours", { status: 201, headers: { "X-A": "b" } }),
    class: new (class Point {
      x = 1;
      toJSON() {
        return { point: this.x };
      }
    })(),
    date: new Date(0),
    bigints: { id: 2n ** 63n, list: [1n] },
  };
  for (const [name, value] of Object.entries(results)) app.get(`/${name}`, () => value);
  app.get("/web", () => new globalThis.Response("web", { status: 202, headers: { "content-type": "text/css" } }));
  app.get("/iterable", async function* () {
    yield "one,";
    yield new TextEncoder().encode("two");
  });
  app.get("/stream", () => new Blob(["from a blob"], { type: "text/x" }).stream());
  app.get("/blob", () => new Blob(["blob"], { type: "text/x" }));
  app.get("/function", () => () => 1);
  app.get("/bigint", () => 1n);
  app.get("/cycle", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    return cycle;
  });
  app.get("/created", { status: 201 }, async () => ({ id: 1 }));
  app.get("/created-nothing", { status: 201 }, () => undefined);

  it.each([
    ["object", 200, "application/json", '{"a":1}'],
    ["array", 200, "application/json", '[1,"two"]'],
    ["number", 200, "application/json", "42"],
    ["boolean", 200, "application/json", "false"],
    ["null", 200, "application/json", "null"],
    ["string", 200, "text/plain; charset=utf-8", "text"],
    ["bytes", 200, "application/octet-stream", "\x01\x02\x03"],
    ["undefined", 204, null, ""],
    ["ours", 201, "text/plain; charset=utf-8", "ours"],
    ["class", 200, "application/json", '{"point":1}'],
    ["date", 200, "application/json", '"1970-01-01T00:00:00.000Z"'],
    ["bigints", 200, "application/json", '{"id":"9223372036854775808","list":["1"]}'],
    ["web", 202, "text/css", "web"],
    ["iterable", 200, "application/octet-stream", "one,two"],
    ["stream", 200, "application/octet-stream", "from a blob"],
    ["blob", 200, "text/x", "blob"],
    ["created", 201, "application/json", '{"id":1}'],
    ["created-nothing", 201, null, ""],
  ])("A handler's result of kind %s becomes %i %s", async (path, status, type, body) => {
    const response = await app.request(`/${path}`);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe(type);
    expect(await response.text()).toBe(body);
  });

  it.each(["function", "bigint", "cycle"])("A handler's result of kind %s is a 500 response", async (path) => {
    const response = await app.request(`/${path}`);
    expect(response.status).toBe(500);
  });
});

describe("requests without a route", () => {
  const app = new App();
  app.get("/books", () => []);
  app.post("/books", () => []);
  app.websocket("/live", () => {});

  it("A path without a route is a 404 problem that does not repeat the path", async () => {
    const response = await app.request("/nope?x=1");
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toEqual({
      type: "/errors/not-found",
      title: "Not Found",
      status: 404,
      detail: "There is nothing at this address.",
      error: "Not Found",
    });
  });

  it("A path with routes for other methods is 405 with Allow", async () => {
    const response = await app.request("/books", { method: "DELETE" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST");
    expect(await response.json()).toMatchObject({ title: "Method Not Allowed", status: 405 });
  });

  it("A path with only a WebSocket route is 426", async () => {
    const response = await app.request("/live");
    expect(response.status).toBe(426);
    expect(response.headers.get("upgrade")).toBe("websocket");
  });

  it("A malformed path is a 400 response", async () => {
    expect((await app.request("/books/%zz")).status).toBe(400);
  });

  it("The middleware of the application sees requests without a route", async () => {
    const other = new App();
    other.use({ after: (_request, response) => void response.header("X-Seen", "yes") });
    const response = await other.request("/nope");
    expect(response.status).toBe(404);
    expect(response.headers.get("x-seen")).toBe("yes");
  });
});

describe("blueprints", () => {
  it("Blueprints add their prefix, middleware and guards to their routes, also nested ones", async () => {
    const order: string[] = [];
    const trace = (name: string) => ({ before: () => void order.push(name) });
    const guard = (name: string) => () => order.push(name) > 0;
    const inner = new Blueprint("/books/{id}", { middleware: [trace("inner")], guards: [guard("inner guard")] });
    inner.get("/pages/{page}", { guards: [guard("route guard")], middleware: [trace("route")] }, (request) => ({
      ...request.params,
    }));
    const outer = new Blueprint("/api/v1", { tags: ["v1"] });
    outer.use(trace("outer")).addGuard(guard("outer guard"));
    outer.registerBlueprint(inner);
    const app = new App();
    app.registerBlueprint(outer).use(trace("app")).addGuard(guard("app guard"));
    const response = await app.request("/api/v1/books/7/pages/9");
    expect(await response.json()).toEqual({ id: "7", page: "9" });
    expect(order).toEqual(["app", "outer", "inner", "route", "app guard", "outer guard", "inner guard", "route guard"]);
  });

  it("Routes and middleware added to a registered blueprint are used", async () => {
    const app = new App();
    const blueprint = new Blueprint("/late");
    app.registerBlueprint(blueprint);
    blueprint.get("/x", () => "late").use({ after: (_r, response) => void response.header("X-Late", "1") });
    const response = await app.request("/late/x");
    expect(await response.text()).toBe("late");
    expect(response.headers.get("x-late")).toBe("1");
  });

  it("The route '/' of a blueprint is at its prefix", async () => {
    const app = new App();
    app.registerBlueprint(new Blueprint("/api").get("/", () => "root"));
    expect(await (await app.request("/api")).text()).toBe("root");
    expect((await app.request("/api/")).status).toBe(404);
  });

  it("A blueprint can serve several applications", async () => {
    const blueprint = new Blueprint("/b").get("/", () => "b");
    const apps = [new App(), new App()];
    for (const app of apps) app.registerBlueprint(blueprint);
    for (const app of apps) expect((await app.request("/b")).status).toBe(200);
  });

  it("A blueprint cannot be registered twice, inside itself or with colliding routes", () => {
    const app = new App();
    const a = new Blueprint("/a");
    const b = new Blueprint("/b");
    a.registerBlueprint(b);
    expect(() => b.registerBlueprint(a)).toThrow("cannot be registered inside itself");
    expect(() => a.registerBlueprint(a)).toThrow("cannot be registered inside itself");
    app.registerBlueprint(a);
    expect(() => app.registerBlueprint(a)).toThrow("registered already");
    app.registerBlueprint(new Blueprint("/c").get("/x", () => 1));
    expect(() => app.registerBlueprint(new Blueprint("/c").get("/x", () => 2))).toThrow(
      "GET /c/x is registered already",
    );
    expect(() => new Blueprint("c")).toThrow("begins with '/'");
    expect(() => new Blueprint("/c", { tag: ["x"] } as never)).toThrow("did you mean 'tags'?");
    expect(() => app.registerBlueprint({} as never)).toThrow("registerBlueprint takes a Blueprint");
  });
});
