import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from "prom-client";
import { App } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, vi } from "vitest";
import { textFormat, wantsOpenMetrics } from "../../../src/batteries/metrics/exposition.js";
import { Metrics } from "../../../src/batteries/metrics/registry.js";
import { service } from "../../support/service.js";
import { send } from "../wire.js";
import { judge, sample, seriesIn } from "./scrape.js";

const promtool = service("promtool");

function busyApp(): App {
  const app = new App().enableMetrics();
  app.metrics
    .counter("orders_total", { help: 'Orders "taken" \\ \n.', labels: ["country"] })
    .inc({ country: 'D"\\\n' });
  app.metrics.gauge("queue_length", { help: "Jobs that wait.", collect: () => Number.NaN });
  app.metrics.gauge("bound", { help: "A bound." }).set(Number.POSITIVE_INFINITY);
  app.metrics.histogram("job_seconds", { help: "Jobs.", labels: ["kind"] }).observe({ kind: "a" }, 1e-9);
  app.get("/books/{id}", () => ({ id: 1 }));
  app.get('/odd/"quoted"', () => "x");
  return app;
}

describe("the text that is scraped", () => {
  it.skipIf(!promtool)("Promtool accepts the metrics without a complaint", async () => {
    await using server = await serve(busyApp());
    for (let i = 0; i < 5; i++) await send(server.url, `/books/${i}`);
    await send(server.url, '/odd/"quoted"');
    await send(server.url, "/missing");
    const { text } = await send(server.url, "/metrics");
    expect(seriesIn(text).length).toBeGreaterThan(50);
    expect(await judge(promtool as string, text)).toBe("");
    expect(await judge(promtool as string, text.replaceAll("_total", "_totals"))).toContain(
      "counter metrics should have",
    );
  });

  it("The metrics response has Cache-Control and Vary", async () => {
    const response = await busyApp().request("/metrics");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("vary")).toBe("Accept");
  });

  it("Clients that prefer OpenMetrics get it", async () => {
    const accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
    const response = await busyApp().request("/metrics", { headers: { accept } });
    expect(response.headers.get("content-type")).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    const text = await response.text();
    expect(text).toMatch(/\n# EOF\n$/);
    expect(text).toContain(
      '# TYPE orders counter\n# HELP orders Orders \\"taken\\" \\\\ \\n.\norders_total{country="D\\"\\\\\\n"} 1\n',
    );
  });

  it.each([
    [undefined, false],
    ["*/*", false],
    ["text/plain", false],
    ["application/openmetrics-text", true],
    ["application/openmetrics-text;q=0.1, text/plain;q=0.2", false],
    ["application/openmetrics-text;q=0", false],
  ])("The Accept value %s selects OpenMetrics: %s", (accept, open) => {
    expect(wantsOpenMetrics(accept)).toBe(open);
  });

  it("The metrics contain the process, under the names that dashboards know", async () => {
    const text = await (await busyApp().request("/metrics")).text();
    const now = Date.now() / 1000;
    expect(sample(text, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
    expect(sample(text, "process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(sample(text, "process_start_time_seconds")).toBeGreaterThan(now - 86_400);
    expect(sample(text, "process_start_time_seconds")).toBeLessThanOrEqual(now);
    expect(sample(text, "nodejs_heap_size_used_bytes")).toBeGreaterThan(1e6);
    expect(sample(text, "nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
    expect(text).toMatch(/^nodejs_version_info\{version="v\d+\.\d+\.\d+",major="\d+",/m);
    if (process.platform === "linux") expect(sample(text, "process_open_fds")).toBeGreaterThan(2);
  });

  it("Metrics of the process can be disabled", async () => {
    const text = await (await new App().enableMetrics({ processMetrics: false }).request("/metrics")).text();
    expect(text).not.toContain("process_");
  });
});

describe("a registry of prom-client", () => {
  function promRegistry(): Registry {
    const registry = new Registry();
    const registers = [registry];
    new Counter({ name: "jobs_total", help: "Jobs.", labelNames: ["kind"], registers }).inc({ kind: 'a"b' }, 2);
    new Gauge({ name: "temperature_celsius", help: "Temperature.", registers }).set(21.5);
    const histogram = new Histogram({ name: "wait_seconds", help: "Waits.", buckets: [0.1, 1], registers });
    histogram.observe(0.5);
    new Summary({ name: "size_bytes", help: "Sizes.", percentiles: [0.5], registers }).observe(10);
    return registry;
  }

  it("A registry of prom-client is exposed with the others, value for value", async () => {
    const metrics = new Metrics(vi.fn()).merge(promRegistry());
    const text = textFormat(await metrics.collect());
    expect(seriesIn(text)).toEqual([
      'jobs_total{kind="a\\"b"} 2',
      "temperature_celsius 21.5",
      'wait_seconds_bucket{le="0.1"} 0',
      'wait_seconds_bucket{le="1"} 1',
      'wait_seconds_bucket{le="+Inf"} 1',
      "wait_seconds_sum 0.5",
      "wait_seconds_count 1",
      'size_bytes{quantile="0.5"} 10',
      "size_bytes_sum 10",
      "size_bytes_count 1",
    ]);
    const types = [...text.matchAll(/^# TYPE \S+ (\w+)$/gm)].map((match) => match[1]);
    expect(types).toEqual(["counter", "gauge", "histogram", "summary"]);
  });

  it.skipIf(!promtool)("Metrics of the process that prom-client has too are exposed once", async () => {
    const registry = promRegistry();
    collectDefaultMetrics({ register: registry });
    const app = busyApp();
    app.logger = { ...app.logger, warn: () => {} };
    app.metrics.merge(registry);
    const text = await (await app.request("/metrics")).text();
    expect(text.match(/^# TYPE process_resident_memory_bytes /gm)).toHaveLength(1);
    expect(text).toContain("nodejs_gc_duration_seconds");
    // What is left to complain of are names of prom-client's own.
    const complaints = (await judge(promtool as string, text)).split("\n");
    expect(complaints.filter((line) => !line.startsWith("nodejs_active_"))).toEqual([""]);
  });
});
