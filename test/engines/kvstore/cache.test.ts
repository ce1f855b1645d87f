import type { TestClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { type CacheEntry, cacheTime } from "../../../src/batteries/cache/store.js";
import { decodeEntry, encodeEntry, KvCacheStore } from "../../../src/engines/kvstore/stores/cache.js";
import { invalidateLua, sweepLua } from "../../../src/engines/kvstore/stores/cache-lua.js";
import { service } from "../../support/service.js";
import { twoClients } from "./apps.js";
import { cli, serverOfTest } from "./redis-servers.js";
import { testStore, until } from "./store.js";

const noField = (): undefined => undefined;

function entry(change: Partial<CacheEntry> = {}): CacheEntry {
  const now = cacheTime();
  return {
    status: 200,
    type: "text/plain",
    fields: ["ETag", '"1"'],
    body: "text ü",
    tags: ["books"],
    vary: [],
    madeAt: now,
    initialAgeMs: 0,
    date: Date.now(),
    freshUntil: now + 60_000,
    staleWhileRevalidateMs: 0,
    staleIfErrorMs: 0,
    mayBeStale: true,
    size: 100,
    ...change,
  };
}

describe("a cache entry as bytes", () => {
  it.each([[null], ["text ü"], [""], [Buffer.from([0, 255, 1])]])(
    "A decoded cache entry equals the encoded one: %j",
    (body) => {
      const whole = entry({ body, vary: [["accept", null]] });
      expect(decodeEntry(encodeEntry(whole))).toEqual(whole);
    },
  );

  it.each([
    Buffer.alloc(0),
    Buffer.from("xyz"),
    Buffer.from([0, 0, 0, 9, 1]),
    Buffer.from("\0\0\0\x02[]"),
    Buffer.from("\0\0\0\x06[1,{}]"),
    // A version whose entries have other names.
    encodeEntry(entry({ initialAgeMs: undefined as never })),
  ])("Bytes that are not a cache entry are decoded to undefined", (bytes) => {
    expect(decodeEntry(bytes)).toBeUndefined();
  });
});

describe.skipIf(!service("redis"))("a response cache in the key-value store", () => {
  it("The cache in the key-value store finds the stored entry, with bodies of text and bytes", async () => {
    const store = new KvCacheStore(await testStore());
    expect(await store.find("k", noField)).toBeUndefined();
    const whole = entry({ body: Buffer.from([1, 2, 255]) });
    expect(await store.put(await store.begin(), "k", whole)).toBe(true);
    expect(await store.find("k", noField)).toEqual(whole);
    await store.remove("k");
    expect(await store.find("k", noField)).toBeUndefined();
  });

  it("The cache finds the entry for the header fields of the request, also in another process", async () => {
    const kv = await testStore();
    const [one, two] = [new KvCacheStore(kv), new KvCacheStore(kv)];
    const ticket = await one.begin();
    await one.put(ticket, "k", entry({ body: "gzip", vary: [["accept-encoding", "gzip"]] }));
    await one.put(ticket, "k", entry({ body: "plain", vary: [["accept-encoding", null]] }));
    await two.put(ticket, "k", entry({ body: "german", vary: [["accept-language", "de"]] }));
    const ask = async (store: KvCacheStore, fields: Record<string, string>): Promise<unknown> =>
      (await store.find("k", (name) => fields[name]))?.body;
    for (const store of [one, two, new KvCacheStore(kv)]) {
      expect(await ask(store, { "accept-encoding": "gzip" })).toBe("gzip");
      expect(await ask(store, {})).toBe("plain");
      expect(await ask(store, { "accept-encoding": "br" })).toBeUndefined();
      expect(await ask(store, { "accept-encoding": "br", "accept-language": "de" })).toBe("german");
    }
  });

  it("The number of cached variants of one URL is bounded", async () => {
    const kv = await testStore();
    const store = new KvCacheStore(kv);
    const ticket = await store.begin();
    for (let i = 0; i < 50; i++) await store.put(ticket, "k", entry({ vary: [["accept", `type/${i}`]] }));
    expect((await store.find("k", () => "type/49"))?.body).toBe("text ü");
    let found = 0;
    for (let i = 0; i < 50; i++) if (await store.find("k", () => `type/${i}`)) found++;
    expect(found).toBe(32);
  });

  it("Invalidation of a tag counts and drops its entries, for all processes", async () => {
    const kv = await testStore();
    const [one, two] = [new KvCacheStore(kv), new KvCacheStore(kv)];
    const ticket = await one.begin();
    await one.put(ticket, "a", entry({ tags: ["books", "all"] }));
    await one.put(ticket, "b", entry({ tags: ["books"] }));
    await one.put(ticket, "c", entry({ tags: ["all"] }));
    expect(await two.invalidate(["books", "none"])).toBe(2);
    expect(await one.find("a", noField)).toBeUndefined();
    expect(await one.find("b", noField)).toBeUndefined();
    expect(await one.find("c", noField)).toBeDefined();
    expect(await two.invalidate(["all"])).toBe(1);
    expect(await two.invalidate([])).toBe(0);
    let keys = 0;
    for await (const key of kv.scan()) if (!/:gone:|:clock$/.test(key)) keys++;
    expect(keys).toBe(0);
  });

  it("An invalidation deletes a bounded number of entries at once, and the others later, but none is found", async () => {
    // A busy machine may take long for so many.
    const kv = await testStore({ commandTimeout: 60 });
    const store = new KvCacheStore(kv);
    const ticket = await store.begin();
    const keys = Array.from({ length: 1000 }, (_, i) => `k${i}`);
    const others = keys.slice(0, 10);
    await Promise.all(keys.map((key) => store.put(ticket, key, entry({ tags: ["books", "all"] }))));
    const left = async (): Promise<number> => {
      let count = 0;
      for await (const key of kv.scan()) if (!/:gone:|:clock$|:tag:|:dead:/.test(key)) count++;
      return count;
    };
    const time = (await store.begin()) + 1;
    const invalidate = kv.script<[number, ...string[]]>(invalidateLua);
    const [dropped, ...dead] = await invalidate.run(["cache:{0}"], [time, store.tagId("books")]);
    expect([dropped, dead.length, await left()]).toEqual([1000, 1, 800]);
    const found = await Promise.all(keys.map((key) => store.find(key, noField)));
    expect(found.filter((item) => item !== undefined)).toEqual([]);
    const again = await store.begin();
    for (const key of others) expect(await store.put(again + 1, key, entry({ tags: ["books", "all"] }))).toBe(true);
    while ((await kv.script<number>(sweepLua).run(["cache:{0}"], [dead[0]!])) === 1);
    expect(await left()).toBe(10);
    for (const key of others) expect(await store.find(key, noField)).toBeDefined();
    expect(await store.invalidate(["all"])).toBe(10);
    expect(await left()).toBe(0);
    await Promise.all(keys.map(async (key) => store.put(await store.begin(), key, entry())));
    expect(await store.invalidate(["books"])).toBe(1000);
    await until(async () => (await left()) === 0);
    await until(async () => {
      for await (const key of kv.scan({ match: "*:dead:*" })) return key === undefined;
      return true;
    });
  });

  it("A response that began before an invalidation of its tag is not cached", async () => {
    const kv = await testStore();
    const [one, two] = [new KvCacheStore(kv), new KvCacheStore(kv)];
    const before = await one.begin();
    await two.invalidate(["books"]);
    const after = await one.begin();
    expect(await one.put(before, "k", entry({ tags: ["books"] }))).toBe(false);
    expect(await one.find("k", noField)).toBeUndefined();
    expect(await one.put(before, "k", entry({ tags: ["else"] }))).toBe(true);
    expect(await one.put(after, "k", entry({ tags: ["books"] }))).toBe(true);
  });

  it("Nothing stale is served under concurrent writes and invalidations", async () => {
    const kv = await testStore();
    const stores = [new KvCacheStore(kv), new KvCacheStore(kv)];
    let version = 0;
    const write = async (store: KvCacheStore): Promise<void> => {
      version++;
      await store.invalidate(["books"]);
    };
    const read = async (store: KvCacheStore): Promise<void> => {
      const least = version;
      const kept = await store.find("k", noField);
      if (kept !== undefined) {
        // Every version that was invalidated before this search began must be gone.
        if (Number(kept.body) < least) invalidated.push([Number(kept.body), least]);
        return;
      }
      const ticket = await store.begin();
      const body = String(version);
      await new Promise((resolve) => setImmediate(resolve));
      await store.put(ticket, "k", entry({ body }));
    };
    const invalidated: [number, number][] = [];
    for (let round = 0; round < 40; round++) {
      await write(stores[round % 2]!);
      await Promise.all(Array.from({ length: 10 }, (_, i) => read(stores[i % 2]!)));
      // A change in the middle of reads: those that began before it must not be kept after it.
      const reads = Array.from({ length: 6 }, (_, i) => read(stores[i % 2]!));
      await write(stores[(round + 1) % 2]!);
      await Promise.all(reads);
      const kept = await stores[0]!.find("k", noField);
      if (kept !== undefined) expect(Number(kept.body)).toBe(version);
    }
    expect(invalidated).toEqual([]);
  });

  it("An entry whose tag the server has evicted is not found", async () => {
    const kv = await testStore();
    const store = new KvCacheStore(kv);
    await store.put(await store.begin(), "k", entry());
    for await (const key of kv.scan({ match: "*:tag:*" })) await kv.delete(key);
    expect(await store.find("k", noField)).toBeUndefined();
  });

  it("Cached entries expire with their time", async () => {
    const kv = await testStore();
    const store = new KvCacheStore(kv);
    await store.put(await store.begin(), "k", entry({ freshUntil: cacheTime() + 60 }));
    await until(async () => (await store.find("k", noField)) === undefined);
    const old = entry({ freshUntil: cacheTime() - 1 });
    expect(await store.put(await store.begin(), "old", old)).toBe(true);
    expect(await store.find("old", noField)).toBeUndefined();
    const stale = entry({ freshUntil: cacheTime() - 1, staleIfErrorMs: 60_000 });
    await store.put(await store.begin(), "stale", stale);
    expect(await store.find("stale", noField)).toBeDefined();
  });

  it("A cached response is served to all applications until one of them invalidates it", async () => {
    let made = 0;
    const [one, two] = await twoClients((app) => {
      app.enableCaching({ ttl: 600 });
      app.get("/books", { cache: { tags: ["books"] } }, () => ({ made: ++made }));
      app.post("/drop", async () => ({ dropped: await app.invalidateCache(["books"]) }));
    });
    const statusOf = async (client: TestClient): Promise<unknown> =>
      (await client.get("/books")).headers.get("x-cache");
    const found = async (client: TestClient): Promise<number> => {
      const { made } = (await (await client.get("/books")).json()) as { made: number };
      return made;
    };
    expect(await statusOf(one)).toBe("MISS");
    // A response is stored after it was sent: a request that comes at once may be the next that makes it.
    await until(async () => (await statusOf(one)) === "HIT");
    expect(await statusOf(two)).toBe("HIT");
    const before = made;
    expect(await found(two)).toBeLessThanOrEqual(before);
    expect(await (await two.post("/drop")).json()).toEqual({ dropped: 1 });
    await until(async () => (await statusOf(one)) === "MISS");
    await until(async () => (await statusOf(one)) === "HIT");
    expect(await found(two)).toBeGreaterThan(before);
  });

  it("A response under way while another application invalidates its tag is not cached", async () => {
    let made = 0;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const [one, two] = await twoClients((app) => {
      app.get("/books", { cache: { tags: ["books"] } }, async () => {
        const version = ++made;
        if (version === 1) await gate;
        return { version };
      });
      app.post("/drop", async () => ({ dropped: await app.invalidateCache("books") }));
    });
    const slow = one.get("/books");
    await until(() => made === 1);
    await two.post("/drop");
    release();
    expect(await (await slow).json()).toEqual({ version: 1 });
    expect(await (await two.get("/books")).json()).toEqual({ version: 2 });
    expect(await (await one.get("/books")).json()).toEqual({ version: 2 });
  });

  it("A response that is not cached costs two calls of the store, and one each for the limit and the circuit", async () => {
    const server = await serverOfTest();
    const [one] = await twoClients(
      (app) => {
        app.enableCaching();
        app.get("/plain/{id}", () => "ok");
        app.get(
          "/guarded/{id}",
          { rateLimit: { maxRequests: 100, windowSecs: 3600 }, circuitBreaker: true },
          () => "ok",
        );
      },
      { url: server.url },
    );
    const scripts = async (): Promise<number> =>
      Number(/evalsha:calls=(\d+)/.exec(await cli(server.port, "info", "commandstats"))?.[1]);
    const costOf = async (path: string, least: number): Promise<number> => {
      const before = await scripts();
      expect((await one.get(path)).headers.get("x-cache")).toBe("MISS");
      // It is stored after it was sent.
      await until(async () => (await scripts()) - before >= least);
      return (await scripts()) - before;
    };
    // The first call of a script fails, and sends its text. The second request waits until the response is stored.
    for (const path of ["/plain/1", "/plain/1", "/guarded/1", "/guarded/1"]) await one.get(path);
    expect(await costOf("/plain/2", 2)).toBe(2);
    // A circuit is believed to be closed for a moment.
    expect([3, 4]).toContain(await costOf("/guarded/2", 3));
  });

  it("A ticket that came with a missing entry notices an invalidation since then", async () => {
    const store = new KvCacheStore(await testStore());
    expect(await store.find("k", noField)).toBeUndefined();
    await store.invalidate(["books"]);
    const ticket = store.begin("k");
    expect(ticket).toBeTypeOf("number");
    expect(await store.put(await ticket, "k", entry())).toBe(false);
    expect(await store.put(await store.begin("k"), "k", entry())).toBe(true);
  });

  it("Handlers make the responses while the store of the cache is away", async () => {
    const server = await serverOfTest();
    let made = 0;
    const [one] = await twoClients(
      (app) => {
        app.enableCaching();
        app.get("/books", () => ({ made: ++made }));
      },
      { url: server.url },
    );
    // A response is stored after it was sent.
    await until(async () => (await one.get("/books")).headers.get("x-cache") === "HIT");
    await server.kill();
    // Responses that are kept near are believed for a second.
    await until(async () => {
      const response = await one.get("/books");
      expect(response.status).toBe(200);
      return ((await response.json()) as { made: number }).made === 2;
    });
  });
});
