import { App, Blueprint, type BreakerStore, Response } from "stoa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { pass, stopClock } from "../clock.js";
import { wire } from "../support.js";

afterEach(() => vi.useRealTimers());

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

/** An application whose `/x` answers with the status that is set. */
function breaking(): { app: App; answer: { status: number; runs: number } } {
  const answer = { status: 500, runs: 0 };
  const app = new App();
  app.logger = silent;
  app.get("/x", () => {
    answer.runs++;
    return new Response("", answer.status);
  });
  return { app, answer };
}

async function statuses(app: App, path: string, count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < count; i++) seen.push((await app.request(path)).status);
  return seen;
}

async function stateOf(app: App): Promise<string> {
  return (await app.circuitBreakers())[0]!.state;
}

describe("a circuit", () => {
  it("A circuit opens after five consecutive failures, and gives 503 with a problem and the time to wait", async () => {
    stopClock();
    const { app, answer } = breaking();
    app.enableCircuitBreaker();
    expect(await statuses(app, "/x", 6)).toEqual([500, 500, 500, 500, 500, 503]);
    expect(answer.runs).toBe(5);
    pass(12.5);
    const refused = await app.request("/x");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "18"]);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(await refused.json()).toEqual({
      type: "/errors/circuit-open",
      title: "Service Unavailable",
      status: 503,
      detail: "This part of the service has failed repeatedly and is given a pause.",
      error: "Service Unavailable",
    });
  });

  it("A circuit is half-open after the reset timeout, and closed after the required successes", async () => {
    stopClock();
    const { app, answer } = breaking();
    app.enable_circuit_breaker({ failure_threshold: 2, reset_timeout: 10, half_open_target: 3 });
    await statuses(app, "/x", 2);
    expect(await stateOf(app)).toBe("open");
    pass(9.999);
    expect(await statuses(app, "/x", 1)).toEqual([503]);
    pass(0.001);
    expect(await stateOf(app)).toBe("half-open");
    answer.status = 200;
    await statuses(app, "/x", 2);
    expect(await stateOf(app)).toBe("half-open");
    await statuses(app, "/x", 1);
    expect(await stateOf(app)).toBe("closed");
    answer.status = 500;
    expect(await statuses(app, "/x", 3)).toEqual([500, 500, 503]);
  });

  it("A route has its own number of successes that close its circuit", async () => {
    stopClock();
    const answer = { status: 500 };
    const app = new App().enableCircuitBreaker({ failureThreshold: 1, resetTimeout: 10, halfOpenTarget: 1 });
    app.get("/x", { circuitBreaker: { halfOpenTarget: 2 } }, () => new Response("x", { status: answer.status }));
    await statuses(app, "/x", 1);
    pass(10);
    answer.status = 200;
    await statuses(app, "/x", 1);
    expect(await stateOf(app)).toBe("half-open");
    await statuses(app, "/x", 1);
    expect(await stateOf(app)).toBe("closed");
  });

  it("A circuit is open again after a failure while half-open, and its time begins again", async () => {
    stopClock();
    const { app, answer } = breaking();
    app.enableCircuitBreaker(1, 10, 2);
    await statuses(app, "/x", 1);
    pass(10);
    answer.status = 200;
    await statuses(app, "/x", 1);
    answer.status = 502;
    expect(await statuses(app, "/x", 1)).toEqual([502]);
    pass(9);
    expect(await statuses(app, "/x", 1)).toEqual([503]);
    pass(1);
    answer.status = 200;
    expect(await statuses(app, "/x", 3)).toEqual([200, 200, 200]);
    expect(await stateOf(app)).toBe("closed");
  });

  it("A success resets the count of consecutive failures, and other responses leave it unchanged", async () => {
    const { app, answer } = breaking();
    app.enableCircuitBreaker({ failureThreshold: 2 });
    const play = async (...given: number[]): Promise<void> => {
      for (const status of given) {
        answer.status = status;
        await app.request("/x");
      }
    };
    await play(500, 200, 500);
    expect(await stateOf(app)).toBe("closed");
    await play(404, 429, 501);
    expect(await stateOf(app)).toBe("closed");
    await play(504);
    expect(await stateOf(app)).toBe("open");
  });

  it("A circuit counts the configured statuses, and thrown errors", async () => {
    const { app, answer } = breaking();
    app.get("/thrown", async () => {
      throw new Error("x");
    });
    app.enableCircuitBreaker(1, 30, 3, [418, 500]);
    answer.status = 503;
    await app.request("/x");
    expect(await stateOf(app)).toBe("closed");
    answer.status = 418;
    await app.request("/x");
    expect(await stateOf(app)).toBe("open");
    expect(await statuses(app, "/thrown", 2)).toEqual([500, 503]);
  });

  it("A circuit belongs to one route, whatever the requested path", async () => {
    const app = new App().enableCircuitBreaker(2);
    app
      .get("/books/{id}", () => new Response("", 500))
      .post("/books/{id}", () => "made")
      .get("/other", () => "ok");
    app.logger = silent;
    await app.request("/books/1");
    await app.request("/books/2");
    expect((await app.request("/books/3")).status).toBe(503);
    expect((await app.request("/books/3", { method: "POST" })).status).toBe(200);
    expect((await app.request("/other")).status).toBe(200);
    expect((await app.circuit_breakers()).map(({ route, state }) => `${route}: ${state}`)).toEqual([
      "GET /books/{id}: open",
      "POST /books/{id}: closed",
      "GET /other: closed",
    ]);
  });

  it("Requests without a route pass the circuit breaker", async () => {
    const app = new App().enableCircuitBreaker({ failureCodes: [404], failureThreshold: 1 });
    expect(await statuses(app, "/nowhere", 3)).toEqual([404, 404, 404]);
  });
});

describe("a half-open circuit", () => {
  function probing(): { app: App; pending: ((status: number) => void)[] } {
    const pending: ((status: number) => void)[] = [];
    const app = new App().enableCircuitBreaker(1, 10, 2);
    app.logger = silent;
    app.get("/x", () => new Promise((resolve) => pending.push((status) => resolve(new Response("", status)))));
    return { app, pending };
  }

  async function opened(): Promise<{ app: App; pending: ((status: number) => void)[] }> {
    const { app, pending } = probing();
    const first = app.request("/x");
    await vi.waitFor(() => expect(pending).toHaveLength(1));
    pending.pop()!(500);
    await first;
    pass(10);
    return { app, pending };
  }

  it("A half-open circuit admits no more concurrent requests than it needs successes", async () => {
    stopClock();
    const { app, pending } = await opened();
    const asked = Array.from({ length: 5 }, () => app.request("/x"));
    const refused = await Promise.all(asked.slice(2));
    expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual([
      [503, "1"],
      [503, "1"],
      [503, "1"],
    ]);
    expect(pending).toHaveLength(2);
    for (const answer of pending.splice(0)) answer(200);
    await Promise.all(asked);
    expect(await stateOf(app)).toBe("closed");
  });

  it("A probe with a neutral result gives its place to the next one", async () => {
    stopClock();
    const { app, pending } = await opened();
    for (let i = 0; i < 4; i++) {
      const asked = app.request("/x");
      await vi.waitFor(() => expect(pending).toHaveLength(1));
      pending.pop()!(404);
      expect((await asked).status).toBe(404);
    }
    expect(await stateOf(app)).toBe("half-open");
  });

  it("A circuit ignores results of requests from an earlier state", async () => {
    stopClock();
    const { app, pending } = probing();
    const slow = app.request("/x");
    const failing = app.request("/x");
    await vi.waitFor(() => expect(pending).toHaveLength(2));
    pending[1]!(500);
    await failing;
    pass(10);
    const probe = app.request("/x");
    await vi.waitFor(() => expect(pending).toHaveLength(3));
    pending[0]!(500);
    await slow;
    expect(await stateOf(app)).toBe("half-open");
    pending[2]!(200);
    await probe;
    expect(await stateOf(app)).toBe("half-open");
  });
});

describe("requests that end early", () => {
  it("A request that runs out of time counts as a failure, with and without middleware that reads the body first", async () => {
    for (const late of [false, true]) {
      const app = new App().enableCircuitBreaker({ failureThreshold: 1 });
      app.logger = silent;
      if (late) app.use((_request, next) => next());
      app.get("/x", { timeout: 0.02 }, () => new Promise(() => {}));
      expect(await statuses(app, "/x", 2)).toEqual([504, 503]);
    }
  });

  it("A request whose client disconnects does not count, and frees its place", async () => {
    const app = new App().enableCircuitBreaker({ failureThreshold: 1 });
    let running = false;
    let failed = false;
    app.get("/x", async (request) => {
      running = true;
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      failed = true;
      throw new Error("the work was given up");
    });
    await using server = await wire(app);
    const leaving = new AbortController();
    const asked = fetch(`${server.url}/x`, { signal: leaving.signal }).catch(() => "left");
    await vi.waitFor(() => expect(running).toBe(true));
    leaving.abort();
    expect(await asked).toBe("left");
    await vi.waitFor(() => expect(failed).toBe(true));
    expect(await stateOf(app)).toBe("closed");
  });
});

describe("circuits of routes and blueprints", () => {
  it("Routes and blueprints can have circuit settings of their own, none, or the only ones", async () => {
    const fails = (): Response => new Response("", 500);
    const app = new App().get("/plain", fails).get("/own", { circuitBreaker: { failureThreshold: 1 } }, fails);
    const group = new Blueprint("/group", { circuit_breaker: { failure_threshold: 2 } });
    group.get("/a", fails).get("/b", { circuitBreaker: false }, fails);
    app.registerBlueprint(group);
    app.logger = silent;
    expect(await statuses(app, "/plain", 7)).toEqual([500, 500, 500, 500, 500, 500, 500]);
    expect(await statuses(app, "/own", 2)).toEqual([500, 503]);
    expect(await statuses(app, "/group/a", 3)).toEqual([500, 500, 503]);
    expect(await statuses(app, "/group/b", 3)).toEqual([500, 500, 500]);
  });

  it("Wrong settings of a circuit are refused with their names", () => {
    expect(() => new App().enableCircuitBreaker({ failureThreshold: 0 })).toThrow("'failureThreshold'");
    expect(() => new App().enableCircuitBreaker(5, 30, 3, [99])).toThrow("'failureCodes'");
    expect(() => new App().enable_circuit_breaker({ failure_treshold: 1 } as never)).toThrow("'failure_threshold'?");
    expect(() => new App().get("/", { circuitBreaker: { resetTimeout: "1" } } as never, () => "")).toThrow(
      "'resetTimeout' in the route option 'circuitBreaker'",
    );
  });
});

describe("the log and reports of circuits", () => {
  it("A circuit is logged once when it changes, not with every refused request", async () => {
    const lines: string[] = [];
    const logger = { debug() {}, info: log, warn: log, error: log, child: () => logger };
    function log(message: string): void {
      lines.push(message);
    }
    stopClock();
    const { app, answer } = breaking();
    app.logger = logger;
    app.enableCircuitBreaker(1, 10, 1);
    await statuses(app, "/x", 10);
    pass(10);
    answer.status = 200;
    await statuses(app, "/x", 1);
    expect(lines).toEqual([
      "the circuit of GET /x is open for 10 s: it keeps failing",
      "the circuit of GET /x is half-open",
      "the circuit of GET /x is closed",
    ]);
  });

  it("An open circuit makes the health report degraded but up, and is in the metrics", async () => {
    const { app } = breaking();
    app.enableCircuitBreaker(1).enableHealthChecks().enableMetrics();
    await app.request("/x");
    const report = await app.request("/health");
    expect(report.status).toBe(200);
    expect(await report.json()).toMatchObject({
      status: "DEGRADED",
      checks: { circuits: { status: "DEGRADED", message: "GET /x is open" } },
    });
    expect((await app.request("/health/ready")).status).toBe(200);
    const metrics = await (await app.request("/metrics")).text();
    expect(metrics).toContain('framework_circuit_breaker_state{route="GET /x"} 2');
  });
});

describe("a store given as an option", () => {
  it("A store of circuits gets whole milliseconds, as the expiry of a key in Redis has to be", async () => {
    const times: number[] = [];
    const breaker = {
      admit: () => ({ ticket: 1, waitMs: 0 }),
      report() {},
      snapshot: () => Promise.reject(new Error()),
    };
    const store: BreakerStore = {
      breaker({ resetMs }) {
        times.push(resetMs);
        return breaker;
      },
    };
    const { app } = breaking();
    app.enableCircuitBreaker({ store, resetTimeout: "1.5ms" });
    await app.request("/x");
    expect(times).toEqual([2]);
  });

  it("A store of circuits can return promises, and requests pass if it fails", async () => {
    let down = false;
    const reported: string[] = [];
    const store: BreakerStore = {
      breaker: ({ route }) => ({
        admit: async () => {
          if (down) throw new Error("down");
          return reported.length < 2 ? { ticket: 7, waitMs: 0 } : { ticket: 0, waitMs: 2500 };
        },
        report: async (ticket, outcome) => {
          reported.push(`${ticket} ${outcome}`);
        },
        snapshot: async () => ({ route, state: "open", failures: 0, successes: 0, retry_after: 3 }),
      }),
    };
    const { app, answer } = breaking();
    app.enableCircuitBreaker({ store });
    await app.request("/x");
    answer.status = 201;
    await app.request("/x");
    expect(reported).toEqual(["7 failure", "7 success"]);
    const refused = await app.request("/x");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "3"]);
    down = true;
    expect((await app.request("/x")).status).toBe(201);
  });
});
