import { describe, expect, it, vi } from "vitest";
import { metricOf } from "../../../src/batteries/telemetry/metrics/from-families.js";
import { attributesOf, type Decoded } from "./decode.js";
import { traced } from "./traced.js";

const cumulative = 2;

function named(metrics: Decoded[], name: string): Decoded {
  return metrics.find((metric) => metric.name === name);
}

describe("exported metrics", () => {
  it("Exported metrics count every request by method, route and status, also those that are not sampled", async () => {
    const { send, flush, collector } = await traced((app) => app.get("/books/{id}", () => "x"), {
      telemetry: { samplingRate: 0 },
    });
    for (let i = 0; i < 3; i++) await send(`/books/${i}`);
    await send("/nowhere");
    await flush();
    const { unit, histogram } = named(collector.metrics, "http.server.request.duration");
    expect(unit).toBe("s");
    expect(histogram.temporality).toBe(cumulative);
    const [books, nowhere] = histogram.points;
    expect(attributesOf(books)).toEqual({
      "http.request.method": "GET",
      "http.response.status_code": 200,
      "http.route": "/books/{id}",
      "url.scheme": "http",
    });
    expect(books.count).toBe(3n);
    expect(books.buckets.reduce((a: number, b: number) => a + b)).toBe(3);
    expect(books.buckets).toHaveLength(books.bounds.length + 1);
    expect(books.bounds.slice(0, 3)).toEqual([0.005, 0.01, 0.025]);
    expect(attributesOf(nowhere)).toMatchObject({ "http.response.status_code": 404 });
    expect(attributesOf(nowhere)).not.toHaveProperty("http.route");
  });

  it("Exported metrics contain those of the application and, where they are enabled, those of the framework", async () => {
    const { app, send, flush, collector } = await traced((made) => made.enableMetrics().get("/", () => "x"));
    app.metrics.counter("orders_total", { help: "Orders.", labels: ["country"] }).inc({ country: 'a"b\\\n,c}' }, 2);
    app.metrics.gauge("queue_bytes", { help: "Queue." }).set(-1.5);
    const work = app.metrics.histogram("work_seconds", { help: "Work.", buckets: [1, 2] });
    for (const value of [0.5, 1.5, 1.6, 9]) work.observe(value);
    await send("/");
    await flush();
    const orders = named(collector.metrics, "orders_total");
    expect(orders).toMatchObject({ description: "Orders.", sum: { temporality: cumulative, monotonic: true } });
    expect(orders.sum.points).toMatchObject([{ value: 2 }]);
    expect(attributesOf(orders.sum.points[0])).toEqual({ country: 'a"b\\\n,c}' });
    expect(named(collector.metrics, "queue_bytes")).toMatchObject({ unit: "By", gauge: { points: [{ value: -1.5 }] } });
    const [point] = named(collector.metrics, "work_seconds").histogram.points;
    expect(point).toMatchObject({ count: 4n, sum: 12.6, bounds: [1, 2], buckets: [1, 2, 1] });
    expect(named(collector.metrics, "framework_http_requests_total").sum.points[0].value).toBe(1);
    expect(point.start).toBeLessThanOrEqual(point.time);
  });

  it("Metrics are exported again and again", async () => {
    const { send, collector } = await traced((app) => app.get("/", () => "x"), {
      telemetry: { metricInterval: 0.01, traces: false },
    });
    await send("/");
    await vi.waitFor(() => expect(collector.exports.length).toBeGreaterThan(2));
    expect(collector.spans).toEqual([]);
  });

  it("Metrics are not exported if the option is false", async () => {
    const { send, flush, collector } = await traced((app) => app.get("/", () => "x"), {
      telemetry: { metrics: false },
    });
    await send("/");
    await flush();
    expect(collector.metrics).toEqual([]);
  });

  it("A summary of a registry keeps its count, its sum and its quantiles", () => {
    const samples = [
      ['{quantile="0.5",a="b"}', 1],
      ['{quantile="0.9",a="b"}', 2],
      ['_sum{a="b"}', 10],
      ['_count{a="b"}', 4],
    ] as const;
    expect(metricOf({ name: "s", help: "h", type: "summary", merge: "sum", samples })).toMatchObject({
      kind: "summary",
      points: [
        {
          attributes: [["a", "b"]],
          count: 4,
          sum: 10,
          quantiles: [
            [0.5, 1],
            [0.9, 2],
          ],
        },
      ],
    });
  });
});
