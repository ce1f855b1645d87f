import { openKvStore } from "stoa";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CacheEntry, cacheTime } from "../../../src/batteries/cache/store.js";
import type { KvStore } from "../../../src/engines/kvstore/kvstore.js";
import { KvCacheStore } from "../../../src/engines/kvstore/stores/cache.js";
import { NearCacheStore } from "../../../src/engines/kvstore/stores/near-cache.js";
import { service } from "../../support/service.js";
import { serverOfTest } from "./redis-servers.js";
import { testStore, until } from "./store.js";

const noField = (): undefined => undefined;

function entry(body: string, change: Partial<CacheEntry> = {}): CacheEntry {
  const now = cacheTime();
  return {
    status: 200,
    type: "text/plain",
    fields: [],
    body,
    tags: ["books", "address"],
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

function near(kv: KvStore): NearCacheStore {
  return new NearCacheStore(kv, new KvCacheStore(kv));
}

/** Asks until the response comes from near: without a promise. */
async function untilNear(store: NearCacheStore, key: string): Promise<CacheEntry> {
  let found: unknown;
  await until(async () => {
    found = store.find(key, noField);
    if (!(found instanceof Promise)) return found !== undefined;
    await found;
    return false;
  });
  return found as CacheEntry;
}

async function bodyOf(store: NearCacheStore, key: string): Promise<unknown> {
  return (await store.find(key, noField))?.body;
}

describe.skipIf(!service("redis"))("responses of the key-value store that are kept near", () => {
  it("A near response is found without a round trip, by the process that made it and by others", async () => {
    const kv = await testStore();
    const [one, two] = [near(kv), near(kv)];
    const whole = entry("first");
    await one.put(await one.begin(), "k", whole);
    expect(await untilNear(one, "k")).toEqual(whole);
    expect(await untilNear(two, "k")).toEqual(whole);
  });

  it("A near response is dropped everywhere by an invalidation, a removal and a newer response", async () => {
    const kv = await testStore();
    const [one, two] = [near(kv), near(kv)];
    const fill = async (body: string): Promise<void> => {
      await one.put(await one.begin(), "k", entry(body));
      await untilNear(one, "k");
      await until(async () => (await bodyOf(two, "k")) === body);
      await untilNear(two, "k");
    };
    await fill("first");
    expect(await one.invalidate(["books"])).toBe(1);
    expect(await bodyOf(one, "k")).toBeUndefined();
    await until(async () => (await bodyOf(two, "k")) === undefined);
    await fill("second");
    await one.remove("k");
    expect(await bodyOf(one, "k")).toBeUndefined();
    await until(async () => (await bodyOf(two, "k")) === undefined);
    await fill("third");
    await fill("fourth");
  });

  it("A near response is not kept if it is invalidated while it is fetched", async () => {
    const kv = await testStore();
    const far = new KvCacheStore(kv);
    const one = new NearCacheStore(kv, far);
    await one.put(await one.begin(), "k", entry("first"));
    await untilNear(one, "k");
    await one.put(await one.begin(), "other", entry("other", { tags: ["other"] }));
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const find = far.find.bind(far);
    far.find = async (key, field) => {
      const found = await find(key, field);
      await held;
      return found;
    };
    await new KvCacheStore(kv).remove("k");
    await until(() => one.find("k", noField) instanceof Promise);
    await new KvCacheStore(kv).put(await far.begin(), "k", entry("second"));
    const fetched = one.find("k", noField);
    await new KvCacheStore(kv).invalidate(["books"]);
    // The message about the tag has come when a later one has.
    await new KvCacheStore(kv).invalidate(["other"]);
    await until(() => one.find("other", noField) instanceof Promise);
    release();
    expect((await fetched)?.body ?? "second").toBe("second");
    expect(await bodyOf(one, "k")).toBeUndefined();
  });

  it("A near response is not used when the store is away", async () => {
    const server = await serverOfTest();
    const kv = await openKvStore({ url: server.url });
    onTestFinished(() => kv.close());
    const one = near(kv);
    await one.put(await one.begin(), "k", entry("first"));
    await untilNear(one, "k");
    await server.kill();
    await until(async () => {
      const found = one.find("k", noField);
      if (!(found instanceof Promise)) return false;
      return found.then(
        () => false,
        () => true,
      );
    });
  });

  it("A near response is not used when it has expired", async () => {
    const one = near(await testStore());
    await one.put(await one.begin(), "k", entry("first"));
    await untilNear(one, "k");
    await one.put(await one.begin(), "short", entry("short", { freshUntil: cacheTime() - 1, staleIfErrorMs: 60_000 }));
    const found = one.find("short", noField);
    expect(found).toBeInstanceOf(Promise);
    expect((await found)?.body).toBe("short");
    expect(one.find("short", noField)).toBeInstanceOf(Promise);
  });
});
