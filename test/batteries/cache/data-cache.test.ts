import { App, type Logger } from "stoa";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { MemoryCacheStore } from "../../../src/batteries/cache/memory-store.js";
import { currentWork, requestWork } from "../../../src/engines/db/request-work.js";
import { silent } from "./cached-app.js";

async function started(app = new App(), logger: Logger = silent): Promise<App> {
  app.logger = logger;
  await app.start();
  onTestFinished(() => app.stop());
  return app;
}

/** Makes 1, 2, 3 and so on. */
function counter() {
  const count = { made: 0, make: async () => ({ made: ++count.made }) };
  return count;
}

/** A value that is made when the test says so. */
function gate<T>() {
  let settle!: { resolve(value: T): void; reject(error: unknown): void };
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

/** The time limit of the test ends the wait. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Lets the seconds pass for the cache; timers go on. */
function pass(seconds: number): void {
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ["performance"] });
  vi.advanceTimersByTime(seconds * 1000);
}

afterEach(() => void vi.useRealTimers());

describe("app.cache.fetch()", () => {
  it("A value is made once and returned as a copy until its time is over", async () => {
    const app = await started();
    const count = counter();
    const first = await app.cache.fetch("k", { ttl: "1m", jitter: 0 }, count.make);
    first.made = 99;
    pass(59);
    expect(await app.cache.fetch("k", { ttl: "1m", jitter: 0 }, count.make)).toEqual({ made: 1 });
    expect(await app.cache.fetch("other", {}, count.make)).toEqual({ made: 2 });
    pass(2);
    expect(await app.cache.fetch("k", { ttl: "1m", jitter: 0 }, count.make)).toEqual({ made: 3 });
  });

  it("A random share of the time to live is taken off", async () => {
    const app = await started();
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    onTestFinished(() => void vi.restoreAllMocks());
    const count = counter();
    for (const key of ["a", "b"]) await app.cache.fetch(key, { ttl: 100, jitter: key === "a" ? 0.4 : 0 }, count.make);
    pass(79);
    expect(await app.cache.fetch("a", {}, count.make)).toEqual({ made: 1 });
    pass(2);
    expect(await app.cache.fetch("a", {}, count.make)).toEqual({ made: 3 });
    expect(await app.cache.fetch("b", {}, count.make)).toEqual({ made: 2 });
  });

  it("invalidateCache() drops values by their tags and by their key, with the responses of the same tags", async () => {
    const app = new App();
    app.get("/books", { cache: { tags: ["books"] } }, () => "list");
    await started(app);
    const count = counter();
    const get = (key: string) => app.cache.fetch(key, { tags: ["books"] }, count.make);
    await app.request("/books");
    await get("a");
    await get("b");
    expect(await app.invalidateCache("a")).toBe(1);
    expect([await get("a"), await get("b")]).toEqual([{ made: 3 }, { made: 2 }]);
    expect(await app.invalidateCache(["books"])).toBe(3);
    expect([await get("a"), await get("b")]).toEqual([{ made: 4 }, { made: 5 }]);
  });

  it("A value that is invalidated while it is made is not cached, and callers that wait for it make a new one", async () => {
    const app = await started();
    const [old, made] = [gate<string>(), counter()];
    const make = vi.fn(() => old.promise);
    const first = app.cache.fetch("k", { tags: ["t"] }, make);
    await until(() => make.mock.calls.length > 0);
    const second = app.cache.fetch("k", { tags: ["t"] }, made.make);
    await app.invalidateCache(["t"]);
    old.resolve("old");
    expect([await first, await second]).toEqual(["old", { made: 1 }]);
    expect(await app.cache.fetch("k", {}, made.make)).toEqual({ made: 1 });
  });

  it("Calls at the same time share one maker and its error, and the next call tries again", async () => {
    const app = await started();
    const failing = gate<string>();
    const make = vi.fn(() => failing.promise);
    const calls = Array.from({ length: 5 }, () => app.cache.fetch("k", {}, make));
    const results = Promise.allSettled(calls);
    await until(() => make.mock.calls.length > 0);
    failing.reject(new Error("no report"));
    expect((await results).map((result) => result.status === "rejected" && String(result.reason))).toEqual(
      Array.from({ length: 5 }, () => "Error: no report"),
    );
    expect(make).toHaveBeenCalledTimes(1);
    const good = counter();
    const values = await Promise.all(Array.from({ length: 5 }, () => app.cache.fetch("k", {}, good.make)));
    expect(values).toEqual(Array.from({ length: 5 }, () => ({ made: 1 })));
  });

  it("A call that has waited long enough for a maker makes the value itself", async () => {
    const app = await started();
    const make = vi.fn(() => gate<string>().promise);
    void app.cache.fetch("k", {}, make);
    await until(() => make.mock.calls.length > 0);
    expect(await app.cache.fetch("k", { wait: "1ms" }, () => "mine")).toBe("mine");
  });

  it("An expired value is returned while one call makes a new one outside of its request", async () => {
    const app = new App();
    const next = gate<string>();
    const works: unknown[] = [];
    app.use(requestWork());
    app.get("/", () =>
      app.cache.fetch("k", { ttl: 10, staleWhileRevalidate: 60 }, () => {
        works.push(currentWork() === null ? "outside" : "inside");
        return works.length === 1 ? "old" : next.promise;
      }),
    );
    await started(app);
    const ask = async (): Promise<string> => (await app.request("/")).text();
    expect(await ask()).toBe("old");
    pass(11);
    expect([await ask(), await ask()]).toEqual(["old", "old"]);
    next.resolve("new");
    await until(async () => (await ask()) === "new");
    expect(works).toEqual(["inside", "outside"]);
  });

  it("At most 100 values are renewed at once", async () => {
    const app = await started();
    const keys = Array.from({ length: 101 }, (_, index) => `k${index}`);
    const options = { ttl: 10, staleWhileRevalidate: 60 };
    for (const key of keys) await app.cache.fetch(key, options, () => "old");
    pass(11);
    const next = gate<string>();
    const make = vi.fn(() => next.promise);
    for (const key of keys) expect(await app.cache.fetch(key, options, make)).toBe("old");
    next.resolve("new");
    await until(async () => (await app.cache.fetch(keys[0]!, options, make)) === "new");
    expect(make).toHaveBeenCalledTimes(100);
  });

  it("A failed renewal is logged, and the expired value stays in use for its time", async () => {
    const lines: string[] = [];
    const logger: Logger = { ...silent, error: (text: string) => void lines.push(text), child: () => logger };
    const app = await started(new App(), logger);
    const fail = async (): Promise<string> => {
      throw new Error("no report");
    };
    await app.cache.fetch("k", { ttl: 10, staleIfError: 60 }, () => "old");
    pass(11);
    expect(await app.cache.fetch("k", {}, fail)).toBe("old");
    expect(lines).toEqual(['no new value of the key "k" was cached']);
    pass(60);
    await expect(app.cache.fetch("k", {}, fail)).rejects.toThrow("no report");
  });

  it("A value is what JSON makes of it, for the call that made it too", async () => {
    const app = await started();
    const make = () => ({ at: new Date(0), big: 2n ** 60n, tags: new Set(["a"]), none: undefined });
    const json = { at: "1970-01-01T00:00:00.000Z", big: "1152921504606846976", tags: ["a"] };
    for (let i = 0; i < 2; i++) expect(await app.cache.fetch("k", {}, make)).toEqual(json);
    expect(await app.cache.fetch("nothing", {}, () => null)).toBeNull();
  });

  it("A value larger than maxEntrySize is returned and not cached", async () => {
    const app = await started(new App().enableCaching({ maxEntrySize: 2000 }));
    const make = vi.fn(() => "x".repeat(2000));
    for (let i = 0; i < 2; i++) expect(await app.cache.fetch("k", {}, make)).toHaveLength(2000);
    expect(make).toHaveBeenCalledTimes(2);
  });

  it("No key of a value is that of a response", async () => {
    const found: string[] = [];
    class Listed extends MemoryCacheStore {
      override find(key: string, field: never): ReturnType<MemoryCacheStore["find"]> {
        found.push(key);
        return super.find(key, field);
      }
    }
    const app = new App().enableCaching({ store: new Listed(10_000) }).get("/books", () => [1]);
    await started(app);
    await app.request("/books");
    expect(await app.cache.fetch(found[0]!, {}, () => "own")).toBe("own");
  });

  it("The value is made for each call while a store fails", async () => {
    class AbsentStore extends MemoryCacheStore {
      override find(): never {
        throw new Error("the store is away");
      }
      override begin(): never {
        throw new Error("the store is away");
      }
    }
    const app = await started(new App().enableCaching({ store: new AbsentStore(1000) }));
    const count = counter();
    expect(await app.cache.fetch("k", {}, count.make)).toEqual({ made: 1 });
    expect(await app.cache.fetch("k", {}, count.make)).toEqual({ made: 2 });
  });

  it("A call before the start fails, and those after it do not", async () => {
    const app = new App().enableCaching();
    await expect(app.cache.fetch("k", {}, () => 1)).rejects.toThrow("app.cache");
    await started(app);
    expect(await app.cache.fetch("k", {}, () => 2)).toBe(2);
  });

  it("Values without JSON, wrong arguments and calls before the start are errors", async () => {
    const early = new App();
    await expect(early.cache.fetch("k", {}, () => 1)).rejects.toThrow("app.cache was used before the application");
    const app = await started();
    const refused = (value: unknown) => expect(app.cache.fetch("k", {}, () => value)).rejects;
    await refused(undefined).toThrow(
      'the value of the key "k" is undefined, which has no JSON: return null for nothing',
    );
    await refused({ parts: [new WeakMap()] }).toThrow("result.parts[0] is an object of class WeakMap");
    await expect(app.cache.fetch("", {}, () => 1)).rejects.toThrow("a key of the cache is a text");
    await expect(app.cache.fetch("k", { ttl: "soon" as never }, () => 1)).rejects.toThrow("option 'ttl'");
    await expect(app.cache.fetch("k", {} as never, undefined as never)).rejects.toThrow("a function that makes");
  });
});
