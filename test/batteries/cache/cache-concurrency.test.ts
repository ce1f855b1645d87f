import { App, currentRequest, Response } from "stoa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { wire } from "../support.js";
import { ask, silent } from "./cached-app.js";

afterEach(() => vi.useRealTimers());

interface Run {
  readonly path: string;
  readonly signal: AbortSignal;
  answer(response: Response | string): void;
  fail(): void;
}

/** An application whose handlers wait to be told what to answer. */
function waiting(options = {}): { app: App; runs: Run[]; next(count: number): Promise<Run> } {
  const runs: Run[] = [];
  const app = new App().enableCaching(options);
  app.logger = silent;
  app.get(
    "/{name}",
    (request) =>
      new Promise((resolve, reject) => {
        const { path, signal } = request;
        runs.push({ path, signal, answer: resolve, fail: () => reject(new Error("x")) });
      }),
  );
  const next = async (count: number): Promise<Run> => {
    await app.start();
    await vi.waitFor(() => expect(runs.length).toBeGreaterThanOrEqual(count), { timeout: 20_000 });
    return runs[count - 1]!;
  };
  return { app, runs, next };
}

/** Lets everything that is ready run. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

const many = (app: App, count: number, path = "/a", headers = {}): Promise<string>[] =>
  Array.from({ length: count }, () => ask(app, path, headers));

describe("identical requests at the same time", () => {
  it("Each of several requests at once gets 500 if the response cannot be copied", async () => {
    const { app, runs, next } = waiting();
    const bytes = new Uint8Array(8);
    structuredClone(bytes, { transfer: [bytes.buffer] });
    const responses = Promise.all(["/a", "/a", "/a"].map((path) => app.request(path)));
    (await next(1)).answer(Response.bytes(bytes));
    (await next(3)).answer(Response.bytes(bytes));
    runs[1]!.answer(Response.bytes(bytes));
    expect((await responses).map(({ status }) => status)).toEqual([500, 500, 500]);
  });

  it("Identical concurrent requests run the handler once", async () => {
    const { app, runs, next } = waiting();
    const asked = many(app, 100);
    (await next(1)).answer("a");
    const answers = await Promise.all(asked);
    expect(runs).toHaveLength(1);
    expect(answers.filter((answer) => answer === "MISS a")).toHaveLength(1);
    expect(answers.filter((answer) => answer === "HIT a")).toHaveLength(99);
  });

  it("Identical concurrent requests run the handler once after many other responses could not be cached", async () => {
    const runs: ((response: Response) => void)[] = [];
    const app = new App().enableCaching();
    app.logger = silent;
    const personal = (): Response => new Response("x", { headers: { "cache-control": "no-store" } });
    app.get("/other/{n}", personal);
    app.get("/a", () => new Promise<Response>((resolve) => runs.push(resolve)));
    const runsOf = async (count: number): Promise<number> => {
      runs.length = 0;
      const asked = many(app, count);
      await vi.waitFor(() => expect(runs.length).toBeGreaterThan(0));
      await settle();
      const begun = runs.length;
      const answering = setInterval(() => {
        for (const answer of runs.splice(0)) answer(personal());
      });
      await Promise.all(asked);
      clearInterval(answering);
      return begun;
    };
    expect(await runsOf(3)).toBe(1);
    expect(await runsOf(3)).toBe(3);
    for (let i = 0; i < 10_000; i++) await app.request(`/other/${i}`);
    expect(await runsOf(3)).toBe(1);
  });

  it("Concurrent requests run the handler once for each variant", async () => {
    const { app, runs } = waiting();
    await app.start();
    const asked = ["en", "de", "fr"].flatMap((language) => many(app, 20, "/a", { "accept-language": language }));
    const answered = new Set<Run>();
    const answerAll = async (): Promise<void> => {
      for (;;) {
        await settle();
        const open = runs.filter((run) => !answered.has(run));
        if (open.length === 0) return;
        for (const run of open) {
          answered.add(run);
          run.answer(new Response("x", { headers: { Vary: "Accept-Language" } }));
        }
      }
    };
    await answerAll();
    await Promise.all(asked);
    expect(runs).toHaveLength(3);
  });

  it("Waiting requests run the handler for themselves if the first run fails", async () => {
    const { app, runs, next } = waiting();
    const asked = many(app, 5);
    (await next(1)).fail();
    await next(5);
    for (const run of runs.slice(1)) run.answer("a");
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer === "MISS a")).toHaveLength(4);
    expect(runs).toHaveLength(5);
  });

  it("One of the waiting requests runs the handler for all if the first client disconnects", async () => {
    const { app, runs, next } = waiting();
    await using server = await wire(app);
    const leaving = new AbortController();
    const left = fetch(`${server.url}/a`, { signal: leaving.signal }).catch(() => "left");
    await next(1);
    const asked = Array.from({ length: 5 }, () => server.send("/a"));
    await settle();
    leaving.abort();
    expect(await left).toBe("left");
    (await next(2)).answer("a");
    const answers = await Promise.all(asked);
    expect(answers.map(({ text }) => text)).toEqual(Array(5).fill("a"));
    expect(runs).toHaveLength(2);
    expect(runs[0]!.signal.aborted).toBe(true);
    runs[0]!.answer("late");
  });

  it("A later request runs the handler if the first one runs out of time", async () => {
    let runs = 0;
    const app = new App().enableCaching();
    app.logger = silent;
    app.use((_request, next) => next());
    app.get("/a", { timeout: 0.05 }, () => (++runs === 1 ? new Promise(() => {}) : "a"));
    expect(await ask(app, "/a")).toContain("504");
    expect(await ask(app, "/a")).toBe("MISS a");
    expect(runs).toBe(2);
  });

  it("Requests do not wait for each other if the last response could not be cached", async () => {
    const { app, runs, next } = waiting();
    const first = ask(app, "/a");
    (await next(1)).answer(new Response("x", { headers: { "Cache-Control": "private" } }));
    await first;
    const asked = many(app, 5);
    await next(6);
    for (const run of runs.slice(1)) run.answer("kept");
    await Promise.all(asked);
    expect(await ask(app, "/a")).toBe("HIT kept");
  });

  it("Concurrent requests do not share a response that used the session", async () => {
    const app = new App().enableCaching().enableSessions({ secret: "a secret of at least thirty-two bytes" });
    app.logger = silent;
    let count = 0;
    app.get("/a", async (request) => {
      request.session.set("n", ++count);
      return `for ${count}`;
    });
    expect(await ask(app, "/a")).toBe("MISS for 1");
    expect(await ask(app, "/a")).toBe("MISS for 2");
  });

  it("A request with no-cache does not wait for others", async () => {
    const { app, runs, next } = waiting();
    const first = ask(app, "/a");
    await next(1);
    const second = ask(app, "/a", { "cache-control": "no-cache" });
    (await next(2)).answer("second");
    expect(await second).toBe("MISS second");
    runs[0]!.answer("first");
    await first;
  });
});

describe("invalidation while a response is being made", () => {
  it("A response whose tag is invalidated while it is made is neither cached nor shared with waiting requests", async () => {
    const { app, runs, next } = waiting();
    const first = ask(app, "/a");
    await next(1);
    const waited = ask(app, "/a");
    await settle();
    app.invalidateCache(["t"]);
    runs[0]!.answer(new Response("old").cacheTags("t"));
    expect(await first).toBe("MISS old");
    (await next(2)).answer(new Response("new").cacheTags("t"));
    expect(await waited).toBe("MISS new");
    expect(await ask(app, "/a")).toBe("HIT new");
  });

  it("A response whose address is changed while it is made is not cached, and others are", async () => {
    const { app, next } = waiting();
    app.post("/{name}", () => "changed");
    const [a, b] = [ask(app, "/a"), ask(app, "/b")];
    await next(2);
    await app.request("/a", { method: "POST" });
    (await next(1)).answer("old");
    (await next(2)).answer("b");
    expect([await a, await b]).toEqual(["MISS old", "MISS b"]);
    expect(await ask(app, "/b")).toBe("HIT b");
    const again = ask(app, "/a");
    (await next(3)).answer("new");
    expect(await again).toBe("MISS new");
  });
});

describe("stale-while-revalidate", () => {
  const fresh = (text: string): Response =>
    new Response(text, { headers: { "Cache-Control": "max-age=10, stale-while-revalidate=20" } });

  async function stale(options = {}): Promise<ReturnType<typeof waiting>> {
    const waited = waiting(options);
    const first = ask(waited.app, "/a");
    (await waited.next(1)).answer(fresh("1"));
    await first;
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.advanceTimersByTime(15_000);
    return waited;
  }

  it("A stale response is sent at once while one new one is made", async () => {
    const { app, runs, next } = await stale();
    expect(await Promise.all(many(app, 10))).toEqual(Array(10).fill("STALE 1"));
    (await next(2)).answer(fresh("2"));
    await settle();
    expect(await ask(app, "/a")).toBe("HIT 2");
    expect(runs).toHaveLength(2);
  });

  it("No stale response is sent after the time of stale-while-revalidate", async () => {
    const { app, next } = await stale();
    vi.advanceTimersByTime(20_000);
    const asked = ask(app, "/a");
    (await next(2)).answer(fresh("2"));
    expect(await asked).toBe("MISS 2");
  });

  it("The option staleWhileRevalidate can be set for the application", async () => {
    const { app, next } = waiting({ ttl: 10, staleWhileRevalidate: 20 });
    const first = ask(app, "/a");
    (await next(1)).answer("1");
    await first;
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.advanceTimersByTime(15_000);
    expect(await ask(app, "/a")).toBe("STALE 1");
    (await next(2)).answer("2");
    await settle();
    expect(await ask(app, "/a")).toBe("HIT 2");
  });

  it("A stale response is kept if the new one fails, and dropped if the resource is gone", async () => {
    const { app, runs, next } = await stale();
    await ask(app, "/a");
    (await next(2)).fail();
    await settle();
    expect(await ask(app, "/a")).toBe("STALE 1");
    (await next(3)).answer(new Response("gone", 404));
    await settle();
    const asked = ask(app, "/a");
    (await next(4)).answer("back");
    expect(await asked).toBe("MISS back");
    expect(runs).toHaveLength(4);
  });

  it("A background refresh has a request of its own, which outlives the client's and is disposed", async () => {
    const seen: string[] = [];
    let released = 0;
    const app = new App().enableCaching({ ttl: 10, staleWhileRevalidate: 60 }).enableRequestContext();
    app.logger = silent;
    app.registerScoped("thing", () => ({ [Symbol.dispose]: () => void released++ }));
    app.use({ before: (request) => void (request.context["tenant"] = "t") });
    const Thing = (await import("stoa")).Depends("thing");
    app.get("/a/{id}", { inject: { thing: Thing } }, async (request) => {
      await settle();
      const same = currentRequest() === request;
      seen.push(
        `${request.params.id} ${request.query.get("q")} ${request.headers.get("x-h")} ${request.context["tenant"]} ${same}`,
      );
      expect(request.headers.has("if-none-match")).toBe(false);
      return "x";
    });
    await ask(app, "/a/7?q=1");
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.advanceTimersByTime(15_000);
    expect(await ask(app, "/a/7?q=1", { "x-h": "h", "if-none-match": '"x"' })).toBe("STALE x");
    await vi.waitFor(() => expect(seen).toHaveLength(2));
    expect(seen[1]).toBe("7 1 h t true");
    await vi.waitFor(() => expect(released).toBe(2));
  });

  it("A background refresh is cached although an unrelated tag is invalidated meanwhile", async () => {
    const { app, next } = await stale();
    await ask(app, "/a");
    const refresh = await next(2);
    expect(app.invalidateCache(["none"])).toBe(0);
    refresh.answer(fresh("2"));
    await settle();
    expect(await ask(app, "/a")).toBe("HIT 2");
  });
});
