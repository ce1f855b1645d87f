import { randomUUID } from "node:crypto";
import { App } from "stoa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../batteries/cache/cached-app.js";
import { service } from "../../support/service.js";
import { redisUrl, testStore, until } from "./store.js";

/** Applications that share the key-value store, and the store. */
async function apps(count: number) {
  const prefix = `test:${randomUUID()}:`;
  const kv = await testStore({ prefix });
  const start = async (): Promise<App> => {
    const app = new App().enableKvstore({ url: redisUrl, prefix, commandTimeout: 60 });
    app.logger = silent;
    await app.start();
    onTestFinished(() => app.stop());
    return app;
  };
  return { kv, apps: await Promise.all(Array.from({ length: count }, start)) };
}

/** A maker that ends when it is told to. */
function gated<T>(value: T) {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { make: vi.fn(() => gate.then(() => value)), release };
}

/** The key of the only lock. */
async function lockKey(kv: Awaited<ReturnType<typeof testStore>>): Promise<string> {
  for await (const key of kv.scan({ match: "lock:*" })) if (!key.endsWith(":token")) return key;
  return "";
}

describe.skipIf(!service("redis"))("values in the key-value store", () => {
  it("One maker at a time makes a value in all processes, and all get it", async () => {
    const { apps: all } = await apps(3);
    const { make, release } = gated({ report: 1 });
    const calls = all.flatMap((app) => [1, 2].map(() => app.cache.fetch("report", { wait: "1h", lease: "1h" }, make)));
    await until(() => make.mock.calls.length > 0);
    release();
    expect(await Promise.all(calls)).toEqual(calls.map(() => ({ report: 1 })));
    expect(make).toHaveBeenCalledTimes(1);
  });

  it("A maker that throws lets another process try", async () => {
    const {
      apps: [one, two],
    } = await apps(2);
    const fail = async (): Promise<number> => {
      throw new Error("no report");
    };
    await expect(one!.cache.fetch("k", {}, fail)).rejects.toThrow("no report");
    expect(await two!.cache.fetch("k", { wait: "1h" }, () => 2)).toBe(2);
    expect(await one!.cache.fetch("k", {}, fail)).toBe(2);
  });

  it("The value of a maker that has died is made by another process after the lease", async () => {
    const {
      kv,
      apps: [one, two],
    } = await apps(2);
    const { make, release } = gated(1);
    const first = one!.cache.fetch("k", { lease: "1h" }, make);
    await until(() => make.mock.calls.length > 0);
    const second = vi.fn(() => 2);
    const waiting = two!.cache.fetch("k", { wait: "1h" }, second);
    expect(await kv.ttl(await lockKey(kv))).toBeGreaterThan(600);
    expect(second).not.toHaveBeenCalled();
    // What a dead process leaves: a lock that nobody renews.
    await kv.expire(await lockKey(kv), 0.05);
    expect(await waiting).toBe(2);
    release();
    await first;
  });

  it("A process waits for a maker no longer than it is told to", async () => {
    const {
      apps: [one, two],
    } = await apps(2);
    const { make, release } = gated(1);
    const first = one!.cache.fetch("k", {}, make);
    await until(() => make.mock.calls.length > 0);
    expect(await two!.cache.fetch("k", { wait: "1ms" }, () => 2)).toBe(2);
    release();
    await first;
  });

  it("One process at a time renews an expired value while all return it", async () => {
    const { apps: all } = await apps(2);
    let [made, active, most] = [0, 0, 0];
    const make = async (): Promise<number> => {
      most = Math.max(most, ++active);
      await new Promise(setImmediate);
      active--;
      return ++made;
    };
    const options = { ttl: "1ms", staleWhileRevalidate: "1h", lease: "1h" } as const;
    await all[0]!.cache.fetch("k", options, make);
    await until(
      async () => Math.min(...(await Promise.all(all.map((app) => app.cache.fetch("k", options, make))))) > 5,
    );
    expect(most).toBe(1);
  });

  it("Keys that are not valid Unicode are different keys", async () => {
    const {
      apps: [app],
    } = await apps(1);
    const keys = ["user:\ud800", "user:\ud801", "user:\ufffd"];
    for (const key of keys) expect(await app!.cache.fetch(key, {}, () => keys.indexOf(key))).toBe(keys.indexOf(key));
    expect(await app!.invalidateCache(keys[1]!)).toBe(1);
    expect(await app!.cache.fetch(keys[0]!, {}, () => "again")).toBe(0);
  });

  it("An invalidation reaches the values of other processes, also from one that has none", async () => {
    const {
      apps: [one, two],
    } = await apps(2);
    let made = 0;
    const get = () => one!.cache.fetch("k", { tags: ["books"] }, () => ++made);
    expect([await get(), await get()]).toEqual([1, 1]);
    expect(await two!.invalidateCache(["books"])).toBe(1);
    await until(async () => (await get()) === 2);
  });
});
