import { App, Depends, Response } from "stoa";
import { testClient, WebSocketRefusedError } from "stoa/testing";
import { describe, expect, it } from "vitest";

describe("a test client's requests", () => {
  it("Rate limits of the application and of routes can be turned off before the start", async () => {
    const limited = (): App => {
      const app = new App();
      app.enableRateLimit({ maxRequests: 1, windowSecs: 60 });
      app.get("/", () => "hello");
      app.get("/login", { rateLimit: { maxRequests: 1, windowSecs: 60 } }, () => "hello");
      return app;
    };
    const statuses = async (options: object): Promise<number[]> => {
      await using client = testClient(limited(), options);
      const found: number[] = [];
      for (const path of ["/", "/", "/login", "/login"]) found.push((await client.get(path)).status);
      return found;
    };
    expect(await statuses({})).toEqual([200, 429, 200, 429]);
    expect(await statuses({ rateLimits: false })).toEqual([200, 200, 200, 200]);
    const app = limited();
    await using _client = await testClient(app).start();
    expect(() => testClient(app, { rateLimits: false })).toThrow("comes too late");
  });

  it("A handler that takes longer than requestTimeout gets 504", async () => {
    const app = new App().get("/", () => new Promise<never>(() => {}));
    app.logger = silent;
    await using client = testClient(app, { requestTimeout: "10ms" });
    expect((await client.get("/")).status).toBe(504);
  });

  it("A stream that the client cancels ends without an error in the log", async () => {
    const app = new App();
    const errors: unknown[] = [];
    app.logger = { ...silent, error: (...given: unknown[]) => void errors.push(given) };
    let ended = 0;
    const endless = async function* () {
      try {
        for (;;) {
          yield { data: "x" };
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      } finally {
        ended++;
      }
    };
    app.get("/", () => Response.sse(endless()));
    await using client = testClient(app);
    for (const cancelled of [1, 2, 3]) {
      const reader = (await client.get("/")).body!.getReader();
      for (let read = 0; read < cancelled; read++) await reader.read();
      await reader.cancel();
      await expect.poll(() => ended).toBe(cancelled);
    }
    expect(errors).toEqual([]);
  });

  it("A test client has a method for each HTTP method", async () => {
    const app = new App();
    app.route("/", { methods: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] }, (request) => request.method);
    await using client = testClient(app);
    for (const method of ["get", "post", "put", "patch", "delete", "options"] as const) {
      expect(await (await client[method]("/")).text()).toBe(method.toUpperCase());
    }
    const head = await client.head("/");
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
    expect((await client.request("/", { method: "PUT" })).status).toBe(200);
    expect((await client.get("/nowhere")).status).toBe(404);
  });

  it("A test client sends JSON, forms, a query, headers and cookies", async () => {
    const app = new App();
    app.post("/json", (request) => ({ got: request.json(), type: request.headers.get("content-type") }));
    app.post("/form", (request) => ({ names: request.form().getAll("name"), age: request.form().get("age") }));
    app.get("/echo", (request) => ({
      query: request.query,
      header: request.headers.get("x-test"),
      common: request.headers.get("x-common"),
      cookies: request.cookies,
      url: request.url,
    }));
    await using client = testClient(app, { headers: { "X-Common": "yes" }, baseUrl: "http://books.example" });
    expect(await (await client.post("/json", { json: { a: 1 } })).json()).toEqual({
      got: { a: 1 },
      type: "application/json",
    });
    expect(await (await client.post("/form", { form: { name: ["Ursula", "Le Guin"], age: 88 } })).json()).toEqual({
      names: ["Ursula", "Le Guin"],
      age: "88",
    });
    const multipart = new FormData();
    multipart.set("name", "x");
    expect(await (await client.post("/form", { form: multipart })).json()).toMatchObject({ names: ["x"] });
    const init = { query: { page: 2, tag: ["a", "b"] }, headers: { "X-Test": "1" }, cookies: { theme: "dark blue" } };
    expect(await (await client.get("/echo?q=x", init)).json()).toEqual({
      query: { q: "x", page: "2", tag: ["a", "b"] },
      header: "1",
      common: "yes",
      cookies: { theme: "dark blue" },
      url: "http://books.example/echo?q=x&page=2&tag=a&tag=b",
    });
  });

  it("A test client refuses a misspelt option", () => {
    expect(() => testClient(new App(), { keepCookie: false } as never)).toThrow(
      "unknown option 'keepCookie' in TestClient; did you mean 'keepCookies'?",
    );
  });

  it("A test client refuses invalid requests", async () => {
    const client = testClient(new App());
    await expect(client.get("books")).rejects.toThrow(`a path begins with '/', "books" does not`);
    await expect(client.post("/", { json: 1, body: "x" })).rejects.toThrow(
      "a request has one body, but 'json' and 'body' are given",
    );
  });

  it.each<[call: "get" | "head" | "post" | "put" | "patch" | "delete" | "options", given: unknown, message: string]>([
    ["get", { headrs: {} }, "unknown option 'headrs' in get(); did you mean 'headers'?"],
    ["post", { jsn: {} }, "unknown option 'jsn' in post(); did you mean 'json'?"],
    ["put", { jason: {} }, "unknown option 'jason' in put(); did you mean 'json'?"],
    ["patch", { forms: {} }, "unknown option 'forms' in patch(); did you mean 'form'?"],
    ["delete", { cookie: {} }, "unknown option 'cookie' in delete(); did you mean 'cookies'?"],
    ["head", { querry: {} }, "unknown option 'querry' in head(); did you mean 'query'?"],
    ["options", { headers: "x" }, "option 'headers' in options() must be an object, not \"x\""],
    [
      "post",
      { form: [["a", "b"]] },
      "option 'form' in post() must be an object of names and values, URLSearchParams or",
    ],
    ["get", { query: new URLSearchParams("a=b") }, "option 'query' in get() must be an object of names and values"],
    ["get", { cookies: new Map([["a", "b"]]) }, "option 'cookies' in get() must be an object of names and values"],
    ["get", { signal: new AbortController() }, "option 'signal' in get() must be an AbortSignal: write controller.sig"],
    ["post", "text", 'post() takes an object of options, not "text"'],
  ])("%s() of a test client with %j is refused, and no request is sent", async (call, given, message) => {
    let requests = 0;
    const app = new App().use((_request, next) => {
      requests++;
      return next();
    });
    await using client = testClient(app);
    const error: unknown = await client[call]("/", given as never).catch((reason: unknown) => reason);
    expect((error as Error).message).toContain(message);
    expect((error as Error).stack).toContain("test-client.test.ts");
    expect(requests).toBe(0);
  });

  it("A request of a test client takes the options of fetch, and null counts as not given, except as JSON", async () => {
    const app = new App();
    app.post("/", (request) => ({ text: request.text(), type: request.headers.get("content-type") ?? null }));
    await using client = testClient(app);
    const none = { headers: null, body: null, form: null, query: null, cookies: null, signal: null, duplex: null };
    expect(await (await client.post("/", none as never)).json()).toEqual({ text: "", type: null });
    expect(await (await client.post("/", null as never)).json()).toEqual({ text: "", type: null });
    expect(await (await client.post("/", { json: null })).json()).toEqual({ text: "null", type: "application/json" });
    const { signal } = new AbortController();
    const all = { cache: "no-store", priority: "high", redirect: "manual", keepalive: false, mode: "cors", signal };
    const body = new Blob(["streamed"]).stream();
    const sent = await client.request("/", { ...all, method: "POST", body, duplex: "half" } as never);
    expect(await sent.json()).toEqual({ text: "streamed", type: null });
    await expect(client.request("/", { methd: "POST" } as never)).rejects.toThrow(
      "unknown option 'methd' in request(); did you mean 'method'?",
    );
  });

  it("A test client keeps cookies as a browser, unless that is disabled", async () => {
    const make = (): App => {
      const app = new App();
      app.post("/login", () => Response.noContent().cookie("session", "s1", { httpOnly: true }));
      app.post("/logout", () => Response.noContent().clearCookie("session"));
      app.get("/me", (request) => ({ session: request.cookies.get("session") ?? null }));
      return app;
    };
    await using client = testClient(make());
    await client.post("/login");
    expect(client.cookies.get("session")).toBe("s1");
    expect(await (await client.get("/me")).json()).toEqual({ session: "s1" });
    await client.post("/logout");
    expect(await (await client.get("/me")).json()).toEqual({ session: null });
    await using forgetful = testClient(make(), { keepCookies: false });
    await forgetful.post("/login");
    expect(await (await forgetful.get("/me")).json()).toEqual({ session: null });
  });
});

describe("a test client's lifecycle", () => {
  it("A test client runs the lifecycle hooks", async () => {
    const events: string[] = [];
    const app = new App();
    app.onEvent("startup", () => void events.push("startup"));
    app.onEvent("shutdown", () => void events.push("shutdown"));
    app.get("/", () => events.push("request"));
    {
      await using client = await testClient(app).start();
      expect(events).toEqual(["startup"]);
      await client.get("/");
    }
    expect(events).toEqual(["startup", "request", "shutdown"]);
  });

  it("A test client replaces dependencies until it stops", async () => {
    const app = new App();
    app.registerSingleton("mail", { from: "real" });
    app.get("/", { inject: { mail: Depends<{ from: string }>("mail") } }, (_, { mail }) => mail);
    {
      await using client = testClient(app);
      const undo = client.override("mail", { from: "first" });
      expect(await (await client.get("/")).json()).toEqual({ from: "first" });
      undo();
      expect(await (await client.get("/")).json()).toEqual({ from: "real" });
      client.override("mail", { from: "second" });
    }
    expect(await (await app.request("/")).json()).toEqual({ from: "real" });
    expect(() => testClient(app).override("male", {})).toThrow("unknown dependency 'male'; did you mean 'mail'?");
  });

  it("A test client shows or hides errors, as configured", async () => {
    const make = (): App => {
      const app = new App();
      app.logger = silent;
      return app.get("/", () => {
        throw new Error("the detail");
      });
    };
    expect(await (await testClient(make(), { debug: true }).get("/")).text()).toContain("the detail");
    expect(await (await testClient(make(), { debug: false }).get("/")).text()).not.toContain("the detail");
  });
});

describe("a test client's WebSockets", () => {
  const chat = (): App => {
    const app = new App();
    app.use((request, next) => (request.headers.get("x-refuse") ? Response.text("go away", 418) : next()));
    app.websocket("/rooms/{room}", { protocols: ["v1"] }, async (socket) => {
      await socket.sendJson({ room: socket.params.room, user: socket.request.cookies.get("user") ?? null });
      for await (const message of socket) {
        if (message.bytes) await socket.sendBytes(message.bytes);
        else await socket.sendText(`${message.text}!`);
      }
    });
    return app;
  };

  it("A test client's WebSocket reaches the handler without a port", async () => {
    await using client = testClient(chat());
    client.cookies.set("user", "ada");
    const socket = await client.websocket("/rooms/blue?x=1", { protocols: ["v2", "v1"] });
    expect(socket.protocol).toBe("v1");
    expect((await socket.recv())?.json()).toEqual({ room: "blue", user: "ada" });
    await socket.sendText("hello");
    expect((await socket.recv())?.text).toBe("hello!");
    await socket.sendBytes(new Uint8Array([1, 2]));
    expect((await socket.recv())?.bytes).toEqual(Buffer.from([1, 2]));
    expect(await socket.close(3001, "bye")).toEqual({ code: 3001, reason: "bye" });
    expect(await socket.recv()).toBeNull();
  });

  it("A test client's WebSocket carries large messages both ways", async () => {
    await using client = testClient(chat());
    const socket = await client.websocket("/rooms/blue");
    await socket.recv();
    const large = new Uint8Array(900_000).fill(7);
    for (let i = 0; i < 10; i++) void socket.sendBytes(large);
    for (let i = 0; i < 10; i++) expect((await socket.recv())?.bytes?.length).toBe(900_000);
  });

  it("A refused WebSocket of a test client reports how it was refused", async () => {
    await using client = testClient(chat());
    const refused = async (path: string, headers: Record<string, string>): Promise<WebSocketRefusedError> => {
      const error: unknown = await client.websocket(path, { headers }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(WebSocketRefusedError);
      return error as WebSocketRefusedError;
    };
    const teapot = await refused("/rooms/blue", { "X-Refuse": "1" });
    expect(teapot.status).toBe(418);
    expect(teapot.message).toBe("the WebSocket was refused with status 418");
    expect(await teapot.response.text()).toBe("go away");
    const origin = await refused("/rooms/blue", { Origin: "http://evil.example" });
    expect(await origin.response.json()).toMatchObject({ status: 403, type: "/errors/origin-not-allowed" });
    expect((await refused("/nowhere", {})).status).toBe(404);
  });

  it("An option of a WebSocket that is unknown or wrong is refused before the application starts", async () => {
    const app = chat();
    const client = testClient(app);
    const refused = async (init: unknown, message: string): Promise<void> => {
      const error: unknown = await client.websocket("/rooms/blue", init as never).catch((reason: unknown) => reason);
      expect((error as Error).message).toContain(message);
      expect((error as Error).stack).toContain("test-client.test.ts");
    };
    await refused({ protocol: ["v1"] }, "unknown option 'protocol' in websocket(); did you mean 'protocols'?");
    await refused({ protocols: "v1" }, "option 'protocols' in websocket() must be a list of strings, not \"v1\"");
    await refused({ headers: new Headers() }, "option 'headers' in websocket() must be an object of names and values");
    await refused(["v1"], 'websocket() takes an object of options, not ["v1"]');
    expect(app.phase).toBe("new");
    const nothing = { headers: null, cookies: null, protocols: null } as never;
    for (const init of [nothing, null as never]) {
      const socket = await client.websocket("/rooms/blue", init);
      expect((await socket.recv())?.json()).toEqual({ room: "blue", user: null });
      await socket.close();
    }
    await client.stop();
  });

  it("A test client closes its WebSockets with 1001 when it stops, before the shutdown hooks run", async () => {
    const events: unknown[] = [];
    const app = new App();
    app.onEvent("shutdown", () => void events.push("shutdown"));
    app.websocket("/", async (socket) => {
      await socket.recv();
      await new Promise((resolve) => setTimeout(resolve, 20));
      events.push("handler done");
    });
    const client = testClient(app);
    const socket = await client.websocket("/");
    await client.stop();
    expect(await socket.closed).toEqual({ code: 1001, reason: "" });
    expect(events).toEqual(["handler done", "shutdown"]);
  });
});

const silent = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silent,
};
