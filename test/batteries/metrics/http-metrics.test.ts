import { once } from "node:events";
import { connect } from "node:net";
import { App, Response } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { textFormat } from "../../../src/batteries/metrics/exposition.js";
import { until } from "../../server/process/program.js";
import { send } from "../wire.js";
import { sample, seriesIn, sumOf } from "./scrape.js";

const total = "framework_http_requests_total";
const inFlight = "framework_http_requests_in_flight";

async function scrape(url: string, path = "/metrics"): Promise<string> {
  const response = await send(url, path);
  expect([response.status, response.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  return response.text;
}

describe("the metrics of requests", () => {
  it("The metrics of requests are the contract's four, by method, status and path of the route", async () => {
    const app = new App().enableMetrics();
    app.get("/books/{id}", () => ({ a: 1 }));
    app.post("/books", { status: 201 }, () => "é");
    await using server = await serve(app);
    for (const id of [1, 2, 3]) await send(server.url, `/books/${id}`);
    await send(server.url, "/books", { method: "POST" });
    await send(server.url, "/books/1", { method: "HEAD" });
    const text = await scrape(server.url);
    expect(sample(text, `${total}{method="GET",status="200",path="/books/{id}"}`)).toBe(3);
    expect(sample(text, `${total}{method="POST",status="201",path="/books"}`)).toBe(1);
    expect(sample(text, `${total}{method="HEAD",status="200",path="/books/{id}"}`)).toBe(1);
    const duration = "framework_http_request_duration_seconds";
    expect(sample(text, `${duration}_count{method="GET",path="/books/{id}"}`)).toBe(3);
    expect(sample(text, `${duration}_bucket{method="GET",path="/books/{id}",le="+Inf"}`)).toBe(3);
    const size = "framework_http_response_size_bytes";
    expect(sample(text, `${size}_sum{method="GET",path="/books/{id}"}`)).toBe(21);
    expect(sample(text, `${size}_sum{method="POST",path="/books"}`)).toBe(2);
    expect(sample(text, `${size}_sum{method="HEAD",path="/books/{id}"}`)).toBe(0);
    expect(sample(text, `${size}_bucket{method="GET",path="/books/{id}",le="100"}`)).toBe(3);
    expect(sample(text, inFlight)).toBe(0);
    for (const [name, type] of [
      [total, "counter"],
      [duration, "histogram"],
      [inFlight, "gauge"],
      [size, "histogram"],
    ]) {
      expect(text).toContain(`# TYPE ${name} ${type}\n`);
    }
  });

  it("enableMetrics() accepts endpoint, namespace and subsystem, also by position", async () => {
    for (const app of [
      new App().enable_metrics("/internal/stats", "shop", "web"),
      new App().enable_metrics({ endpoint: "/internal/stats", namespace: "shop", subsystem: "web" }),
    ]) {
      app.get("/", () => "x");
      await app.request("/");
      const text = await (await app.request("/internal/stats")).text();
      expect(sample(text, `shop_web_requests_total{method="GET",status="200",path="/"}`)).toBe(1);
      expect((await app.request("/metrics")).status).toBe(404);
    }
  });

  it("A subsystem that is empty is left out of the names of metrics", async () => {
    const app = new App().enableMetrics("/metrics", "shop", "").get("/", () => "x");
    await app.request("/");
    const text = await (await app.request("/metrics")).text();
    expect(sample(text, `shop_requests_total{method="GET",status="200",path="/"}`)).toBe(1);
  });

  it("The sizes of responses are counted in the buckets of sizeBuckets", async () => {
    const app = new App().enableMetrics({ sizeBuckets: [5, 10] }).get("/", () => "7 bytes");
    await app.request("/");
    const text = await (await app.request("/metrics")).text();
    const buckets = ["5", "10", "+Inf"].map((le) =>
      sample(text, `framework_http_response_size_bytes_bucket{method="GET",path="/",le="${le}"}`),
    );
    expect(buckets).toEqual([0, 1, 1]);
  });

  it("The durations of requests are in seconds: a slow response is not in the buckets of fast ones", async () => {
    const app = new App().enableMetrics();
    app.get("/slow", () => new Promise((resolve) => setTimeout(resolve, 60, "done")));
    await app.request("/slow");
    const text = await (await app.request("/metrics")).text();
    const series = 'framework_http_request_duration_seconds_bucket{method="GET",path="/slow",le=';
    expect(sample(text, `${series}"0.05"}`)).toBe(0);
    expect(sample(text, `${series}"10"}`)).toBe(1);
    const sum = sample(text, 'framework_http_request_duration_seconds_sum{method="GET",path="/slow"}')!;
    expect(sum).toBeGreaterThan(0.05);
    expect(sum).toBeLessThan(10);
  });

  it("All paths without a route have one label", async () => {
    await using server = await serve(new App().enableMetrics());
    const before = seriesIn(await scrape(server.url)).length;
    for (let i = 0; i < 200; i++) await send(server.url, `/unknown/${i}`);
    await send(server.url, "/a/%zz");
    const text = await scrape(server.url);
    expect(seriesIn(text).length - before).toBeLessThanOrEqual(3);
    expect(text).not.toContain("/unknown");
    expect(sample(text, `${total}{method="GET",status="404",path="unmatched"}`)).toBe(200);
  });

  it("All unknown methods have one label", async () => {
    const app = new App().enableMetrics();
    for (const method of ["FOO", "BAR", "BAZ"]) await app.request("/", { method });
    const text = await (await app.request("/metrics")).text();
    expect(sample(text, `${total}{method="OTHER",status="501",path="unmatched"}`)).toBe(3);
    expect(text).not.toContain("FOO");
  });

  it("The number of routes with series of their own is limited", async () => {
    const app = new App().enableMetrics({ max_routes: 3 });
    for (let i = 0; i < 10; i++) app.get(`/r${i}`, () => "x");
    for (let i = 0; i < 10; i++) await app.request(`/r${i}`);
    const text = await (await app.request("/metrics")).text();
    expect(sample(text, `${total}{method="GET",status="200",path="other"}`)).toBe(8);
    expect(sumOf(text, total)).toBe(10);
  });

  it("Every request is counted exactly once under load on many connections", async () => {
    const app = new App().enableMetrics();
    app.get("/sync", () => "x");
    app.get("/async", async () => "x");
    app.get("/throws", () => {
      throw new Error("no");
    });
    app.get("/stream", async function* () {
      yield "abc";
      yield "def";
    });
    app.logger = silent;
    await using server = await serve(app, { debug: false });
    const paths = ["/sync", "/async", "/throws", "/stream", "/missing"];
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let i = 0; i < 50; i++) await send(server.url, paths[i % paths.length]!);
      }),
    );
    const text = await scrape(server.url);
    for (const path of ["/sync", "/async", "/stream"]) {
      expect(sample(text, `${total}{method="GET",status="200",path="${path}"}`)).toBe(200);
    }
    expect(sample(text, `${total}{method="GET",status="500",path="/throws"}`)).toBe(200);
    expect(sample(text, `${total}{method="GET",status="404",path="unmatched"}`)).toBe(200);
    expect(sumOf(text, total)).toBe(1000);
    expect(sumOf(text, "framework_http_request_duration_seconds_count")).toBe(1000);
    expect(sample(text, 'framework_http_response_size_bytes_sum{method="GET",path="/stream"}')).toBe(1200);
    expect(sample(text, inFlight)).toBe(0);
  });

  it("The scrape itself, the probes, and routes with metrics: false are not counted", async () => {
    const app = new App().enableMetrics().enableHealthChecks();
    app.get("/quiet", { metrics: false }, () => "x");
    await app.request("/quiet");
    await app.request("/health/ready");
    await app.request("/metrics");
    expect(sumOf(await (await app.request("/metrics")).text(), total)).toBe(0);
  });

  it("Requests that middleware refuses are counted too, CORS preflight included", async () => {
    const app = new App().enableMetrics().enableCors();
    app.use({ before: () => Response.json({ error: "no" }, 401) });
    app.get("/", () => "x");
    const preflight = { origin: "https://a.example", "access-control-request-method": "GET" };
    await app.request("/", { method: "OPTIONS", headers: preflight });
    await app.request("/");
    const text = textFormat(await app.metrics.collect());
    expect(sample(text, `${total}{method="OPTIONS",status="204",path="unmatched"}`)).toBe(1);
    expect(sample(text, `${total}{method="GET",status="401",path="/"}`)).toBe(1);
    // Your middleware stands before the metrics too: they are not for everybody.
    expect((await app.request("/metrics")).status).toBe(401);
  });
});

describe("requests in flight", () => {
  it("Requests in flight are those of waiting handlers and of bodies that are being sent", async () => {
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const app = new App().enableMetrics();
    app.get("/waits", () => gate.then(() => "x"));
    app.get("/streams", async function* () {
      yield "a";
      await gate;
      yield "b";
    });
    await using server = await serve(app);
    const answers = [send(server.url, "/waits"), send(server.url, "/streams"), send(server.url, "/streams")];
    await until(async () => sample(await scrape(server.url), inFlight) === 3);
    release();
    await Promise.all(answers);
    expect(sample(await scrape(server.url), inFlight)).toBe(0);
  });

  it.each(["net", "node"] as const)(
    "A request is no longer in flight when its client disconnects in the middle of a body (%s)",
    async (transport) => {
      const app = new App().enableMetrics();
      app.get("/endless", async function* () {
        for (;;) {
          yield "x".repeat(1000);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      });
      app.get("/events", () =>
        Response.sse(
          async function* (signal) {
            yield "first";
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          },
          { heartbeat: 0.05 },
        ),
      );
      await using server = await serve(app, { transport });
      for (const path of ["/endless", "/events"]) {
        const leave = new AbortController();
        const response = await fetch(server.url + path, { signal: leave.signal });
        await response.body!.getReader().read();
        expect(sample(await scrape(server.url), inFlight)).toBe(1);
        leave.abort();
        await until(async () => sample(await scrape(server.url), inFlight) === 0);
      }
      const text = await scrape(server.url);
      expect(sample(text, `${total}{method="GET",status="200",path="/endless"}`)).toBe(1);
      expect(sample(text, 'framework_http_response_size_bytes_sum{method="GET",path="/endless"}')).toBeGreaterThan(0);
    },
  );

  it("A request is no longer in flight if its body fails or is discarded, or its client disconnects before the response", async () => {
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const app = new App().enableMetrics();
    app.logger = silent;
    app.get("/fails", async function* () {
      yield "a";
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error("no");
    });
    app.get("/late", async () => {
      await gate;
      return Response.stream(
        (async function* () {
          yield "never taken";
        })(),
      );
    });
    await using server = await serve(app, { debug: false });
    await expect(send(server.url, "/fails")).rejects.toThrow();
    await send(server.url, "/fails", { method: "HEAD" });
    const leave = new AbortController();
    const late = fetch(`${server.url}/late`, { signal: leave.signal });
    await until(async () => sample(await scrape(server.url), inFlight) === 1);
    leave.abort();
    await expect(late).rejects.toThrow();
    release();
    await until(async () => sample(await scrape(server.url), inFlight) === 0);
    const text = await scrape(server.url);
    expect(sample(text, `${total}{method="GET",status="200",path="/late"}`)).toBe(1);
  });

  it("An open WebSocket is not in flight, and its handshake counts as a request with 101", async () => {
    const app = new App().enableMetrics();
    app.websocket("/ws", async (socket) => void (await socket.recv()));
    await using server = await serve(app);
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    const text = await scrape(server.url);
    expect(sample(text, `${total}{method="GET",status="101",path="/ws"}`)).toBe(1);
    expect(sample(text, inFlight)).toBe(0);
    socket.close();
  });
});

const silent = (() => {
  const nothing = (): void => {};
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
  return logger;
})();

describe("requests that the server refuses", () => {
  it("Requests that the server refuses are counted by the code of the error", async () => {
    const app = new App().enableMetrics();
    const server = await app.run({ port: 0, host: "127.0.0.1", logs: false, banner: false, exit: false });
    const { port } = new URL(server.url);
    for (const bytes of ["GET / HTTP/9.9\r\n\r\n", "nonsense\r\n\r\n", "nonsense\r\n\r\n"]) {
      const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
      socket.end(bytes);
      await once(socket.resume(), "close");
    }
    const text = await scrape(server.url);
    expect(sumOf(text, "framework_http_requests_refused_total")).toBe(3);
    expect(sample(text, 'framework_http_requests_refused_total{code="MALFORMED_REQUEST"}')).toBe(2);
    await server.close();
  });
});
