import { App, type Logger } from "stoa";
import { describe, expect, it } from "vitest";
import { deltaOf, parseCacheControl } from "../../../src/batteries/cache/cache-control.js";
import { cacheKey } from "../../../src/batteries/cache/cache-key.js";
import { ExcludedPaths } from "../../../src/batteries/cache/excluded-paths.js";
import { MemoryCacheStore } from "../../../src/batteries/cache/memory-store.js";
import type { CacheEntry } from "../../../src/batteries/cache/store.js";
import { Request } from "../../../src/http/request.js";
import { fakeSource } from "../../http/fake-source.js";
import fc, { runs } from "../../support/properties.js";

describe("Cache-Control", () => {
  const name = fc.constantFrom("no-store", "no-cache", "private", "max-age", "s-maxage", "x-ext", "must-revalidate");
  const argument = fc.oneof(
    fc.constant(null),
    fc.integer({ min: 0, max: 1e6 }).map(String),
    fc
      .string({ unit: fc.constantFrom("a", ",", " ", "=", '"', "\\", "no-store"), maxLength: 6 })
      .map((text) => ({ text })),
  );
  const blank = fc.constantFrom("", " ", "\t", "  ");
  const style = fc.record({ before: blank, after: blank, upper: fc.boolean(), quoted: fc.boolean() });

  it("Cache-Control is read in any case and spacing, quoted or not", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, argument, style), { selector: ([key]) => key }), (list) => {
        const text = list
          .map(([key, value, { before, after, upper, quoted }]) => {
            const written = upper ? key.toUpperCase() : key;
            if (value === null) return before + written + after;
            const quote = (raw: string): string => `"${raw.replace(/["\\]/g, "\\$&")}"`;
            return `${before}${written}${after}=${before}${typeof value === "object" ? quote(value.text) : quoted ? quote(value) : value}${after}`;
          })
          .join(",");
        const expected = list.map(([key, value]) => [
          key,
          value === null || typeof value === "string" ? value : value.text,
        ]);
        if (expected.length > 0) expect([...parseCacheControl(text)!]).toEqual(expected);
      }),
    );
  });

  it("A directive that forbids caching is never lost, whatever surrounds it", () => {
    const junk = fc.string({ unit: fc.constantFrom("a", "=", ";", " ", "1", "-"), maxLength: 8 });
    fc.assert(
      fc.property(
        junk,
        fc.constantFrom("no-store", "PRIVATE", "No-Cache"),
        fc.constantFrom("", ";", "; x", "=x", " "),
        junk,
        (before, forbids, tail, after) => {
          expect(parseCacheControl(`${before},${forbids}${tail},${after}`)?.has(forbids.toLowerCase())).toBe(true);
        },
      ),
    );
  });

  it("Any text is parsed as Cache-Control without an error", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const directives = parseCacheControl(text);
        expect(directives === null || directives instanceof Map).toBe(true);
      }),
    );
  });

  it("Cache-Control is parsed in linear time", () => {
    const hostile = `${'a="'.repeat(19_999)}\\`;
    expect(parseCacheControl(hostile) === null).toBe(true);
    expect(parseCacheControl(`${",".repeat(60_000)}max-age=1`)?.get("max-age")).toBe("1");
  });

  it("Seconds of Cache-Control are read as milliseconds, and invalid ones as NaN", () => {
    const directives = parseCacheControl("a=1, b=01, c=1.5, d=-1, e, f=1e3, g=99999999999")!;
    const read = ["a", "b", "c", "d", "e", "f", "g", "h"].map((key) => deltaOf(directives, key));
    expect(read).toEqual([1000, 1000, NaN, NaN, NaN, NaN, 2_147_483_648_000, undefined]);
  });
});

describe("the key of a response", () => {
  const keyOf = (target: string, host = "a.example"): string =>
    cacheKey("GET", new Request(fakeSource("GET", target, [["Host", host]])));

  it("The key of a response has the parameters sorted by name, and those of one name in their order", () => {
    expect(keyOf("/?b=3&a=1&c=4&a=2&b=0")).toContain("\na=1&a=2&b=3&b=0&c=4\n");
    expect(keyOf("/?a=2&a=1")).toContain("\na=2&a=1\n");
  });

  const segment = fc.string({
    unit: fc.constantFrom("a", "b", "/", "%2F", "%20", "é", "~"),
    minLength: 1,
    maxLength: 6,
  });
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c", "+", "1", "%26", "%3D"), minLength: 1, maxLength: 4 });
  const pairs = fc.uniqueArray(fc.tuple(word, word), { selector: ([key]) => key, maxLength: 6 });
  const query = (list: readonly (readonly [string, string])[]): string =>
    list.map(([key, value]) => `${key}=${value}`).join("&");

  it("The key of a response does not depend on the order of parameters with different names", () => {
    fc.assert(
      fc.property(pairs, fc.infiniteStream(fc.nat()), (list, order) => {
        const shuffled = list
          .map((pair) => ({ pair, at: order.next().value as number }))
          .sort((x, y) => x.at - y.at)
          .map(({ pair }) => pair);
        expect(keyOf(`/p?${query(shuffled)}`)).toBe(keyOf(`/p?${query(list)}`));
      }),
    );
  });

  it("The key of a response depends on the order of values of one name", () => {
    expect(keyOf("/p?a=1&a=2")).not.toBe(keyOf("/p?a=2&a=1"));
    expect(keyOf("/p?b=0&a=1&a=2")).toBe(keyOf("/p?a=1&b=0&a=2"));
  });

  it("The key of a response differs whenever the handler's request differs", () => {
    const seen = (target: string): string => {
      const request = new Request(fakeSource("GET", target, [["Host", "a"]]));
      const values = [...new Set([...request.query.keys()])].sort().map((key) => [key, request.query.getAll(key)]);
      return JSON.stringify([request.path.split("/").map((part) => decodeURIComponent(part)), values]);
    };
    const target = fc
      .tuple(segment, pairs)
      .map(([path, list]) => `/${path}${list.length > 0 ? `?${query(list)}` : ""}`);
    fc.assert(
      fc.property(target, target, (a, b) => {
        fc.pre(seen(a) !== seen(b));
        expect(keyOf(a)).not.toBe(keyOf(b));
      }),
      { numRuns: runs(1000) },
    );
  });

  it("The key of a response is the same for unneeded escapes, and for their case", () => {
    expect(keyOf("/%61%7E%2f?%62=%c3%a9")).toBe(keyOf("/a~%2F?b=%C3%A9"));
    expect(keyOf("/a%2Fb")).not.toBe(keyOf("/a/b"));
    expect(keyOf("/a?x=%26y=1")).not.toBe(keyOf("/a?x=&y=1"));
    expect(keyOf("/a", "A.Example:80")).toBe(keyOf("/a", "a.example:80"));
    expect(keyOf("/a", "b.example")).not.toBe(keyOf("/a", "a.example"));
  });
});

describe("excluded paths", () => {
  it("An excluded path covers the paths below it at a segment, and none that only begins alike", () => {
    const excluded = new ExcludedPaths(["/admin", "/Söme/x/"]);
    for (const path of ["/admin", "/ADMIN/", "/admin/x", "/%61dmin%2Fx", "//admin", "/s%C3%B6me/X", "/s%C3%B6me/x/y"]) {
      expect(excluded.has(path), path).toBe(true);
    }
    for (const path of ["/admins", "/a", "/", "/x/admin", "/s%C3%B6me", "/%2561dmin"]) {
      expect(excluded.has(path), path).toBe(false);
    }
  });

  it("The excluded path '/' covers the root page alone", () => {
    const excluded = new ExcludedPaths(["/"]);
    expect([excluded.isEmpty, excluded.has("/"), excluded.has("//"), excluded.has("/anything")]).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});

describe("the store in memory", () => {
  const entry = (size: number, tags: string[] = [], vary: [string, string | null][] = []): CacheEntry => ({
    status: 200,
    type: null,
    fields: [],
    body: "x",
    tags,
    vary,
    madeAt: 0,
    initialAgeMs: 0,
    date: 0,
    freshUntil: 1,
    staleWhileRevalidateMs: 0,
    staleIfErrorMs: 0,
    mayBeStale: true,
    size,
  });
  const none = (): undefined => undefined;

  it("The store in memory never exceeds its limit, and drops the least recently used entry", () => {
    const store = new MemoryCacheStore(1000);
    for (const key of ["a", "b", "c"]) store.put(store.begin(), key, entry(300));
    store.find("a", none);
    store.put(store.begin(), "d", entry(300));
    expect(["a", "b", "c", "d"].map((key) => store.find(key, none) !== undefined)).toEqual([true, false, true, true]);
    store.put(store.begin(), "huge", entry(1001));
    expect([store.find("huge", none), store.entries, store.size]).toEqual([undefined, 3, 900]);
  });

  it("A full store accepts an entry without a search through the dropped ones", () => {
    const room = 100_000;
    const store = new MemoryCacheStore(room * 100);
    for (let i = 0; i < room * 3; i++) store.put(store.begin(), `${i}`, entry(100, [`${i}`, "all"]));
    expect([store.entries, store.find(`${room * 2 - 1}`, none)]).toEqual([room, undefined]);
    expect(store.invalidate(["all"])).toBe(room);
    expect([store.entries, store.size]).toEqual([0, 0]);
  });

  it("The store in memory agrees with a simple model under any sequence of calls", () => {
    const key = fc.constantFrom("a", "b", "c");
    const tag = fc.constantFrom("x", "y");
    const step = fc.oneof(
      fc.record({
        do: fc.constant("put" as const),
        key,
        tags: fc.uniqueArray(tag),
        language: fc.constantFrom("en", "de", null),
      }),
      fc.record({ do: fc.constant("invalidate" as const), tag }),
      fc.record({ do: fc.constant("remove" as const), key }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const store = new MemoryCacheStore(1e6);
        const model = new Map<string, { entry: CacheEntry; key: string }>();
        for (const action of steps) {
          if (action.do === "put") {
            const made = entry(10, action.tags, [["accept-language", action.language]]);
            expect(store.put(store.begin(), action.key, made)).toBe(true);
            model.set(`${action.key} ${action.language}`, { entry: made, key: action.key });
          } else if (action.do === "remove") {
            store.remove(action.key);
            for (const [id, kept] of model) if (kept.key === action.key) model.delete(id);
          } else {
            const gone = [...model].filter(([, kept]) => kept.entry.tags.includes(action.tag));
            expect(store.invalidate([action.tag])).toBe(gone.length);
            for (const [id] of gone) model.delete(id);
          }
          for (const at of ["a", "b", "c"]) {
            for (const language of ["en", "de", null]) {
              expect(store.find(at, () => language ?? undefined)).toBe(model.get(`${at} ${language}`)?.entry);
            }
          }
          expect([store.entries, store.size]).toEqual([model.size, model.size * 10]);
        }
      }),
    );
  });

  it("An entry whose tag was invalidated while it was made is not stored, after any number of invalidations", () => {
    const store = new MemoryCacheStore(1e6);
    const ticket = store.begin();
    store.invalidate(["x"]);
    expect(store.put(ticket, "a", entry(1, ["x"]))).toBe(false);
    expect(store.put(ticket, "b", entry(1, ["y"]))).toBe(true);
    for (let i = 0; i < 30_000; i++) store.invalidate([`t${i}`]);
    expect(store.put(ticket, "a", entry(1, ["x"]))).toBe(false);
    expect(store.put(store.begin(), "a", entry(1, ["x"]))).toBe(true);
  });

  it("The number of variants of one address in the store is bounded", () => {
    const store = new MemoryCacheStore(1e6);
    for (let i = 0; i < 100; i++) store.put(store.begin(), "a", entry(1, [], [["x", String(i)]]));
    expect(store.entries).toBe(32);
    expect(store.find("a", () => "99")).toBeDefined();
    expect(store.find("a", () => "0")).toBeUndefined();
  });
});

describe("the log of the response cache", () => {
  it("Invalidations that fail because the store is away get one log line in ten seconds", async () => {
    class AbsentStore extends MemoryCacheStore {
      override invalidate(): never {
        return Promise.reject(new Error("the store is away")) as never;
      }
    }
    const lines: string[] = [];
    const write = (text: string): void => void lines.push(text);
    const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
    const app = new App().enableCaching({ store: new AbsentStore(1000) });
    app.logger = logger;
    await app.start();
    for (let i = 0; i < 20; i++) await expect(app.invalidateCache("a")).rejects.toMatchObject({ status: 503 });
    expect(lines).toEqual(["the store of the cache failed: handlers run for each request"]);
    await app.stop();
  });
});
