import { App, Response } from "stoa";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pass, stopClock } from "../clock.js";
import { ask, CountedApp, silent } from "./cached-app.js";

beforeEach(() => {
  stopClock("Date");
  vi.setSystemTime(Date.UTC(2030, 0, 1));
});
afterEach(() => vi.useRealTimers());

/** Seconds for which an answer with these fields is given again, and whether it is kept at all. */
async function lifetime(headers: Record<string, string>, ttl = 300): Promise<number> {
  const { app } = new CountedApp().page("/a", headers);
  app.enableCaching({ ttl });
  await ask(app, "/a");
  const steps = [0, 1, 9, 10, 20, 59, 60, 299, 300, 3600, 100_000];
  let last = -1;
  let now = 0;
  for (const step of steps) {
    pass(step - now);
    now = step;
    const response = await app.request("/a", { headers: { "cache-control": "only-if-cached" } });
    if (response.status !== 200) break;
    last = step;
  }
  return last;
}

describe("the time for which a response is fresh (RFC 9111 section 4.2.1)", () => {
  it.each<[string, Record<string, string>, number]>([
    ["nothing said", {}, 299],
    ["max-age", { "Cache-Control": "max-age=10" }, 9],
    ["longer than the ttl", { "Cache-Control": "public, max-age=3601" }, 3600],
    ["s-maxage before max-age", { "Cache-Control": "max-age=3600, s-maxage=10" }, 9],
    ["any case and spacing", { "cache-control": " , MAX-AGE = 10 ," }, 9],
    ["a quoted argument", { "Cache-Control": 'max-age="10"' }, 9],
    ["max-age before Expires", { "Cache-Control": "max-age=10", Expires: "Tue, 01 Jan 2030 01:00:01 GMT" }, 9],
    ["Expires", { Expires: "Tue, 01 Jan 2030 00:00:10 GMT" }, 9],
    ["Expires by its Date", { Date: "Mon, 31 Dec 2029 23:59:50 GMT", Expires: "Tue, 01 Jan 2030 00:00:10 GMT" }, 9],
    ["a date that is none has expired", { Expires: "0" }, -1],
    ["max-age=0", { "Cache-Control": "max-age=0" }, -1],
    ["an argument that is no number", { "Cache-Control": "max-age=1x" }, -1],
    ["a negative one", { "Cache-Control": "max-age=-5" }, -1],
    ["two that contradict", { "Cache-Control": "max-age=60, max-age=10" }, -1],
    ["two that agree", { "Cache-Control": "max-age=10, max-age=10" }, 9],
    ["more than anybody can count", { "Cache-Control": "max-age=99999999999999999999" }, 100_000],
    ["the age that it had already", { "Cache-Control": "max-age=60", Age: "40" }, 10],
    ["the first of several ages", { "Cache-Control": "max-age=60", Age: "40, 59" }, 10],
    ["an age that is no number, which is ignored", { "Cache-Control": "max-age=60", Age: "forty" }, 59],
    ["a lifetime for shared caches (RFC 9213)", { "Cache-Control": "no-store", "CDN-Cache-Control": "max-age=10" }, 9],
    ["a lifetime for shared caches before Expires", { "CDN-Cache-Control": "public", Expires: "0" }, 299],
    ["shared caches forbidden to store", { "Cache-Control": "max-age=60", "CDN-Cache-Control": "no-store" }, -1],
    ["an invalid field for shared caches", { "Cache-Control": "max-age=10", "CDN-Cache-Control": "max-age=x" }, 9],
    ["junk in the field for shared caches", { "Cache-Control": "no-store", "CDN-Cache-Control": "max-age=10, &&" }, -1],
    [
      "a string in the field for shared caches",
      { "Cache-Control": "no-store", "CDN-Cache-Control": 'max-age="10"' },
      -1,
    ],
    ["junk beside a prohibition", { "Cache-Control": "max-age=10", "CDN-Cache-Control": "no-store, &&" }, -1],
    ["an empty field for shared caches", { "Cache-Control": "max-age=10", "CDN-Cache-Control": "" }, 9],
    ["the date that it had already", { "Cache-Control": "max-age=60", Date: "Mon, 31 Dec 2029 23:59:20 GMT" }, 10],
    ["no-transform and others that say nothing of it", { "Cache-Control": "no-transform, immutable, ext=1" }, 299],
  ])("The lifetime of a response in the cache follows its headers: %s", async (_name, headers, seconds) => {
    expect(await lifetime(headers)).toBe(seconds);
  });

  it.each([201, 302, 303, 307, 400, 404, 410, 429, 500, 503])(
    "A response with status %i is cached only if it states its lifetime",
    async (status) => {
      const app = new App().enableCaching();
      const init = (fields: Record<string, string>) => ({ status, headers: fields });
      app.get("/max-age", () => new Response("x", init({ "Cache-Control": "max-age=10" })));
      app.get("/expires", () => new Response("x", init({ Expires: "Tue, 01 Jan 2030 00:00:10 GMT" })));
      app.get("/nothing", () => new Response("x", init({})));
      app.get("/public", () => new Response("x", init({ "Cache-Control": "public" })));
      const second = async (path: string): Promise<string | null> => {
        await app.request(path);
        const response = await app.request(path);
        expect(response.status).toBe(status);
        return response.headers.get("x-cache");
      };
      expect([await second("/max-age"), await second("/expires")]).toEqual(["HIT", "HIT"]);
      expect([await second("/nothing"), await second("/public")]).toEqual(["MISS", "MISS"]);
    },
  );

  it("A ttl of 0 caches only responses that state their lifetime", async () => {
    expect(await lifetime({}, 0)).toBe(-1);
    expect(await lifetime({ "Cache-Control": "max-age=10" }, 0)).toBe(9);
  });

  it("The Age of a response is added to its age in the cache", async () => {
    const { app } = new CountedApp().page("/a", { Age: "40" });
    app.enableCaching();
    await ask(app, "/a");
    pass(5);
    expect((await app.request("/a")).headers.get("age")).toBe("45");
  });
});

describe("directives of clients (RFC 9111 section 5.2.1)", () => {
  async function aged(
    seconds: number,
    headers: Record<string, string> = { "Cache-Control": "max-age=60" },
  ): Promise<App> {
    const { app } = new CountedApp().page("/a", headers);
    app.enableCaching();
    await ask(app, "/a");
    pass(seconds);
    return app;
  }

  const cases: [asked: string, age: number, answer: string][] = [
    ["no-cache", 1, "MISS /a 2"],
    [" NO-CACHE ,x", 1, "MISS /a 2"],
    ["max-age=0", 1, "MISS /a 2"],
    ["max-age=10", 10, "HIT /a 1"],
    ["max-age=10", 11, "MISS /a 2"],
    ["max-age=ten", 1, "MISS /a 2"],
    ["min-fresh=20", 40, "HIT /a 1"],
    ["min-fresh=20", 41, "MISS /a 2"],
    ["max-stale", 1000, "STALE /a 1"],
    ["max-stale=10", 70, "STALE /a 1"],
    ["max-stale=10", 71, "MISS /a 2"],
    ["max-stale=10, max-age=65", 70, "MISS /a 2"],
    ["only-if-cached", 1, "HIT /a 1"],
    ["no-transform, foo", 1, "HIT /a 1"],
    ['a="no-cache', 1, "MISS /a 2"],
  ];
  it.each(cases)("The request directive %s is obeyed at the age of %d s", async (asked, age, answer) => {
    expect(await ask(await aged(age), "/a", { "cache-control": asked })).toBe(answer);
  });

  it("Pragma: no-cache is obeyed without Cache-Control", async () => {
    const app = await aged(1);
    expect(await ask(app, "/a", { pragma: "No-Cache" })).toBe("MISS /a 2");
    expect(await ask(app, "/a", { pragma: "no-cache", "cache-control": "max-age=60" })).toBe("HIT /a 2");
    expect(await ask(app, "/a", { pragma: "no-cachet" })).toBe("HIT /a 2");
  });

  it("The request directive only-if-cached gives 504 if nothing is cached, and runs no handler", async () => {
    const counted = new CountedApp().page("/a");
    counted.app.enableCaching();
    const response = await counted.app.request("/a", { headers: { "cache-control": "only-if-cached" } });
    expect([response.status, response.headers.get("content-type")]).toEqual([504, "application/problem+json"]);
    expect(counted.runs.size).toBe(0);
  });

  it("A new response for a no-cache request is cached for the others", async () => {
    const app = await aged(1);
    await ask(app, "/a", { "cache-control": "no-cache" });
    expect(await ask(app, "/a")).toBe("HIT /a 2");
  });

  it.each(["must-revalidate", "proxy-revalidate", "s-maxage=60"])(
    "A stale response with %s is not sent",
    async (directive) => {
      const app = await aged(61, { "Cache-Control": `max-age=60, ${directive}, stale-while-revalidate=600` });
      expect(await ask(app, "/a", { "cache-control": "max-stale" })).toBe("MISS /a 2");
    },
  );
});

describe("stale responses in place of errors", () => {
  function failing(headers: Record<string, string>, options = {}): { app: App; fail: (status: number) => void } {
    let status = 200;
    const app = new App().enableCaching({ ttl: 10, ...options });
    app.logger = silent;
    app.get("/a", () => {
      if (status === 599) throw new Error("x");
      return status === 200 ? new Response("good", { headers }) : new Response("bad", status);
    });
    return {
      app,
      fail: (next) => {
        status = next;
      },
    };
  }

  it("A stale response is sent in place of an error for the time that the response or the application states", async () => {
    for (const [headers, options] of [
      [{ "Cache-Control": "max-age=10, stale-if-error=20" }, {}],
      [{}, { staleIfError: 20 }],
    ] as const) {
      const { app, fail } = failing(headers, options);
      await ask(app, "/a");
      pass(29);
      for (const status of [500, 502, 599]) {
        fail(status);
        expect(await ask(app, "/a")).toBe("STALE good");
      }
      pass(1);
      fail(503);
      expect(await ask(app, "/a")).toBe("MISS bad");
    }
  });

  it("A stale response is not sent for 4xx, after a newer uncacheable response, or if that is forbidden", async () => {
    const { app, fail } = failing({ "Cache-Control": "max-age=10, stale-if-error=600" });
    await ask(app, "/a");
    pass(11);
    fail(404);
    expect(await ask(app, "/a")).toBe("MISS bad");
    fail(500);
    expect(await ask(app, "/a")).toBe("MISS bad");
    const strict = failing({ "Cache-Control": "max-age=10, must-revalidate" }, { staleIfError: 600 });
    await ask(strict.app, "/a");
    pass(11);
    strict.fail(500);
    expect(await ask(strict.app, "/a")).toBe("MISS bad");
  });

  it("A client can ask for a stale response in place of an error", async () => {
    const { app, fail } = failing({});
    await ask(app, "/a");
    pass(15);
    fail(500);
    expect(await ask(app, "/a", { "cache-control": "stale-if-error=10" })).toBe("STALE good");
    expect(await ask(app, "/a")).toBe("MISS bad");
  });
});
