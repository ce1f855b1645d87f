import { gunzipSync } from "node:zlib";
import { ApiKeyAuth, App, BasicAuth, JwtAuth, RateLimitConfig, Response } from "stoa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { pass, stopClock } from "../clock.js";
import { wire } from "../support.js";
import { ask, CountedApp, silent } from "./cached-app.js";

afterEach(() => vi.useRealTimers());

const secret = "a secret of at least thirty-two bytes";

describe("cache and authentication", () => {
  const keys = { "key-a": "alice", "key-b": "bob" };
  const basic = (name: string): string => `Basic ${Buffer.from(`${name}:pw`).toString("base64")}`;

  it("The cache never sends one client's response to another or to an anonymous one, for any authentication", async () => {
    const jwt = new JwtAuth({ secret });
    const token = async (sub: string): Promise<string> => `Bearer ${await jwt.createToken({ sub })}`;
    const cases = [
      [new ApiKeyAuth(keys, "X-API-Key"), { "x-api-key": "key-a" }, { "x-api-key": "key-b" }],
      [new BasicAuth(() => true), { authorization: basic("alice") }, { authorization: basic("bob") }],
      [jwt, { authorization: await token("alice") }, { authorization: await token("bob") }],
    ] as const;
    for (const [auth, alice, bob] of cases) {
      const app = new App().enableCaching().use(auth);
      app.logger = silent;
      app.get("/me", ({ context }) => String(context.api_key_name ?? context.user ?? context.jwt_claims?.["sub"]));
      for (let round = 0; round < 2; round++) {
        expect(await ask(app, "/me", alice)).toBe("BYPASS alice");
        expect(await ask(app, "/me", bob)).toBe("BYPASS bob");
        expect((await app.request("/me")).status).toBe(401);
      }
    }
  });

  it("A route can cache one response for each client, or one for all that are authenticated", async () => {
    const counted = new CountedApp().page("/all", {}, { cache: { credentials: "share" } });
    const { app } = counted;
    app.get(
      "/each",
      { cache: { credentials: "vary" } },
      ({ context }) => `${context.api_key_name} ${counted.count("/each")}`,
    );
    app.use(new ApiKeyAuth(keys, "X-API-Key")).enableCaching();
    const [alice, bob] = [{ "x-api-key": "key-a" }, { "x-api-key": "key-b" }];
    expect(await ask(app, "/all", alice)).toBe("MISS /all 1");
    expect(await ask(app, "/all", bob)).toBe("HIT /all 1");
    expect((await app.request("/all")).status).toBe(401);
    expect(await ask(app, "/each", alice)).toBe("MISS alice 1");
    expect(await ask(app, "/each", bob)).toBe("MISS bob 2");
    expect(await ask(app, "/each", alice)).toBe("HIT alice 1");
    expect(await ask(app, "/each", bob)).toBe("HIT bob 2");
  });

  it("A cached response is sent only to clients that pass the guards", async () => {
    const { app } = new CountedApp().page("/a", {}, { guards: [(request) => request.headers.get("x-pass") === "yes"] });
    app.enableCaching();
    await ask(app, "/a", { "x-pass": "yes" });
    expect(await ask(app, "/a", { "x-pass": "yes" })).toBe("HIT /a 1");
    expect((await app.request("/a")).status).toBe(403);
  });
});

describe("cache and compression", () => {
  it("The cache stores one plain entry, and each client gets an encoding that it accepts", async () => {
    const text = "compress me ".repeat(500);
    let runs = 0;
    const app = new App().enableCaching().enableCompression();
    app.get("/", () => {
      runs++;
      return text;
    });
    await using server = await wire(app);
    const seen: (string | undefined)[] = [];
    for (const coding of ["gzip", "identity", "gzip", "br"]) {
      const response = await server.send("/", { headers: { "accept-encoding": coding } });
      const gzipped = response.get("content-encoding") === "gzip";
      expect(gzipped).toBe(coding === "gzip");
      expect((gzipped ? gunzipSync(response.body) : response.body).toString()).toBe(text);
      expect(response.get("vary")).toMatch(/accept-encoding/i);
      seen.push(response.get("x-cache"));
    }
    expect(seen).toEqual(["MISS", "HIT", "HIT", "HIT"]);
    expect(runs).toBe(1);
  });
});

describe("cache and ETag", () => {
  it("A cached response has the same entity tag, and clients that have it get 304", async () => {
    const counted = new CountedApp().page("/a");
    counted.app.enableCaching().enableEtag();
    await using server = await wire(counted.app);
    const first = await server.send("/a");
    const second = await server.send("/a");
    expect(second.get("etag")).toBe(first.get("etag"));
    const third = await server.send("/a", { headers: { "if-none-match": first.get("etag")! } });
    expect([third.status, third.text, third.get("x-cache")]).toEqual([304, "", "HIT"]);
    expect(counted.runs.get("/a")).toBe(1);
  });
});

describe("cache and request id, CORS and rate limit", () => {
  it("Each cached response has its own request id, CORS headers and rate limit", async () => {
    const counted = new CountedApp().page("/a");
    counted.app
      .enableCaching()
      .enableRequestId()
      .enableCors(["https://a.example", "https://b.example"])
      .enableRateLimit();
    await using server = await wire(counted.app);
    const seen: unknown[] = [];
    const ids = new Set<unknown>();
    for (const origin of ["https://a.example", "https://b.example", "https://c.example"]) {
      const response = await server.send("/a", { headers: { origin } });
      ids.add(response.get("x-request-id"));
      seen.push([
        response.get("x-cache"),
        response.get("access-control-allow-origin"),
        response.get("ratelimit-remaining"),
      ]);
    }
    expect(ids.size).toBe(3);
    expect(seen).toEqual([
      ["MISS", "https://a.example", "99"],
      ["HIT", "https://b.example", "98"],
      ["HIT", undefined, "97"],
    ]);
  });
});

describe("cache and circuit breaker", () => {
  function broken(): { app: App; set: (status: number) => void; runs: () => number } {
    let status = 200;
    let runs = 0;
    const app = new App().enableCaching({ ttl: 10, staleIfError: 600 }).enableCircuitBreaker(1, 30, 1);
    app.logger = silent;
    app.get("/{name}", () => {
      runs++;
      return new Response("good", status);
    });
    return {
      app,
      set: (next) => {
        status = next;
      },
      runs: () => runs,
    };
  }

  it("Cached responses are sent while the circuit is open, fresh or in place of the error", async () => {
    stopClock();
    const { app, set, runs } = broken();
    await ask(app, "/a");
    set(500);
    expect(await ask(app, "/b")).toMatch(/^MISS/);
    expect((await app.circuitBreakers())[0]!.state).toBe("open");
    expect(await ask(app, "/a")).toBe("HIT good");
    pass(11);
    expect(await ask(app, "/a")).toBe("STALE good");
    expect((await app.request("/b")).status).toBe(503);
    expect(runs()).toBe(2);
  });

  it("A cached response does not count as a success for a half-open circuit", async () => {
    stopClock();
    const { app, set } = broken();
    pass(1);
    set(500);
    await ask(app, "/b");
    pass(30);
    set(200);
    await ask(app, "/a");
    expect((await app.circuitBreakers())[0]!.state).toBe("closed");
    set(500);
    await ask(app, "/b");
    pass(5);
    expect(await ask(app, "/a")).toBe("HIT good");
    expect((await app.circuitBreakers())[0]!.state).toBe("open");
  });
});

describe("rate limit and CORS", () => {
  it("The rate limit counts no preflight, and scripts can read a refusal", async () => {
    const app = new App().enableRateLimit(RateLimitConfig.tokenBucket(1, 60)).enableCors(["https://a.example"]);
    app.get("/", () => "ok");
    await using server = await wire(app);
    const origin = "https://a.example";
    for (let i = 0; i < 5; i++) {
      const preflight = await server.send("/", {
        method: "OPTIONS",
        headers: { origin, "access-control-request-method": "GET" },
      });
      expect([preflight.status, preflight.get("ratelimit-limit")]).toEqual([204, undefined]);
    }
    expect((await server.send("/", { headers: { origin } })).status).toBe(200);
    const refused = await server.send("/", { headers: { origin } });
    expect([refused.status, refused.get("access-control-allow-origin")]).toEqual([429, origin]);
  });
});

describe("rate limit, health and metrics", () => {
  it("The rate limit and the cache ignore health probes", async () => {
    const app = new App().enableRateLimit(RateLimitConfig.tokenBucket(1, 60)).enableHealthChecks().enableCaching();
    app.logger = silent;
    for (let i = 0; i < 5; i++) {
      const probe = await app.request("/health/live");
      expect([probe.status, probe.headers.get("x-cache")]).toEqual([200, null]);
    }
  });
});
