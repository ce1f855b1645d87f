import { connect } from "node:net";
import {
  App,
  Blueprint,
  Depends,
  ForbiddenError,
  GuardError,
  type Middleware,
  type Request,
  Response,
  UnauthorizedError,
} from "stoa";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { type Answer, exchange, served, transports } from "./support.js";

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

describe.each(transports)("the contract over %s", (transport) => {
  describe("routes", () => {
    const { call, get } = served(() => {
      const app = new App();
      for (const method of ["get", "post", "put", "patch", "delete", "options", "head"] as const) {
        app[method](`/${method}`, (request) => Response.text(request.method));
      }
      app.route("/several", { methods: ["GET", "POST"] }, (request) => request.method);
      app.route("/default", (request) => request.method);
      app.get("/books/{id}/pages/{page}", (request) => request.params);
      app.get("/sync", () => ({ dict: true }));
      app.get("/async", async () => ({ dict: true }));
      app.register_blueprint(new Blueprint("/api/v1").get("/books", () => "blueprint"));
      return app;
    }, transport);

    it.each(["get", "post", "put", "patch", "delete", "options"])(
      "A route of app.%s responds to its method",
      async (method) => {
        const answer = await call(`/${method}`, { method: method.toUpperCase() });
        expect([answer.status, answer.text]).toEqual([200, method.toUpperCase()]);
      },
    );

    it("A route of app.head responds to HEAD, without a body", async () => {
      const answer = await call("/head", { method: "HEAD" });
      expect([answer.status, answer.text, answer.headers.get("content-length")]).toEqual([200, "", "4"]);
    });

    it("A HEAD request to a GET route gets a response without its body", async () => {
      const answer = await call("/get", { method: "HEAD" });
      expect([answer.status, answer.text]).toEqual([200, ""]);
      expect((await get("/get")).text).toBe("GET");
    });

    it("A route of app.route responds to its methods, GET by default", async () => {
      expect((await call("/several", { method: "POST" })).text).toBe("POST");
      expect((await call("/several", { method: "PUT" })).status).toBe(405);
      expect((await call("/default")).text).toBe("GET");
      expect((await call("/default", { method: "POST" })).status).toBe(405);
    });

    it("A segment in braces is a parameter in request.params, always a string", async () => {
      expect((await get("/books/7/pages/12")).json).toEqual({ id: "7", page: "12" });
    });

    it("A dict from a sync or async handler is sent as JSON", async () => {
      for (const path of ["/sync", "/async"]) {
        const answer = await get(path);
        expect(answer.headers.get("content-type")).toBe("application/json");
        expect(answer.json).toEqual({ dict: true });
      }
    });

    it("A blueprint's routes are under its prefix", async () => {
      expect((await get("/api/v1/books")).text).toBe("blueprint");
      expect((await get("/books")).status).toBe(404);
    });

    it("A request gets 404 without a matching route, and 405 with Allow for another method", async () => {
      const missing = await get("/nowhere");
      expect([missing.status, missing.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
      expect(missing.json).toEqual({
        type: "/errors/not-found",
        title: "Not Found",
        status: 404,
        detail: expect.any(String),
        error: "Not Found",
      });
      const wrong = await call("/sync", { method: "DELETE" });
      expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect(wrong.json).toMatchObject({ title: "Method Not Allowed", error: "Method Not Allowed", status: 405 });
    });
  });

  describe("the request object", () => {
    const { call, get, post } = served(() => {
      const app = new App();
      app.use({ before: (request) => void (request.context["tenant"] = "acme") });
      app.state["greeting"] = "hello";
      app.get("/members/{id}", (request) => ({
        method: request.method,
        params: request.params,
        q: request.query.get("q"),
        missing: request.query.get("missing") ?? "none",
        all: request.query.getAll("q"),
        header: request.headers.get("X-CUSTOM"),
        cookie: request.cookies.get("c"),
        context: request.context["tenant"],
        state: request.app.state["greeting"],
        path: request.path,
        ip: request.ip,
        pattern: request.pattern,
      }));
      app.post("/json", (request) => ({ got: request.json() }));
      app.post("/text", (request) => request.text());
      app.post("/form", (request) => request.form().toJSON());
      return app;
    }, transport);

    it("The request object has the members of the contract", async () => {
      const answer = await call("/members/a%20b?q=1&q=two+words%21", {
        headers: { "x-custom": "v", cookie: "c=1; d=2" },
      });
      expect(answer.json).toEqual({
        method: "GET",
        params: { id: "a b" },
        q: "1",
        missing: "none",
        all: ["1", "two words!"],
        header: "v",
        cookie: "1",
        context: "acme",
        state: "hello",
        path: "/members/a%20b",
        ip: "127.0.0.1",
        pattern: "/members/{id}",
      });
    });

    it("request.json() parses the body, of any size, with any characters", async () => {
      const value = { text: "žluťoučký 🐎", list: Array.from({ length: 20_000 }, (_, i) => `item ${i}`) };
      expect((await post("/json", value)).json).toEqual({ got: value });
    });

    it.each([
      ["malformed JSON", "{"],
      ["an empty body", ""],
      ["trailing data", '{"a":1} {"b":2}'],
      ["129 levels", "[".repeat(129) + "]".repeat(129)],
      ["a key that pollutes", '{"__proto__": {"admin": true}}'],
      ["the same key escaped", '{"\\u005f_proto__": {"admin": true}}'],
    ])("The body with %s is 400, and the response shows nothing of it", async (_name, body) => {
      const answer = await post("/json", body);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ title: "Bad Request", error: "Bad Request", status: 400 });
      expect(answer.text).not.toContain("admin");
    });

    it("A JSON body of 128 levels is accepted, and brackets in strings do not count", async () => {
      expect((await post("/json", "[".repeat(128) + "]".repeat(128))).status).toBe(200);
      expect((await post("/json", { s: "[".repeat(1000) })).status).toBe(200);
    });

    it("A JSON body with invalid UTF-8 is 400", async () => {
      for (const bytes of [
        [0x22, 0xff, 0x22],
        [0x22, 0xc0, 0xaf, 0x22],
        [0x22, 0xed, 0xa0, 0x80, 0x22],
        [0x22, 0xe2, 0x82],
      ]) {
        const answer = await call("/json", { method: "POST", body: new Uint8Array(bytes) });
        expect(answer.status).toBe(400);
      }
    });

    it("A body is parsed as JSON whatever its content type", async () => {
      for (const type of [
        "text/plain",
        "application/json garbage",
        "application/x-www-form-urlencoded",
        "application/json; charset=utf-8",
        "application/vnd.api+json",
      ]) {
        const answer = await call("/json", { method: "POST", body: "{}", headers: { "content-type": type } });
        expect([type, answer.status]).toEqual([type, 200]);
      }
    });

    it("Forms are read, url-encoded and multipart", async () => {
      expect((await call("/form", { method: "POST", body: new URLSearchParams({ a: "1 2", b: "&" }) })).json).toEqual({
        a: "1 2",
        b: "&",
      });
      const form = new FormData();
      form.set("a", "ä");
      form.set("file", new Blob(["content"]), "f.txt");
      expect((await call("/form", { method: "POST", body: form })).json).toMatchObject({ a: "ä" });
    });

    it("A query of many pairs and odd names does no harm", async () => {
      const many = Array.from({ length: 1000 }, (_, i) => `k${i}=v`).join("&");
      expect((await get(`/members/1?${many}&__proto__[x]=1&q=last`)).json.q).toBe("last");
    });
  });

  describe("the response object", () => {
    const { get } = served(() => {
      const app = new App();
      app.logger = quiet;
      app.get("/plain", () => new Response("made", { status: 201 }));
      app.get("/json", () => Response.json({ a: 1 }, { status: 202 }));
      app.get("/json-status", () => Response.json({ a: 1 }, 203));
      app.get("/none", () => Response.noContent());
      app.get("/none-too", () => Response.no_content());
      app.get("/found", () => Response.redirect("/elsewhere"));
      app.get("/moved", () => Response.redirect("/elsewhere", 301));
      app.get("/cookies", () => Response.text("x").cookie("a", "1").cookie("b", "2", { httpOnly: true }));
      app.get("/inject", (request) => Response.redirect(request.query.get("to") ?? ""));
      app.get("/header", (request) => Response.text("x").header("X-Echo", request.query.get("v") ?? ""));
      app.get("/stream", async function* () {
        for (let i = 0; i < 3; i++) yield `${i};`;
      });
      app.get("/sse", () =>
        Response.sse(
          (async function* () {
            yield { event: "tick", id: "1", data: { n: 1 } };
            yield "two\nlines";
          })(),
        ),
      );
      return app;
    }, transport);

    const brief = (answer: Answer) => [answer.status, answer.headers.get("content-type"), answer.text];

    it("A response is made by its constructor and helpers", async () => {
      expect(brief(await get("/plain"))).toEqual([201, "text/plain; charset=utf-8", "made"]);
      expect(brief(await get("/json"))).toEqual([202, "application/json", '{"a":1}']);
      expect(brief(await get("/json-status"))).toEqual([203, "application/json", '{"a":1}']);
      expect(brief(await get("/none"))).toEqual([204, null, ""]);
      expect(brief(await get("/none-too"))).toEqual([204, null, ""]);
    });

    it("A redirect has status 302, or 301", async () => {
      for (const [path, status] of [
        ["/found", 302],
        ["/moved", 301],
      ] as const) {
        const answer = await get(path);
        expect([answer.status, answer.headers.get("location")]).toEqual([status, "/elsewhere"]);
      }
    });

    it("Several cookies are sent as several headers", async () => {
      const cookies = (await get("/cookies")).headers.getSetCookie();
      expect(cookies).toHaveLength(2);
      expect(cookies[1]).toMatch(/^b=2;.*HttpOnly/);
    });

    it("A value cannot break out of a response header", async () => {
      const redirected = await get("/inject?to=%2Fx%0d%0aSet-Cookie:%20evil=1");
      expect(redirected.headers.getSetCookie()).toEqual([]);
      expect(redirected.headers.get("location")).toBe("/x%0D%0ASet-Cookie:%20evil=1");
      const unicode = await get(`/inject?to=/x${encodeURIComponent("嘍嘊")}Set-Cookie:evil=1`);
      expect([unicode.status, unicode.headers.getSetCookie()]).toEqual([302, []]);
      const split = await get("/header?v=a%0d%0aX-Evil:%201");
      expect([split.status, split.headers.get("x-evil")]).toEqual([500, null]);
      expect((await get("/header?v=fine")).headers.get("x-echo")).toBe("fine");
    });

    it("A streamed response is sent in chunks", async () => {
      const answer = await get("/stream");
      expect([answer.text, answer.headers.get("transfer-encoding")]).toEqual(["0;1;2;", "chunked"]);
    });

    it("Server-sent events are sent with their names and data", async () => {
      const answer = await get("/sse");
      expect(answer.headers.get("content-type")).toContain("text/event-stream");
      expect(answer.text).toContain("event: tick\n");
      expect(answer.text).toContain('data: {"n":1}\n');
      expect(answer.text).toContain("data: two\ndata: lines\n\n");
    });
  });

  describe("state, dependencies, guards, hooks", () => {
    const order: string[] = [];
    const { get, start } = served(() => {
      const app = new App();
      app.logger = quiet;
      app.on_event("startup", () => {
        app.state["started"] = true;
        order.push("startup");
      });
      app.on_event("shutdown", async () => void order.push("shutdown"));
      app.register_singleton("config", { name: "stoa" });
      app.get("/inject", { inject: { config: Depends<{ name: string }>("config") } }, (request, { config }) => ({
        name: config.name,
        started: request.app.state["started"],
      }));
      app.get("/guard/401", { guards: [deny(new UnauthorizedError("who are you"))] }, () => "in");
      app.get("/guard/403", { guards: [deny(new ForbiddenError("not you"))] }, () => "in");
      app.get("/guard/ok", { guards: [() => true, { check: async () => true }] }, () => "in");
      return app;
    }, transport);

    it("Startup hooks have run when requests arrive, and singletons are injected", async () => {
      expect((await get("/inject")).json).toEqual({ name: "stoa", started: true });
    });

    it("A failing guard is 401 or 403 as a problem", async () => {
      for (const [status, title, detail] of [
        [401, "Unauthorized", "who are you"],
        [403, "Forbidden", "not you"],
      ] as const) {
        const answer = await get(`/guard/${status}`);
        expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
        expect(answer.json).toMatchObject({ title, detail, status, error: title });
      }
      expect((await get("/guard/ok")).text).toBe("in");
    });

    it("Errors of guards have the contract's ancestry and members", () => {
      const error = new ForbiddenError("no");
      expect(error).toBeInstanceOf(GuardError);
      expect(new UnauthorizedError()).toBeInstanceOf(GuardError);
      expect([error.status_code, error.statusCode, error.message]).toEqual([403, 403, "no"]);
    });

    it("Shutdown hooks run when the server stops", async () => {
      await (await start()).close();
      expect(order).toEqual(["startup", "shutdown"]);
    });
  });

  describe.each([
    ["development", true],
    ["production", false],
  ])("errors in %s", (_env, debug) => {
    class CustomError extends Error {}
    const { get, call } = served(
      () => {
        const app = new App();
        app.logger = quiet;
        const outer: Middleware = { after: (_request, response) => void response.header("X-Outer", "yes") };
        app.use(outer);
        app.get("/sync", () => {
          throw new RangeError("of rows <b>");
        });
        app.get("/async", async () => {
          throw new RangeError("of rows <b>");
        });
        app.get("/custom", () => {
          throw new (class extends CustomError {})("mine");
        });
        app.exception_handler(CustomError, (request: Request, error: Error) =>
          Response.json({ custom: error.message, path: request.path }, 418),
        );
        app.get("/slow", { timeout: 0.05 }, () => new Promise(() => {}));
        app.post("/validated", { body: z.object({ n: z.number() }) }, (_request, { body }) => body);
        return app;
      },
      transport,
      { debug },
    );

    it("An unhandled exception is 500 with the body of the contract", async () => {
      for (const [path, kind] of [
        ["/sync", "Handler"],
        ["/async", "Async handler"],
      ]) {
        const answer = await get(path!);
        expect(answer.status).toBe(500);
        const error = debug ? `${kind} error: RangeError: of rows <b>` : "Internal Server Error";
        expect(answer.json).toEqual({ error, status: 500 });
        expect(answer.headers.get("x-outer")).toBe("yes");
      }
    });

    it("A browser gets an error page in development and only the generic response in production", async () => {
      const answer = await call("/sync", {
        headers: { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" },
      });
      expect(answer.status).toBe(500);
      if (debug) {
        expect(answer.headers.get("content-type")).toContain("text/html");
        expect(answer.text).toContain("RangeError");
        expect(answer.text).not.toContain("of rows <b>");
      } else {
        expect(answer.json).toEqual({ error: "Internal Server Error", status: 500 });
      }
    });

    it("An exception handler responds for a class and its descendants", async () => {
      const answer = await get("/custom");
      expect([answer.status, answer.json]).toEqual([418, { custom: "mine", path: "/custom" }]);
    });

    it("A handler that takes too long is 504", async () => {
      const answer = await get("/slow");
      expect([answer.status, answer.json.title]).toEqual([504, "Gateway Timeout"]);
    });

    it("Input that breaks its schema is 422 with loc, msg and type", async () => {
      const answer = await call("/validated", {
        method: "POST",
        body: '{"n":"secret input"}',
        headers: { "content-type": "application/json" },
      });
      expect(answer.status).toBe(422);
      expect(answer.json).toEqual({
        detail: [{ loc: ["body", "n"], msg: expect.any(String), type: expect.any(String) }],
      });
      expect(answer.text).not.toContain("secret input");
    });
  });

  describe("work after the response", () => {
    const gone: string[] = [];
    let release: () => void = () => {};
    const { get, start } = served(() => {
      const app = new App();
      app.registerScoped(
        "session",
        { dispose: (name: string) => void gone.push(name) },
        (request: Request) => request.path,
      );
      const inject = { session: Depends<string>("session") };
      app.get("/sync", { inject }, () => "sync");
      app.get("/async", { inject }, async () => "async");
      app.get("/late", { inject, timeout: 0.02 }, () => new Promise<void>((resolve) => (release = resolve)));
      app.get("/left", { inject }, (request) => {
        request.signal.addEventListener("abort", () => gone.push("aborted"));
        return new Promise<void>((resolve) => (release = resolve));
      });
      app.get("/stream", { inject }, async function* () {
        yield "a";
        yield String(gone.length);
      });
      return app;
    }, transport);
    const until = (name: string) => vi.waitFor(() => expect(gone).toContain(name), { timeout: 5000 });

    it("Scoped values are disposed once, after the response has been sent", async () => {
      for (const path of ["/sync", "/async"]) {
        gone.length = 0;
        await get(path);
        await until(path);
        expect(gone).toEqual([path]);
      }
    });

    it("Scoped values are disposed after the last piece of a stream", async () => {
      gone.length = 0;
      expect((await get("/stream")).text).toBe("a0");
      await until("/stream");
    });

    it("Scoped values are disposed after a late handler, and after one whose client has disconnected", async () => {
      gone.length = 0;
      expect((await get("/late")).status).toBe(504);
      expect(gone).toEqual([]);
      release();
      await until("/late");
      gone.length = 0;
      const socket = connect((await start()).address.port, "127.0.0.1");
      const releaseBefore = release;
      socket.write("GET /left HTTP/1.1\r\nHost: x\r\n\r\n");
      await vi.waitFor(() => expect(release).not.toBe(releaseBefore), { timeout: 5000 });
      socket.destroy();
      await until("aborted");
      expect(gone).toEqual(["aborted"]);
      release();
      await until("/left");
    });
  });

  describe("limits", () => {
    const { call, start } = served(() => {
      const app = new App();
      app.post("/small", { body_limit: 10 }, (request) => request.text());
      app.post("/default", (request) => String(request.bytes().length));
      return app;
    }, transport);

    it("A body over the limit is 413 as a problem, chunked or not", async () => {
      const declared = await call("/small", { method: "POST", body: "x".repeat(11) });
      expect([declared.status, declared.json.title]).toEqual([413, "Payload Too Large"]);
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(6));
          controller.enqueue(new Uint8Array(6));
          controller.close();
        },
      });
      const chunked = await call("/small", { method: "POST", body, duplex: "half" } as RequestInit);
      expect(chunked.status).toBe(413);
      expect((await call("/small", { method: "POST", body: "x".repeat(10) })).status).toBe(200);
    });

    it("The default body limit is 10 MiB", async () => {
      const size = 10_485_760;
      expect((await call("/default", { method: "POST", body: new Uint8Array(size) })).text).toBe(String(size));
      // Not a byte of the body is sent: the answer comes before it is read.
      const answer = await exchange(
        (await start()).address.port,
        `POST /default HTTP/1.1\r\nHost: x\r\nContent-Length: ${size + 1}\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 413 /);
      expect(answer).toMatch(/\r\nConnection: close\r\n/i);
    });
  });
});

function deny(error: Error) {
  return () => {
    throw error;
  };
}
