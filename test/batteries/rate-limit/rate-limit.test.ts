import { App, Blueprint, HttpError, RateLimitConfig, type RateLimitStore, Response } from "stoa";
import { testClient, WebSocketRefusedError } from "stoa/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { hostOf } from "../../../src/app/app.js";
import { pass, stopClock } from "../clock.js";
import { wire } from "../support.js";

afterEach(() => vi.useRealTimers());

function limited(config?: RateLimitConfig): App {
  return new App().enableRateLimit(config).get("/", () => "ok");
}

const byHeader = {
  key: (request: { headers: { get(name: string): string | undefined } }) => request.headers.get("x-client"),
};

describe("options of the rate limit", () => {
  it("The kind decides whether requests refill evenly or leave the window one by one", async () => {
    stopClock();
    const statuses = async (kind: "token_bucket" | "sliding_window"): Promise<number[]> => {
      const app = limited(new RateLimitConfig({ kind, maxRequests: 2, windowSecs: 60 }));
      const first = [(await app.request("/")).status, (await app.request("/")).status];
      pass(31);
      return [...first, (await app.request("/")).status];
    };
    expect(await statuses("token_bucket")).toEqual([200, 200, 200]);
    expect(await statuses("sliding_window")).toEqual([200, 200, 429]);
  });

  it("A client is forgotten when maxKeys others have come after it", async () => {
    stopClock();
    const again = async (maxKeys: number): Promise<number> => {
      const app = limited(new RateLimitConfig({ maxRequests: 1, windowSecs: 60, maxKeys, ...byHeader }));
      const ask = async (client: string): Promise<number> =>
        (await app.request("/", { headers: { "x-client": client } })).status;
      expect([await ask("ann"), await ask("ann")]).toEqual([200, 429]);
      for (let i = 0; i < 20; i++) await ask(`other ${i}`);
      return ask("ann");
    };
    expect(await again(1000)).toBe(429);
    expect(await again(4)).toBe(200);
  });
});

describe("the token bucket", () => {
  it("A rate limit allows max_requests at once, then refuses with 429 and the true wait", async () => {
    stopClock();
    const app = limited(RateLimitConfig.tokenBucket(3, 60));
    for (let left = 2; left >= 0; left--) {
      const response = await app.request("/");
      expect(response.status).toBe(200);
      expect(response.headers.get("ratelimit-remaining")).toBe(String(left));
    }
    const refused = await app.request("/");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("20");
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    const problem = await refused.json();
    expect(problem).toEqual({
      type: "/errors/too-many-requests",
      title: "Too Many Requests",
      status: 429,
      detail: "Too many requests: try again in 20 s.",
      error: "Too Many Requests",
      retry_after: 20,
    });
    pass(19);
    expect((await app.request("/")).headers.get("retry-after")).toBe("1");
    pass(1);
    expect((await app.request("/")).status).toBe(200);
    expect((await app.request("/")).status).toBe(429);
  });

  it("A rate limit still holds in the second and the third window", async () => {
    stopClock();
    const app = limited(RateLimitConfig.tokenBucket(2, 10));
    for (let window = 0; window < 3; window++) {
      const statuses = [];
      for (let i = 0; i < 3; i++) statuses.push((await app.request("/")).status);
      expect(statuses).toEqual([200, 200, 429]);
      pass(10);
    }
  });

  it("The default rate limit allows 100 requests in 60 seconds", async () => {
    stopClock();
    const app = new App().enable_rate_limit().get("/", () => "ok");
    const statuses: number[] = [];
    for (let i = 0; i < 101; i++) statuses.push((await app.request("/")).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses[100]).toBe(429);
  });

  it("A rate limit is not affected by changes of the system clock", async () => {
    stopClock("Date");
    const app = limited(RateLimitConfig.tokenBucket(1, 10));
    expect((await app.request("/")).status).toBe(200);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect((await app.request("/")).status).toBe(429);
    vi.setSystemTime(Date.now() - 7_200_000);
    const refused = await app.request("/");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    pass(10);
    expect((await app.request("/")).status).toBe(200);
  });
});

describe("headers of the limit", () => {
  const names = ["limit", "remaining", "reset"].flatMap((name) => [`ratelimit-${name}`, `x-ratelimit-${name}`]);

  it("The headers of the rate limit are on every response: results, errors, 404 and 429", async () => {
    const app = limited(RateLimitConfig.tokenBucket(4, 60));
    app.get("/broken", async () => {
      throw new Error("x");
    });
    await using server = await wire(app);
    const seen: (number | undefined)[][] = [];
    for (const path of ["/", "/broken", "/nowhere", "/", "/"]) {
      const response = await server.send(path);
      seen.push([response.status, ...names.map((name) => Number(response.get(name)))]);
    }
    expect(seen).toEqual([
      [200, 4, 4, 3, 3, 15, 15],
      [500, 4, 4, 2, 2, 30, 30],
      [404, 4, 4, 1, 1, 45, 45],
      [200, 4, 4, 0, 0, 60, 60],
      [429, 4, 4, 0, 0, 60, 60],
    ]);
  });

  it("The headers of the rate limit replace those of a proxied response, in any case, and no other header", async () => {
    const app = new App().enableRateLimit(RateLimitConfig.tokenBucket(7, 60));
    const foreign: [string, string][] = ["limit", "remaining", "reset"].flatMap((part): [string, string][] => [
      [`ratelimit-${part}`, "1000"],
      [`X-RATELIMIT-${part}`, "1000"],
      [`RateLimit-${part}`, "1001"],
    ]);
    const kept: [string, string][] = [
      ["RateLimit-Policy", "a"],
      ["X-RateLimit-Limit-Used", "b"],
      ["X-Other", "c"],
      ["Retry-After", "9"],
    ];
    app.get("/", () => new Response("x", { headers: [kept[0]!, ...foreign, ...kept.slice(1)] }));
    await using server = await wire(app);
    const response = await server.send("/");
    for (const prefix of ["ratelimit", "x-ratelimit"]) {
      expect(response.all(`${prefix}-limit`)).toEqual(["7"]);
      expect(response.all(`${prefix}-remaining`)).toEqual(["6"]);
      expect(response.all(`${prefix}-reset`)).toHaveLength(1);
    }
    for (const [name, value] of kept) expect(response.all(name.toLowerCase()), name).toEqual([value]);
  });

  it("The headers of the rate limit are on an exception handler's response to a 429, Retry-After included", async () => {
    const app = limited(RateLimitConfig.tokenBucket(1, 60));
    app.exceptionHandler(HttpError, (_request, error) => Response.json({ own: error.status }, error.status));
    await app.request("/");
    const refused = await app.request("/");
    expect(await refused.json()).toEqual({ own: 429 });
    expect([refused.headers.get("retry-after"), refused.headers.get("ratelimit-limit")]).toEqual(["60", "1"]);
  });
});

describe("the identity of a client", () => {
  it("A client is identified by the peer's address, whatever headers of proxies say", async () => {
    await using server = await wire(limited(RateLimitConfig.tokenBucket(2, 60)));
    const spoofed = ["X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP"];
    const statuses = [];
    for (const [i, name] of spoofed.entries()) {
      const value = name === "Forwarded" ? `for=10.0.0.${i}` : `10.0.0.${i}`;
      statuses.push((await server.send("/", { headers: { [name]: value } })).status);
    }
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
  });

  it("A client is identified by the rightmost hop that is not trusted, IPv6 by its /64", async () => {
    const app = limited(RateLimitConfig.tokenBucket(1, 60)).trustProxy("loopback");
    await using server = await wire(app);
    const ask = async (address: string): Promise<number> =>
      (await server.send("/", { headers: { "X-Forwarded-For": address } })).status;
    expect(await ask("203.0.113.1")).toBe(200);
    expect(await ask("6.6.6.6, 203.0.113.1")).toBe(429);
    expect(await ask("203.0.113.2")).toBe(200);
    expect(await ask("2001:db8:1:2::1")).toBe(200);
    expect(await ask("2001:0DB8:1:2:ffff::9")).toBe(429);
    expect(await ask("2001:db8:1:3::1")).toBe(200);
    expect(await ask("::ffff:203.0.113.2")).toBe(429);
  });

  it("The option ipv6Prefix sets the bits of an IPv6 address that identify a client", async () => {
    const app = limited(RateLimitConfig.tokenBucket(1, 60, { ipv6Prefix: 48 })).trustProxy("loopback");
    await using server = await wire(app);
    const ask = async (address: string): Promise<number> =>
      (await server.send("/", { headers: { "X-Forwarded-For": address } })).status;
    expect(await ask("2001:db8:1:2::1")).toBe(200);
    expect(await ask("2001:db8:1:3::1")).toBe(429);
    expect(await ask("2001:db8:2:2::1")).toBe(200);
  });

  it("A key function returns a string, null for no limit or undefined for the address, also as a promise", async () => {
    const app = limited(
      RateLimitConfig.tokenBucket(1, 60, {
        key: async (request) => {
          const name = request.headers.get("x-client");
          return name === "friend" ? null : name;
        },
      }),
    );
    const ask = async (client?: string): Promise<number> =>
      (await app.request("/", client === undefined ? {} : { headers: { "x-client": client } })).status;
    expect([await ask("a"), await ask("b"), await ask("a")]).toEqual([200, 200, 429]);
    expect([await ask("friend"), await ask("friend")]).toEqual([200, 200]);
    expect([await ask(), await ask()]).toEqual([200, 429]);
  });

  it("A key function that fails or returns something else refuses the request", async () => {
    for (const key of [() => 7, () => Promise.reject(new Error("x"))] as never[]) {
      const app = limited(RateLimitConfig.tokenBucket(1, 60, { key }));
      app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
      expect((await app.request("/")).status).toBe(500);
    }
  });
});

describe("the sliding window", () => {
  it("A sliding window never allows more than max_requests in any window, and reports when the oldest leaves it", async () => {
    stopClock();
    const app = limited(RateLimitConfig.sliding_window(2, 10));
    expect((await app.request("/")).status).toBe(200);
    pass(6);
    expect((await app.request("/")).status).toBe(200);
    const refused = await app.request("/");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "4"]);
    pass(4);
    expect((await app.request("/")).status).toBe(200);
    expect((await app.request("/")).headers.get("retry-after")).toBe("6");
  });
});

describe("the adaptive limit", () => {
  it("The adaptive limit decreases while responses fail, down to its minimum, and recovers afterwards", async () => {
    stopClock();
    let failing = true;
    const app = new App();
    app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
    app.enableRateLimit(RateLimitConfig.adaptive(100, 10, { minRequests: 20, ...byHeader }));
    app.get("/", () => {
      if (failing) throw new Error("x");
      return "ok";
    });
    let client = 0;
    const limits: number[] = [];
    const rounds = async (count: number): Promise<void> => {
      for (let round = 0; round < count; round++) {
        for (let i = 0; i < 12; i++) {
          const response = await app.request("/", { headers: { "x-client": `c${client++}` } });
          if (i === 11) limits.push(Number(response.headers.get("ratelimit-limit")));
        }
        pass(1);
      }
    };
    await rounds(4);
    expect(limits).toEqual([100, 50, 25, 20]);
    failing = false;
    limits.length = 0;
    await rounds(3);
    expect(limits).toEqual([20, 30, 40]);
    pass(60);
    await rounds(1);
    expect(limits.at(-1)).toBe(100);
  });

  it("The adaptive limit decreases only if more responses fail than errorThreshold allows", async () => {
    stopClock();
    const limitAfter = async (errorThreshold: number): Promise<number> => {
      let count = 0;
      const app = new App().enableRateLimit(RateLimitConfig.adaptive(100, 10, { errorThreshold, ...byHeader }));
      app.get("/", () => new Response("x", { status: count++ % 2 === 0 ? 500 : 200 }));
      for (let i = 0; i < 12; i++) await app.request("/", { headers: { "x-client": `c${i}` } });
      pass(1);
      return Number((await app.request("/")).headers.get("ratelimit-limit"));
    };
    expect([await limitAfter(0.4), await limitAfter(0.6)]).toEqual([50, 100]);
  });

  it("The adaptive limit decreases while responses are slow", async () => {
    stopClock();
    const app = new App().enableRateLimit(RateLimitConfig.adaptive(100, 10, { latencyMs: 50, ...byHeader }));
    app.get("/", () => {
      pass(0.08);
      return "ok";
    });
    let last = 0;
    for (let i = 0; i < 40; i++) {
      const response = await app.request("/", { headers: { "x-client": `c${i}` } });
      last = Number(response.headers.get("ratelimit-limit"));
    }
    expect(last).toBeLessThan(100);
  });
});

describe("limits of routes and blueprints", () => {
  it("A route's rate limit replaces the application's, and false disables it", async () => {
    const app = limited(RateLimitConfig.tokenBucket(2, 60));
    app.post("/login", { rate_limit: RateLimitConfig.slidingWindow(1, 60) }, () => "in");
    app.get("/free", { rateLimit: false }, () => "free");
    const ask = async (path: string, method = "GET"): Promise<number> => (await app.request(path, { method })).status;
    expect([await ask("/login", "POST"), await ask("/login", "POST")]).toEqual([200, 429]);
    expect([await ask("/"), await ask("/"), await ask("/")]).toEqual([200, 200, 429]);
    expect([await ask("/free"), await ask("/free"), await ask("/free")]).toEqual([200, 200, 200]);
    expect((await app.request("/free")).headers.get("ratelimit-limit")).toBeNull();
  });

  it("A route's rate limit works without one of the application", async () => {
    const app = new App();
    app.post("/login", { rateLimit: { maxRequests: 1, windowSecs: 60 } }, () => "in").get("/", () => "ok");
    expect((await app.request("/login", { method: "POST" })).status).toBe(200);
    expect((await app.request("/login", { method: "POST" })).status).toBe(429);
    expect((await app.request("/")).headers.get("ratelimit-limit")).toBeNull();
  });

  it("A blueprint's rate limit is shared by its routes, and replaced by a route's own", async () => {
    const api = new Blueprint("/api", { rateLimit: RateLimitConfig.tokenBucket(2, 60) });
    api
      .get("/a", () => "a")
      .get("/b", () => "b")
      .get("/c", { rateLimit: false }, () => "c");
    const app = new App().registerBlueprint(api);
    const ask = async (path: string): Promise<number> => (await app.request(path)).status;
    expect([await ask("/api/a"), await ask("/api/b"), await ask("/api/a"), await ask("/api/c")]).toEqual([
      200, 200, 429, 200,
    ]);
  });
});

describe("several limits, costs and shadows", () => {
  const limitOf = ({ status, headers }: globalThis.Response) => [
    status,
    headers.get("ratelimit-limit"),
    headers.get("ratelimit-remaining"),
    headers.get("retry-after"),
  ];

  it("A request must be within all limits of a list, and its response has the headers of the tightest", async () => {
    stopClock();
    const app = new App().enableRateLimit({ maxRequests: 3, windowSecs: 3600 }, RateLimitConfig.tokenBucket(2, 1));
    app.get("/", () => "ok");
    const ask = async (path = "/") => limitOf(await app.request(path));
    expect([await ask(), await ask()]).toEqual([
      [200, "2", "1", null],
      [200, "2", "0", null],
    ]);
    // A request that the shorter window refuses does not count for the longer one.
    expect(await ask()).toEqual([429, "2", "0", "1"]);
    pass(1);
    expect(await ask()).toEqual([200, "3", "0", null]);
    expect(await ask()).toEqual([429, "3", "0", "1199"]);
    const even = new App().enableRateLimit({ maxRequests: 1, windowSecs: 60 }, RateLimitConfig.tokenBucket(1, 3600));
    even.get("/", () => "ok");
    expect((await even.request("/")).headers.get("ratelimit-reset")).toBe("3600");
  });

  it("Routes and blueprints take lists, and routes with the same config share its count", async () => {
    const shared = RateLimitConfig.slidingWindow(3, 60);
    const api = new Blueprint("/api", { rateLimit: [shared] }).get("/a", () => "");
    const app = new App().registerBlueprint(api).get("/", { rateLimit: [{ maxRequests: 1 }, shared] }, () => "");
    const ask = async (path: string) => limitOf(await app.request(path)).slice(0, 3);
    expect([await ask("/"), await ask("/")]).toEqual([
      [200, "1", "0"],
      [429, "1", "0"],
    ]);
    expect([await ask("/api/a"), await ask("/api/a")]).toEqual([
      [200, "3", "1"],
      [200, "3", "0"],
    ]);
    expect(() => new App().get("/", { rateLimit: [] }, () => "")).toThrow("'rateLimit'");
    expect(() => new App().enableRateLimit({}, { windows: 1 } as never)).toThrow("'windows'");
  });

  it("A cost that is a promise is an error of the request, and its rejection does not end the process", async () => {
    const app = limited(new RateLimitConfig({ cost: (() => Promise.reject(new Error("no cost"))) as never }));
    app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
    expect((await app.request("/")).status).toBe(500);
    // Rejections that nobody handles are reported by then.
    await new Promise(setImmediate);
  });

  it.each(["token_bucket", "sliding_window"] as const)("A request counts as many as it costs: %s", async (kind) => {
    stopClock();
    const cost = ({ query }: { query: { get(name: string): string | undefined } }) => Number(query.get("cost"));
    const app = limited(new RateLimitConfig({ kind, maxRequests: 10, windowSecs: 60, cost }));
    app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
    const ask = async (n: number) => limitOf(await app.request(`/?cost=${n}`));
    expect(await ask(4)).toEqual([200, "10", "6", null]);
    pass(1);
    expect(await ask(3)).toEqual([200, "10", "3", null]);
    // A bucket refills by one in six seconds; of a window the four leave together.
    expect(await ask(5)).toEqual([429, "10", "3", kind === "token_bucket" ? "11" : "59"]);
    expect(await ask(3)).toEqual([200, "10", "0", null]);
    expect(await ask(0)).toEqual([200, null, null, null]);
    expect([(await ask(1.5))[0], (await ask(-1))[0]]).toEqual([500, 500]);
    pass(60);
    // More than the limit is the whole of it.
    expect(await ask(99)).toEqual([200, "10", "0", null]);
  });

  it("A shadow counts and logs what it would refuse, lets it pass, and adds no headers", async () => {
    const lines: unknown[] = [];
    const app = new App().enableRateLimit(
      RateLimitConfig.tokenBucket(2, 60, { shadow: true }),
      RateLimitConfig.slidingWindow(4, 3600),
    );
    app.logger = {
      debug() {},
      info() {},
      error() {},
      warn: (message, fields) => void lines.push([message, fields]),
      child: () => app.logger,
    };
    app.get("/", () => "ok");
    const seen = [];
    for (let i = 0; i < 5; i++) seen.push(limitOf(await app.request("/")).slice(0, 3));
    expect(seen).toEqual([
      [200, "4", "3"],
      [200, "4", "2"],
      [200, "4", "1"],
      [200, "4", "0"],
      [429, "4", "0"],
    ]);
    expect(lines).toEqual([
      [
        "a rate limit would have refused a request, but is a shadow",
        { limit: "app", max_requests: 2, window_secs: 60 },
      ],
    ]);
  });
});

describe("WebSocket routes", () => {
  it("A WebSocket route is limited before the upgrade, with 429", async () => {
    const app = new App().enableRateLimit(RateLimitConfig.tokenBucket(1, 60));
    app.websocket("/ws", async (socket) => {
      await socket.recv();
    });
    await using client = testClient(app);
    const socket = await client.websocket("/ws");
    expect(socket.headers.get("ratelimit-remaining")).toBe("0");
    const refused = await client.websocket("/ws").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WebSocketRefusedError);
    expect((refused as WebSocketRefusedError).status).toBe(429);
    await socket.close();
  });
});

describe("a store given as an option", () => {
  function withStore(store: RateLimitStore, onStoreError?: "allow" | "deny"): App {
    const app = limited(RateLimitConfig.tokenBucket(1, 60, { store, ...(onStoreError && { onStoreError }) }));
    app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
    return app;
  }

  it("A store of rate limits can return promises", async () => {
    const counts = new Map<string, number>();
    const app = withStore({
      limiter: ({ name }) => ({
        async take(key, limit) {
          const count = (counts.get(name + key) ?? 0) + 1;
          counts.set(name + key, count);
          return { allowed: count <= limit, remaining: 0, resetMs: 1000, retryMs: 1000 };
        },
      }),
    });
    expect([(await app.request("/")).status, (await app.request("/")).status]).toEqual([200, 429]);
  });

  it("Requests pass if the store of rate limits fails, or are refused if the option says so", async () => {
    for (const take of [
      () => Promise.reject(new Error("down")),
      () => {
        throw new Error("down");
      },
    ]) {
      const app = withStore({ limiter: () => ({ take }) });
      expect((await app.request("/")).status).toBe(200);
      const refused = await app.request("/");
      expect([refused.status, refused.headers.get("ratelimit-remaining")]).toEqual([429, "0"]);
      expect((await withStore({ limiter: () => ({ take }) }, "deny").request("/")).status).toBe(503);
    }
  });

  it("A shadow lets requests pass while its store fails, whatever its option says", async () => {
    const store = { limiter: () => ({ take: () => Promise.reject(new Error("down")) }) };
    const app = limited(RateLimitConfig.tokenBucket(1, 60, { store, onStoreError: "deny", shadow: true }));
    app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
    expect([(await app.request("/")).status, (await app.request("/")).status]).toEqual([200, 200]);
  });

  it("A process counts alone if the counts of its machine fail too", async () => {
    const failing = () => Promise.reject(new Error("down"));
    const throwing = () => {
      throw new Error("down");
    };
    for (const take of [failing, throwing]) {
      const app = withStore({ limiter: () => ({ take: failing }) });
      hostOf(app).extend("rateLimit", () => ({ limiter: () => ({ take }) }));
      expect([(await app.request("/")).status, (await app.request("/")).status]).toEqual([200, 429]);
    }
  });
});

describe("RateLimitConfig", () => {
  it("RateLimitConfig shows its fields in both spellings, and accepts both", () => {
    const config = new RateLimitConfig({ max_requests: 5, window_secs: 2 });
    expect([config.maxRequests, config.max_requests, config.windowSecs, config.window_secs]).toEqual([5, 5, 2, 2]);
    expect(RateLimitConfig.token_bucket({ maxRequests: 5 }).kind).toBe("token_bucket");
  });

  it("RateLimitConfig refuses unknown and invalid options by name", () => {
    const refuse = (make: () => unknown): string => {
      try {
        make();
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    };
    expect(refuse(() => new RateLimitConfig({ max_request: 5 } as never))).toBe(
      "unknown option 'max_request' in RateLimitConfig; did you mean 'max_requests'?",
    );
    expect(refuse(() => RateLimitConfig.tokenBucket(0, 60))).toContain("'maxRequests'");
    expect(refuse(() => RateLimitConfig.slidingWindow(1, 0))).toContain("'windowSecs'");
    expect(refuse(() => RateLimitConfig.tokenBucket(5, 60, { minRequests: 1 } as never))).toContain('"adaptive" only');
    expect(refuse(() => RateLimitConfig.adaptive(5, 60, { minRequests: 6 }))).toContain("at most maxRequests");
    expect(refuse(() => new App().get("/", { rateLimit: true } as never, () => ""))).toContain("'rateLimit'");
    expect(refuse(() => new App().get("/", { rateLimit: { windows: 1 } } as never, () => ""))).toContain("'windows'");
  });
});

describe("several workers", () => {
  it("Several workers log once that each counts separately", async () => {
    const warnings: string[] = [];
    const start = async (workers: number): Promise<string[]> => {
      warnings.length = 0;
      const app = limited().enableCaching().enableCircuitBreaker();
      const logger = {
        debug() {},
        info() {},
        warn: (message: string) => void warnings.push(message),
        error() {},
        child: () => logger,
      };
      app.logger = logger;
      hostOf(app).configure({ env: "production", debug: false, logs: false, requestTimeout: 30, workers });
      await app.start();
      await app.stop();
      return [...warnings];
    };
    expect(await start(1)).toEqual([]);
    expect(await start(2)).toEqual([
      "each of the 2 workers has its own counts of the rate limit, cache, circuits: enable a key-value store to share",
    ]);
  });
});
