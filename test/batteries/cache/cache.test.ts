import { App, Blueprint, Response } from "stoa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { pass, stopClock } from "../clock.js";
import { wire } from "../support.js";
import { ask, CountedApp, seen, silent } from "./cached-app.js";

afterEach(() => vi.useRealTimers());

describe("the response cache", () => {
  it("A response is reused for 300 seconds, with its age, and then made again", async () => {
    stopClock();
    const { app } = new CountedApp().page("/a");
    app.enableCaching();
    expect(await ask(app, "/a")).toBe("MISS /a 1");
    pass(299.5);
    const hit = await app.request("/a");
    expect([hit.headers.get("x-cache"), hit.headers.get("age"), await hit.text()]).toEqual(["HIT", "299", "/a 1"]);
    expect(hit.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    pass(0.5);
    expect(await ask(app, "/a")).toBe("MISS /a 2");
  });

  it("enable_caching() accepts ttl, methods and excluded paths in the contract's order", async () => {
    stopClock();
    const { app } = new CountedApp().page("/a").page("/b");
    app.enable_caching(10, ["get"], ["/b"]);
    await ask(app, "/a");
    expect(await ask(app, "/a")).toBe("HIT /a 1");
    expect(await ask(app, "/a", {}, "HEAD")).toBe("BYPASS");
    expect(await ask(app, "/b")).toBe("BYPASS /b 1");
    pass(10);
    expect(await ask(app, "/a")).toBe("MISS /a 3");
  });

  it("Cached bodies of every kind are sent unchanged over the wire", async () => {
    const app = new App().enableCaching();
    const bytes = new Uint8Array([0, 255, 128]);
    app
      .get("/json", () => ({ text: "grün" }))
      .get("/bytes", () => bytes)
      .get("/none", () => undefined);
    app.get("/moved", () => Response.redirect("/json", 301));
    await using server = await wire(app);
    for (const path of ["/json", "/bytes", "/none", "/moved"]) {
      const [first, second] = [await server.send(path), await server.send(path)];
      expect([first.get("x-cache"), second.get("x-cache")], path).toEqual(["MISS", "HIT"]);
      expect(second.body).toEqual(first.body);
      for (const name of ["content-type", "content-length", "location"]) expect(second.get(name)).toBe(first.get(name));
      expect(second.status).toBe(first.status);
      bytes.fill(7);
    }
  });

  it("Middleware that changes a cached response does not change the cache", async () => {
    const { app } = new CountedApp().page("/a");
    let count = 0;
    app.use({ after: (_request, response) => void response.header("X-Count", ++count).cookie("n", String(count)) });
    app.enableCaching();
    for (let i = 1; i <= 3; i++) {
      const response = await app.request("/a");
      expect(response.headers.get("x-count")).toBe(String(i));
      expect(response.headers.getSetCookie()).toHaveLength(1);
    }
  });
});

describe("responses and headers that are never cached", () => {
  const cases: [string, () => unknown][] = [
    ["Set-Cookie", () => new Response("x").cookie("a", "b")],
    ["private", () => new Response("x", { headers: { "Cache-Control": "Private" } })],
    ["no-store", () => new Response("x", { headers: { "Cache-Control": "max-age=60 ,NO-STORE" } })],
    ["no-cache", () => new Response("x", { headers: { "cache-control": 'no-cache="x-a"' } })],
    ["a quote that never ends", () => new Response("x", { headers: { "Cache-Control": 'max-age=60, a="b' } })],
    ["Vary: *", () => new Response("x", { headers: { Vary: "accept ,  *" } })],
    ["201", () => new Response("x", 201)],
    ["206", () => new Response("x", { status: 206, headers: { "Content-Range": "bytes 0-0/9" } })],
    ["302 without a lifetime", () => Response.redirect("/x")],
    ["404 without a lifetime", () => new Response("x", 404)],
    ["500 without a lifetime", () => new Response("x", 500)],
    ["304", () => new Response(null, { status: 304, headers: { "Cache-Control": "max-age=60" } })],
    [
      "a stream",
      () =>
        Response.stream(
          (async function* () {
            yield "x";
          })(),
        ),
    ],
    ["more than the largest entry", () => new Response("x".repeat(2000))],
    [
      "a type that is longer than the largest entry",
      () => new Response("x", { headers: { "Content-Type": `text/plain; a=${"x".repeat(2000)}` } }),
    ],
  ];
  it.each(cases)("A response of this kind is never cached: %s", async (_name, handler) => {
    let runs = 0;
    const app = new App().enableCaching({ maxEntrySize: 2000 });
    app.get("/", () => {
      runs++;
      return handler();
    });
    for (let i = 1; i <= 2; i++) {
      const response = await app.request("/");
      expect(response.headers.get("x-cache")).toBe("MISS");
      await response.text();
      expect(runs).toBe(i);
    }
  });

  it("Responses to requests with Authorization, a cookie or authentication are not cached", async () => {
    const { app } = new CountedApp().page("/a");
    app.enableCaching();
    app.use({
      before(request) {
        const user = request.headers.get("x-user");
        if (user !== undefined) request.context.user = user;
      },
    });
    expect(await ask(app, "/a", { authorization: "Bearer alice" })).toBe("BYPASS /a 1");
    expect(await ask(app, "/a", { authorization: "Bearer bob" })).toBe("BYPASS /a 2");
    expect(await ask(app, "/a", { cookie: "theme=dark" })).toBe("BYPASS /a 3");
    expect(await ask(app, "/a", { "x-user": "carol" })).toBe("BYPASS /a 4");
    expect(await ask(app, "/a")).toBe("MISS /a 5");
    expect(await ask(app, "/a", { authorization: "Bearer alice" })).toBe("BYPASS /a 6");
    expect(await ask(app, "/a")).toBe("HIT /a 5");
  });

  it("Headers of one exchange are not cached: request id, Age, traces, Connection and the headers it names", async () => {
    const app = new App().enableCaching();
    app.get("/", () => {
      const response = new Response("x");
      for (const name of [
        "X-Request-ID",
        "Traceparent",
        "tracestate",
        "X-B3-TraceId",
        "Server-Timing",
        "X-Hop",
        "X-Cache",
      ]) {
        response.header(name, "1");
      }
      return response.header("Connection", "X-Hop").header("X-Kept", "yes").header("Content-Language", "en");
    });
    await app.request("/");
    const hit = await app.request("/");
    expect([...hit.headers.keys()].sort()).toEqual([
      "age",
      "content-language",
      "content-type",
      "date",
      "x-cache",
      "x-kept",
    ]);
  });

  it("Cache tags are never sent to the client", async () => {
    const app = new App().enableCaching();
    app.get("/", { cache: { tags: ["secret"] } }, () => new Response("x").cacheTags("hidden"));
    for (let i = 0; i < 2; i++) {
      const response = await app.request("/");
      expect(JSON.stringify([...response.headers])).not.toMatch(/secret|hidden/);
    }
  });
});

describe("requests that bypass the cache", () => {
  it.each([
    ["no-store", { "cache-control": "No-Store" }],
    ["If-Match", { "if-match": '"x"' }],
    ["If-Unmodified-Since", { "if-unmodified-since": "Sun, 06 Nov 1994 08:49:37 GMT" }],
  ])("A request with %s bypasses the cache", async (_name, headers) => {
    const { app } = new CountedApp().page("/a");
    app.enableCaching();
    expect(await ask(app, "/a", headers)).toBe("BYPASS /a 1");
    expect(await ask(app, "/a")).toBe("MISS /a 2");
    expect(await ask(app, "/a", headers)).toBe("BYPASS /a 3");
  });

  it("A range of a response that is not stored comes from the handler, and is not stored", async () => {
    const { app } = new CountedApp().page("/a");
    app.enableCaching();
    expect(await ask(app, "/a", { range: "bytes=0-1" })).toBe("BYPASS /a 1");
    expect(await ask(app, "/a", { range: "bytes=0-1" })).toBe("BYPASS /a 2");
    const only = await app.request("/a", { headers: { range: "bytes=0-1", "cache-control": "only-if-cached" } });
    expect(only.status).toBe(504);
  });

  it("A request with a body bypasses the cache", async () => {
    const counted = new CountedApp().page("/a");
    counted.app.enableCaching();
    await using server = await wire(counted.app);
    await server.send("/a");
    const response = await server.send("/a", { body: "x", headers: { "content-length": "1" } });
    expect(seen(response)).toBe("BYPASS /a 2");
  });

  it("Requests to excluded paths and below bypass the cache, however they are written", async () => {
    const { app } = new CountedApp().page("/{any}").page("/{any}/{more}");
    app.enableCaching({ excludePaths: ["/private", "/a/b/"] });
    for (const path of [
      "/private",
      "/Private",
      "/%70rivate",
      "/private/x",
      "/PRIV%61TE/x",
      "/a/b",
      "/a%2Fb",
      "/a%2fB",
    ]) {
      expect(await ask(app, path), path).toMatch(/^BYPASS/);
    }
    for (const path of ["/privates", "/privat", "/a/bc", "/a"]) expect(await ask(app, path), path).toMatch(/^MISS/);
  });
});

describe("the key of an entry", () => {
  it("The key of an entry is host, path and query, with parameters in any order", async () => {
    const counted = new CountedApp().page("/a").page("/b");
    counted.app.enableCaching();
    await using server = await wire(counted.app);
    const at = async (path: string, host = "a.example"): Promise<string> =>
      seen(await server.send(path, { headers: { host } }));
    expect(await at("/a?x=1&y=2")).toBe("MISS /a 1");
    expect(await at("/a?y=2&x=1")).toBe("HIT /a 1");
    expect(await at("/a?y=2&%78=1", "A.Example")).toBe("HIT /a 1");
    expect(await at("/%61?y=2&x=1")).toBe("HIT /a 1");
    expect(await at("/a?x=1&y=3")).toBe("MISS /a 2");
    expect(await at("/a?x=2&x=1")).toBe("MISS /a 3");
    expect(await at("/a?x=1&x=2")).toBe("MISS /a 4");
    expect(await at("/a?x=1&y=2", "b.example")).toBe("MISS /a 5");
    expect(await at("/b?x=1&y=2")).toBe("MISS /b 1");
  });

  it("The key of an entry contains the headers that Vary names, in any case and spacing", async () => {
    const { app } = new CountedApp().page("/a", { Vary: "  ACCEPT-Language ,x-b" });
    app.enableCaching();
    expect(await ask(app, "/a", { "accept-language": "en" })).toBe("MISS /a 1");
    expect(await ask(app, "/a", { "accept-language": "de" })).toBe("MISS /a 2");
    expect(await ask(app, "/a")).toBe("MISS /a 3");
    expect(await ask(app, "/a", { "accept-language": "en", "x-b": "1" })).toBe("MISS /a 4");
    expect(await ask(app, "/a", { "accept-language": "en" })).toBe("HIT /a 1");
    expect(await ask(app, "/a", { "accept-language": "de" })).toBe("HIT /a 2");
    expect(await ask(app, "/a")).toBe("HIT /a 3");
  });

  it("The key of an entry contains the headers that the route names, which Vary then lists", async () => {
    const { app } = new CountedApp().page("/a", {}, { cache: { vary: ["X-Tenant"] } });
    app.enableCaching();
    expect(await ask(app, "/a", { "x-tenant": "1" })).toBe("MISS /a 1");
    expect(await ask(app, "/a", { "x-tenant": "2" })).toBe("MISS /a 2");
    const hit = await app.request("/a", { headers: { "x-tenant": "1" } });
    expect([hit.headers.get("vary"), await hit.text()]).toEqual(["x-tenant", "/a 1"]);
  });

  it("The key of an entry contains Accept-Encoding if the handler encodes its response itself", async () => {
    const { app } = new CountedApp().page("/a", { "Content-Encoding": "gzip" });
    app.enableCaching();
    expect(await ask(app, "/a", { "accept-encoding": "gzip" })).toMatch(/^MISS/);
    expect(await ask(app, "/a", { "accept-encoding": "identity" })).toMatch(/^MISS/);
    expect(await ask(app, "/a", { "accept-encoding": "gzip" })).toMatch(/^HIT/);
  });
});

describe("HEAD", () => {
  it("A cached response to GET serves HEAD, never the other way round", async () => {
    const counted = new CountedApp().page("/a").page("/b");
    counted.app.enableCaching();
    await using server = await wire(counted.app);
    const get = await server.send("/a");
    const head = await server.send("/a", { method: "HEAD" });
    expect([head.get("x-cache"), head.text, head.get("content-length")]).toEqual([
      "HIT",
      "",
      get.get("content-length"),
    ]);
    expect((await server.send("/b", { method: "HEAD" })).get("x-cache")).toBe("MISS");
    expect((await server.send("/b", { method: "HEAD" })).get("x-cache")).toBe("HIT");
    expect(seen(await server.send("/b"))).toBe("MISS /b 2");
  });
});

describe("conditional requests", () => {
  it("A conditional request gets 304 from the cache, without a body and with its validators", async () => {
    const { app } = new CountedApp().page("/a", {
      ETag: '"1"',
      "Cache-Control": "max-age=60",
      "Content-Language": "en",
    });
    app.enableCaching();
    await ask(app, "/a");
    for (const tag of ['"1"', 'W/"1"', '"0", "1"', "*"]) {
      const response = await app.request("/a", { headers: { "if-none-match": tag } });
      expect([response.status, response.headers.get("x-cache"), await response.text()], tag).toEqual([304, "HIT", ""]);
      expect([...response.headers.keys()].sort()).toEqual(["age", "cache-control", "date", "etag", "x-cache"]);
    }
    expect(await ask(app, "/a", { "if-none-match": '"2"' })).toBe("HIT /a 1");
  });

  it("A conditional request that fills the cache gets 304 too", async () => {
    const { app } = new CountedApp().page("/a", { ETag: '"1"' });
    app.enableCaching();
    const response = await app.request("/a", { headers: { "if-none-match": '"1"' } });
    expect([response.status, response.headers.get("x-cache")]).toEqual([304, "MISS"]);
    expect(await ask(app, "/a")).toBe("HIT /a 1");
  });

  it("A 304 of the handler itself leaves the cached response unchanged", async () => {
    stopClock();
    const app = new App().enableCaching({ ttl: 10, staleIfError: 600 });
    let failing = false;
    app.logger = silent;
    app.get("/", (request) => {
      if (failing) throw new Error("x");
      return request.headers.has("if-none-match") ? new Response(null, 304) : new Response("x");
    });
    await ask(app, "/");
    pass(11);
    expect((await app.request("/", { headers: { "if-none-match": '"a"' } })).status).toBe(304);
    failing = true;
    expect(await ask(app, "/")).toBe("STALE x");
  });

  it("Conditional requests use Last-Modified, or the time of caching, unless there is an entity tag", async () => {
    stopClock("Date");
    vi.setSystemTime(Date.UTC(2030, 0, 1, 0, 0, 0, 500));
    const modified = "Tue, 01 Jan 2030 00:00:00 GMT";
    const { app } = new CountedApp().page("/a", { "Last-Modified": modified }).page("/b");
    app.enableCaching();
    const status = async (path: string, since: string, more = {}): Promise<number> =>
      (await app.request(path, { headers: { "if-modified-since": since, ...more } })).status;
    await ask(app, "/a");
    await ask(app, "/b");
    expect(await status("/a", modified)).toBe(304);
    expect(await status("/a", "Mon, 31 Dec 2029 23:59:59 GMT")).toBe(200);
    expect(await status("/a", "garbage")).toBe(200);
    expect(await status("/a", modified, { "if-none-match": '"x"' })).toBe(200);
    // Made in the midst of that second: who has what was there at its beginning may have something else.
    expect(await status("/b", modified)).toBe(200);
    expect(await status("/b", "Tue, 01 Jan 2030 00:00:01 GMT")).toBe(304);
  });
});

describe("validation of a stale response", () => {
  /** A handler that evaluates conditions as a proxy or a careful handler does. */
  function validating(headers: Record<string, string>, options = {}) {
    const state = { version: 1, seen: [] as string[], headers };
    const app = new App().enableCaching({ ttl: 10, ...options });
    app.logger = silent;
    app.get("/", (request) => {
      const tags = request.headers.get("if-none-match");
      state.seen.push(`${tags} ${request.headers.get("if-modified-since")} ${[...request.headers.keys()].sort()}`);
      const tag = `"${state.version}"`;
      const now: Record<string, string> = "Last-Modified" in headers ? {} : { ETag: tag };
      const known = tags === undefined ? request.headers.has("if-modified-since") : tags.includes(tag);
      if (known)
        return new Response(null, { status: 304, headers: { ...now, "X-Renewed": "yes", "Content-Length": "0" } });
      return new Response(`body ${state.version}`, { headers: { ...now, ...state.headers } });
    });
    return { app, state };
  }

  it("A stale response is validated by the handler with the entity tag, and a 304 renews it with the new headers", async () => {
    stopClock();
    const { app, state } = validating({ "X-Kept": "yes", "X-Renewed": "no" });
    await ask(app, "/");
    pass(11);
    const response = await app.request("/");
    expect([response.status, await response.text()]).toEqual([200, "body 1"]);
    expect(
      ["x-cache", "age", "x-kept", "x-renewed", "content-length"].map((name) => response.headers.get(name)),
    ).toEqual(["REVALIDATED", "0", "yes", "yes", null]);
    expect(state.seen[1]).toBe('"1" undefined host,if-none-match');
    pass(9);
    expect(await ask(app, "/")).toBe("HIT body 1");
    expect(state.seen).toHaveLength(2);
    pass(2);
    state.version = 2;
    expect(await ask(app, "/")).toBe("MISS body 2");
    expect(await ask(app, "/")).toBe("HIT body 2");
  });

  it("A stale response without an entity tag is validated with the date of the last change", async () => {
    stopClock();
    const modified = "Tue, 01 Jan 2030 00:00:00 GMT";
    const { app, state } = validating({ "Last-Modified": modified });
    await ask(app, "/");
    pass(11);
    expect(await ask(app, "/")).toBe("REVALIDATED body 1");
    expect(state.seen[1]).toBe(`undefined ${modified} host,if-modified-since`);
  });

  it("The client of a validated response gets the result of its own conditions", async () => {
    stopClock();
    const { app, state } = validating({});
    await ask(app, "/");
    const status = async (tags: string): Promise<string> => {
      pass(11);
      const response = await app.request("/", { headers: { "if-none-match": tags } });
      return `${response.status} ${response.headers.get("x-cache")} ${await response.text()}`.trim();
    };
    expect(await status('"1"')).toBe("304 REVALIDATED");
    expect(await status('"0"')).toBe("200 REVALIDATED body 1");
    expect(state.seen[2]).toBe('"0", "1" undefined host,if-none-match');
    state.version = 2;
    expect(await status('"0"')).toBe("200 MISS body 2");
    // The 304 is about the client's copy, not about the stored one.
    state.version = 3;
    expect(await status('"3"')).toBe("304 MISS");
    state.version = 2;
    expect(await status('"0"')).toBe("200 REVALIDATED body 2");
  });

  it("The route option staleWhileRevalidate holds for its route alone", async () => {
    stopClock();
    const app = new App().enableCaching({ ttl: 10 });
    app.logger = silent;
    let made = 0;
    app.get("/stale", { cache: { staleWhileRevalidate: 60 } }, () => `made ${++made}`).get("/fresh", () => "fresh");
    for (const path of ["/stale", "/fresh"]) await ask(app, path);
    pass(11);
    expect(await ask(app, "/stale")).toBe("STALE made 1");
    expect(await ask(app, "/fresh")).toMatch(/^(?:MISS|EXPIRED|REVALIDATED)\b/);
    await vi.waitFor(async () => expect(await ask(app, "/stale")).toBe("HIT made 2"));
  });

  it("A stale response is validated in the background while it can still be sent", async () => {
    stopClock();
    const { app, state } = validating({}, { staleWhileRevalidate: 60 });
    await ask(app, "/");
    pass(11);
    expect(await ask(app, "/")).toBe("STALE body 1");
    await vi.waitFor(async () => expect(await ask(app, "/")).toBe("HIT body 1"));
    expect(state.seen.slice(1)).toEqual(['"1" undefined host,if-none-match']);
  });
});

describe("the date of a stored response", () => {
  it("A cached response keeps its Date over the wire, and its age is counted once", async () => {
    stopClock("Date");
    vi.setSystemTime(Date.UTC(2030, 0, 1, 0, 0, 0));
    const counted = new CountedApp()
      .page("/own", { Date: "Mon, 31 Dec 2029 23:59:20 GMT", "Cache-Control": "max-age=600" })
      .page("/none");
    counted.app.enableCaching();
    await using server = await wire(counted.app);
    for (const path of ["/own", "/none"]) await server.send(path);
    pass(5);
    vi.setSystemTime(Date.UTC(2030, 0, 1, 0, 0, 5));
    const [own, none] = [await server.send("/own"), await server.send("/none")];
    expect([own.get("date"), own.get("age")]).toEqual(["Mon, 31 Dec 2029 23:59:20 GMT", "45"]);
    expect([none.get("date"), none.get("age")]).toEqual(["Tue, 01 Jan 2030 00:00:00 GMT", "5"]);
  });
});

describe("other methods", () => {
  function searching(methods: string[], options: object = {}): { app: App; runs: string[] } {
    const runs: string[] = [];
    const app = new App().enableCaching({ methods });
    app.logger = silent;
    app.route("/find", { methods: ["GET", "POST", "PUT"], ...options }, (request) => {
      runs.push(`${request.method} ${request.text()}`);
      return `${runs.length}`;
    });
    return { app, runs };
  }
  const find = async (
    app: App,
    method: string,
    body: string,
    headers: Record<string, string> = {},
  ): Promise<string> => {
    const response = await app.request("/find", {
      method,
      body,
      headers: { "content-type": "text/plain", ...headers },
    });
    return `${response.headers.get("x-cache")} ${await response.text()}`;
  };

  it("Configured methods are cached, and the body is part of the key", async () => {
    const { app, runs } = searching(["get", "post", "put"]);
    expect(await find(app, "POST", "a")).toBe("MISS 1");
    expect(await find(app, "POST", "a")).toBe("HIT 1");
    expect(await find(app, "POST", "b")).toBe("MISS 2");
    expect(await find(app, "POST", "b", { "content-type": "text/html" })).toBe("MISS 3");
    expect(await find(app, "PUT", "a")).toBe("MISS 4");
    expect(await find(app, "POST", "a")).toBe("HIT 1");
    expect(runs).toHaveLength(4);
  });

  it("Configured methods are cached over the wire, also if the body arrives late and in parts", async () => {
    const { app } = searching(["POST"]);
    await using server = await wire(app);
    const body = "x".repeat(300_000);
    const post = (text: string) => server.send("/find", { method: "POST", body: text });
    expect([seen(await post(body)), seen(await post(body)), seen(await post(`${body}y`))]).toEqual([
      "MISS 1",
      "HIT 1",
      "MISS 2",
    ]);
  });

  it("Other methods invalidate the entries of their address if they are not cached or bypass the cache", async () => {
    const { app } = searching(["GET", "POST"]);
    const get = (): Promise<string> => ask(app, "/find");
    expect([await get(), await get()]).toEqual(["MISS 1", "HIT 1"]);
    await find(app, "POST", "a");
    expect(await get()).toBe("HIT 1");
    expect(await find(app, "POST", "a", { cookie: "sid=1" })).toBe("BYPASS 3");
    expect(await get()).toBe("MISS 4");
    await find(app, "PUT", "a");
    expect(await get()).toBe("MISS 6");
  });
});

describe("invalidation", () => {
  it("Invalidation of a tag drops its responses, whether the route or the response named it", async () => {
    const { app } = new CountedApp().page("/a", {}, { cache: { tags: ["books", "a"] } }).page("/c");
    app.get("/b/{id}", (request) => new Response(request.path).cacheTags("books", `book:${request.params["id"]}`));
    app.enableCaching();
    const labels = async (): Promise<string[]> =>
      Promise.all(["/a", "/b/1", "/b/2", "/c"].map(async (path) => (await ask(app, path)).split(" ")[0]!));
    await labels();
    expect(await labels()).toEqual(["HIT", "HIT", "HIT", "HIT"]);
    expect(app.invalidateCache(["book:1", "unknown"])).toBe(1);
    expect(await labels()).toEqual(["HIT", "MISS", "HIT", "HIT"]);
    expect(app.invalidate_cache(["books"])).toBe(3);
    expect(await labels()).toEqual(["MISS", "MISS", "MISS", "HIT"]);
    expect(app.invalidateCache("a")).toBe(1);
    expect(app.invalidateCache([])).toBe(0);
    expect(() => app.invalidateCache([1] as never)).toThrow("list of tags");
  });

  it("A request that changes its address invalidates all queries, variants and methods, unless it failed", async () => {
    const { app } = new CountedApp().page("/a", { Vary: "x-v" }).page("/b");
    let status = 200;
    const change = (): Response => new Response("", status);
    app.post("/a", change).put("/a", change).patch("/a", change).delete("/a", { cache: false }, change);
    app.options("/a", () => "safe");
    app.enableCaching();
    const fill = async (): Promise<void> => {
      for (const path of ["/a", "/a?q=1", "/b"]) await ask(app, path);
      await ask(app, "/a", { "x-v": "1" });
      await ask(app, "/a", {}, "HEAD");
    };
    const kept = async (): Promise<string> => (await ask(app, "/a")).split(" ")[0]!;
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      await fill();
      expect(await kept()).toBe("HIT");
      await app.request("/a", { method });
      expect(await kept(), method).toBe("MISS");
      expect(await ask(app, "/a?q=1")).toMatch(/^MISS/);
      expect(await ask(app, "/a", { "x-v": "1" })).toMatch(/^MISS/);
      expect(await ask(app, "/b")).toMatch(/^HIT/);
    }
    await app.request("/a", { method: "OPTIONS" });
    for (const failed of [400, 404, 500]) {
      status = failed;
      await app.request("/a", { method: "POST" });
    }
    expect(await kept()).toBe("HIT");
    status = 303;
    await app.request("/a", { method: "POST" });
    expect(await kept()).toBe("MISS");
  });

  it("A change invalidates the addresses in Location and Content-Location, on the same host only", async () => {
    const { app } = new CountedApp().page("/books").page("/books/7").page("/list").page("/far");
    app.post(
      "/books",
      () => new Response("", { status: 201, headers: { Location: "/books/7", "Content-Location": "list" } }),
    );
    app.post("/far-away", () => new Response("", { status: 201, headers: { Location: "http://other.example/far" } }));
    app.enableCaching();
    for (const path of ["/books", "/books/7", "/list", "/far"]) await ask(app, path);
    await app.request("/books", { method: "POST" });
    await app.request("/far-away", { method: "POST" });
    expect(await ask(app, "/books")).toBe("MISS /books 2");
    expect(await ask(app, "/books/7")).toBe("MISS /books/7 2");
    expect(await ask(app, "/list")).toBe("MISS /list 2");
    expect(await ask(app, "/far")).toBe("HIT /far 1");
  });
});

describe("the cache of routes and blueprints", () => {
  it("Routes and blueprints can have cache settings of their own, none, or the only ones", async () => {
    stopClock();
    const counted = new CountedApp()
      .page("/plain")
      .page("/own", {}, { cache: { ttl: 5 } })
      .page("/yes", {}, { cache: true });
    const group = new Blueprint("/group", { cache: { ttl: 5, tags: ["g"] } });
    group.get("/a", () => `a ${counted.count("a")}`).get("/b", { cache: false }, () => `b ${counted.count("b")}`);
    const { app } = counted;
    app.registerBlueprint(group);
    const twice = async (path: string): Promise<string[]> => [await ask(app, path), await ask(app, path)];
    expect(await twice("/plain")).toEqual(["null /plain 1", "null /plain 2"]);
    expect(await twice("/own")).toEqual(["MISS /own 1", "HIT /own 1"]);
    expect(await twice("/yes")).toEqual(["MISS /yes 1", "HIT /yes 1"]);
    expect(await twice("/group/a")).toEqual(["MISS a 1", "HIT a 1"]);
    expect(await twice("/group/b")).toEqual(["null b 1", "null b 2"]);
    expect(app.invalidateCache(["g"])).toBe(1);
    pass(5);
    expect(await ask(app, "/own")).toBe("MISS /own 2");
    expect(await ask(app, "/yes")).toBe("HIT /yes 1");
  });

  it("A route can share responses to requests with credentials, or cache one for each client", async () => {
    const { app } = new CountedApp()
      .page("/shared", {}, { cache: { credentials: "share" } })
      .page("/each", {}, { cache: { credentials: "vary" } });
    app.enableCaching();
    const as = (name: string) => ({ authorization: `Bearer ${name}` });
    expect(await ask(app, "/shared", as("alice"))).toBe("MISS /shared 1");
    expect(await ask(app, "/shared", as("bob"))).toBe("HIT /shared 1");
    expect(await ask(app, "/each", as("alice"))).toBe("MISS /each 1");
    expect(await ask(app, "/each", as("bob"))).toBe("MISS /each 2");
    expect(await ask(app, "/each")).toBe("MISS /each 3");
    expect(await ask(app, "/each", as("alice"))).toBe("HIT /each 1");
    expect(await ask(app, "/each", { cookie: "Bearer alice" })).toBe("MISS /each 4");
  });

  it("Wrong settings of the cache are refused with their names", () => {
    expect(() => new App().enableCaching({ methods: ["PSOT"] })).toThrow("a method");
    expect(() => new App().enableCaching({ exclude_path: [] } as never)).toThrow("'exclude_paths'?");
    expect(() => new App().enableCaching({ excludePaths: ["private"] })).toThrow("'excludePaths'");
    expect(() => new App().get("/", { cache: { tag: ["a"] } } as never, () => "")).toThrow(
      "unknown option 'tag' in the route option 'cache'; did you mean 'tags'?",
    );
    expect(() => new App().get("/", { cache: { credentials: "all" } } as never, () => "")).toThrow("'credentials'");
  });
});

describe("a dynamic route", () => {
  it("A dynamic route with a file extension does not share responses to users", async () => {
    const counted = new CountedApp();
    counted.app.logger = silent;
    counted.app.get("/account/{rest:*}", (request) => `${request.headers.get("cookie")} ${counted.count("x")}`);
    counted.app.enableCaching();
    expect(await ask(counted.app, "/account/x.css", { cookie: "sid=alice" })).toBe("BYPASS sid=alice 1");
    expect(await ask(counted.app, "/account/x.css")).toBe("MISS undefined 2");
  });
});

describe("ranges of a stored response (RFC 9110 section 14)", () => {
  async function stored(headers: Record<string, string> = {}) {
    const app = new App().enableCaching();
    let runs = 0;
    app.get("/a", () => {
      runs++;
      return new Response("häuser", { headers });
    });
    await app.request("/a");
    const part = async (asked: Record<string, string>, method = "GET") => {
      const response = await app.request("/a", { headers: asked, method });
      return [response.status, response.headers.get("content-range"), await response.text(), runs];
    };
    return part;
  }

  it("A part is cut out of a stored response by bytes, without the handler", async () => {
    const part = await stored();
    expect(await part({ range: "bytes=0-0" })).toEqual([206, "bytes 0-0/7", "h", 1]);
    expect(await part({ range: "bytes=1-2" })).toEqual([206, "bytes 1-2/7", "ä", 1]);
    expect(await part({ range: "bytes=-3" })).toEqual([206, "bytes 4-6/7", "ser", 1]);
    expect(await part({ range: "bytes=3-999" })).toEqual([206, "bytes 3-6/7", "user", 1]);
  });

  it("A range beyond the end of a stored response is 416 with its size", async () => {
    const part = await stored();
    const [status, range] = await part({ range: "bytes=7-" });
    expect([status, range]).toEqual([416, "bytes */7"]);
  });

  it("A range that is none, several ranges and ranges of HEAD get the whole", async () => {
    const part = await stored();
    for (const range of ["lines=0-1", "bytes=2-1", "bytes=0-0,2-2"])
      expect(await part({ range })).toEqual([200, null, "häuser", 1]);
    expect(await part({ range: "bytes=0-0" }, "HEAD")).toEqual([200, null, "", 1]);
  });

  it("A part is sent only if If-Range names the stored response by a strong tag", async () => {
    const part = await stored({ ETag: '"1"' });
    expect(await part({ range: "bytes=0-0", "if-range": '"1"' })).toEqual([206, "bytes 0-0/7", "h", 1]);
    expect(await part({ range: "bytes=0-0", "if-range": '"2"' })).toEqual([200, null, "häuser", 1]);
    const weak = await stored({ ETag: 'W/"1"' });
    expect(await weak({ range: "bytes=0-0", "if-range": 'W/"1"' })).toEqual([200, null, "häuser", 1]);
  });

  it("A part of a response with a Content-Length of the handler has the length of the part", async () => {
    const app = new App().enableCaching();
    app.get("/a", () => new Response("hello", { headers: { "Content-Length": "5" } }));
    await app.request("/a");
    const part = await app.request("/a", { headers: { range: "bytes=1-2" } });
    expect([part.status, part.headers.get("content-length"), await part.text()]).toEqual([206, "2", "el"]);
  });

  it("A long text is stored as bytes: no response and no part that is cut out of it encodes it again", async () => {
    const app = new App().enableCaching();
    const text = "häuser".repeat(10_000);
    app.get("/a", () => text);
    await app.request("/a");
    const encode = vi.spyOn(Buffer, "from");
    try {
      for (let i = 0; i < 5; i++) {
        const part = await app.request("/a", { headers: { range: "bytes=1-2" } });
        expect([part.status, await part.text()]).toEqual([206, "ä"]);
      }
      expect(await (await app.request("/a")).text()).toBe(text);
      expect(encode.mock.calls.filter(([given]) => (given as unknown) === text)).toHaveLength(0);
    } finally {
      encode.mockRestore();
    }
  });
});
