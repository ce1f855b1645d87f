import { RateLimitConfig } from "stoa";
import { describe, expect, it } from "vitest";
import { KvRateLimitStore } from "../../../src/engines/kvstore/stores/rate-limit.js";
import { service } from "../../support/service.js";
import { twoApps } from "./apps.js";
import { serverOfTest } from "./redis-servers.js";
import { testStore, until } from "./store.js";

describe.skipIf(!service("redis"))("a rate limit in the key-value store", () => {
  it.each([
    ["token bucket", () => RateLimitConfig.tokenBucket(25, 3600)],
    ["sliding window", () => RateLimitConfig.slidingWindow(25, 3600)],
    ["sliding window of parts", () => RateLimitConfig.slidingWindow(70, 3600)],
  ])("Two applications together get exactly the limit: %s", async (_, config) => {
    const limit = config().maxRequests;
    const apps = await twoApps((app) => {
      app.enableRateLimit(config());
      app.get("/", () => "ok");
    });
    const responses = await Promise.all(Array.from({ length: limit * 2 }, (_unused, i) => apps[i % 2]!.get("/")));
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(limit);
    expect(statuses.filter((status) => status === 429)).toHaveLength(limit);
    const refused = responses.find(({ status }) => status === 429)!;
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("ratelimit-remaining")).toBe("0");
  });

  it("Each policy and each client is counted separately", async () => {
    const store = new KvRateLimitStore(await testStore());
    const policy = { kind: "token_bucket", windowMs: 60_000, maxKeys: 100 } as const;
    const one = store.limiter({ ...policy, name: "a" });
    const two = store.limiter({ ...policy, name: "b" });
    expect((await one.take("x", 1)).allowed).toBe(true);
    expect((await one.take("x", 1)).allowed).toBe(false);
    expect((await one.take("y", 1)).allowed).toBe(true);
    expect((await two.take("x", 1)).allowed).toBe(true);
  });

  it.each(["token_bucket", "sliding_window"] as const)(
    "The limiter in the key-value store decides as the one in memory: %s",
    async (kind) => {
      const limiter = new KvRateLimitStore(await testStore()).limiter({
        kind,
        name: "p",
        windowMs: 60_000,
        maxKeys: 10,
      });
      const first = await limiter.take("x", 3);
      expect(first).toMatchObject({ allowed: true, remaining: 2, retryMs: 0 });
      expect(first.resetMs).toBeGreaterThan(kind === "token_bucket" ? 19_000 : 59_000);
      expect((await limiter.take("x", 3)).remaining).toBe(1);
      expect((await limiter.take("x", 3)).remaining).toBe(0);
      const refused = await limiter.take("x", 3);
      expect(refused).toMatchObject({ allowed: false, remaining: 0 });
      expect(refused.retryMs).toBeLessThanOrEqual(kind === "token_bucket" ? 20_000 : 60_000);
      expect(refused.retryMs).toBeGreaterThan(kind === "token_bucket" ? 15_000 : 50_000);
    },
  );

  it.each(["token_bucket", "sliding_window"] as const)(
    "Requests of several costs count together in the key-value store, and one that costs less may still pass: %s",
    async (kind) => {
      const store = new KvRateLimitStore(await testStore());
      const limiter = store.limiter({ kind, name: "p", windowMs: 36_000_000, maxKeys: 10 });
      expect(await limiter.take("x", 10, 4)).toMatchObject({ allowed: true, remaining: 6 });
      expect(await limiter.take("x", 10, 3)).toMatchObject({ allowed: true, remaining: 3 });
      const refused = await limiter.take("x", 10, 5);
      expect(refused).toMatchObject({ allowed: false, remaining: 3 });
      expect(limiter.take("x", 10, 5)).toMatchObject({ allowed: false, remaining: 3 });
      expect(Math.round(refused.retryMs / 3_600_000)).toBe(kind === "token_bucket" ? 2 : 10);
      expect(await limiter.take("x", 10, 3)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await limiter.take("x", 10, 1)).toMatchObject({ allowed: false, remaining: 0 });
    },
  );

  it("A client over the limit is refused without a call to the store until it may try again", async () => {
    const kv = await testStore();
    const limiter = new KvRateLimitStore(kv).limiter({ kind: "token_bucket", name: "p", windowMs: 300, maxKeys: 10 });
    await limiter.take("x", 1);
    await limiter.take("x", 1);
    const local = limiter.take("x", 1);
    expect(local).not.toBeInstanceOf(Promise);
    expect(local).toMatchObject({ allowed: false, remaining: 0 });
    // A higher limit than the one that was exceeded has to be asked for.
    expect(limiter.take("x", 2)).toBeInstanceOf(Promise);
    await until(async () => (await limiter.take("x", 1)).allowed);
  });

  it("A sliding window allows requests again in the second and third window", async () => {
    const kv = await testStore();
    const limiter = new KvRateLimitStore(kv).limiter({ kind: "sliding_window", name: "p", windowMs: 200, maxKeys: 10 });
    for (let window = 0; window < 3; window++) {
      await until(async () => (await limiter.take("x", 2)).allowed);
      await until(async () => !(await limiter.take("x", 2)).allowed);
    }
  });

  it("A limiter neither opens nor stays closed for longer than a window if the clock of the server was set back", async () => {
    const kv = await testStore();
    const store = new KvRateLimitStore(kv);
    const later = Date.now() + 3_600_000;
    await kv.set("rate:1:p:x", later);
    const bucket = store.limiter({ kind: "token_bucket", name: "p", windowMs: 60_000, maxKeys: 10 });
    const refused = await bucket.take("x", 10);
    expect(refused.allowed).toBe(false);
    expect(refused.resetMs).toBeLessThanOrEqual(60_000);
    await kv.eval("return redis.call('SET', KEYS[1], cmsgpack.pack({tonumber(ARGV[1]), 10}))", ["rate:1:q:x"], [later]);
    const window = store.limiter({ kind: "sliding_window", name: "q", windowMs: 60_000, maxKeys: 10 });
    const full = await window.take("x", 10);
    expect(full.allowed).toBe(false);
    expect(full.retryMs).toBeLessThanOrEqual(61_000);
    // What is kept was moved: it does not start over with each request that is refused.
    expect(Number(await kv.get("rate:1:p:x"))).toBeLessThan(later - 3_000_000);
    const kept = await kv.eval<string>("return tostring(cmsgpack.unpack(redis.call('GET', KEYS[1]))[1])", [
      "rate:1:q:x",
    ]);
    expect(Number(kept)).toBeLessThan(later - 3_000_000);
  });

  it("A limiter leaves no key in the store after its window has passed", async () => {
    const kv = await testStore();
    const store = new KvRateLimitStore(kv);
    await store.limiter({ kind: "token_bucket", name: "p", windowMs: 50, maxKeys: 10 }).take("x", 2);
    await store.limiter({ kind: "sliding_window", name: "q", windowMs: 50, maxKeys: 10 }).take("x", 2);
    const count = async (): Promise<number> => {
      let keys = 0;
      for await (const _ of kv.scan()) keys++;
      return keys;
    };
    await until(async () => (await count()) === 0);
  });

  it.each([
    ["allow", [200, 200, 429]],
    ["deny", [503, 503, 503]],
  ] as const)("While the store is away, the rate limit follows onStoreError: %s", async (onStoreError, statuses) => {
    const server = await serverOfTest();
    const [one] = await twoApps(
      (app) => {
        app.enableRateLimit(RateLimitConfig.tokenBucket(2, 3600, { onStoreError }));
        app.get("/", () => "ok");
      },
      { url: server.url },
    );
    expect((await one.get("/")).headers.get("ratelimit-limit")).toBe("2");
    await server.kill();
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push((await one.get("/")).status);
    expect(seen).toEqual(statuses);
  });
});
