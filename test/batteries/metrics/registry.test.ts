import { App } from "stoa";
import { describe, expect, it, vi } from "vitest";
import { textFormat } from "../../../src/batteries/metrics/exposition.js";
import { Metrics } from "../../../src/batteries/metrics/registry.js";

const shown = async (metrics: Metrics): Promise<string[]> =>
  textFormat(await metrics.collect())
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

const create = (warn = vi.fn()): Metrics => new Metrics(warn);

describe("custom metrics", () => {
  it("Custom metrics are exposed with the framework's, under their given names", async () => {
    const app = new App().enableMetrics();
    const orders = app.metrics.counter("orders_total", { help: "Orders taken.", labels: ["country"] });
    app.post("/orders", () => {
      orders.inc({ country: "DE" });
      return null;
    });
    await app.request("/orders", { method: "POST" });
    const text = await (await app.request("/metrics")).text();
    expect(text).toContain(
      '# HELP orders_total Orders taken.\n# TYPE orders_total counter\norders_total{country="DE"} 1\n',
    );
  });

  it("Counters, gauges and histograms record values", async () => {
    const metrics = create();
    const counter = metrics.counter("a_total", { help: "A." });
    counter.inc();
    counter.inc(2.5);
    const gauge = metrics.gauge("b", { help: "B.", labels: ["x", "y"] });
    gauge.set({ x: 1, y: true }, 5);
    gauge.dec({ x: 1, y: true });
    gauge.inc({ y: false, x: "z" }, 2);
    const child = gauge.labels({ x: "z", y: false });
    child.inc();
    const histogram = metrics.histogram("c_seconds", { help: "C.", buckets: [1, 2] });
    for (const value of [0.5, 1, 1.5, 7, Number.NaN]) histogram.observe(value);
    expect(await shown(metrics)).toEqual([
      "a_total 3.5",
      'b{x="1",y="true"} 4',
      'b{x="z",y="false"} 3',
      'c_seconds_bucket{le="1"} 2',
      'c_seconds_bucket{le="2"} 3',
      'c_seconds_bucket{le="+Inf"} 4',
      "c_seconds_sum 10",
      "c_seconds_count 4",
    ]);
  });

  it("A timer measures the seconds between its start and end", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const metrics = create();
      const end = metrics
        .histogram("job_seconds", { help: "Jobs.", labels: ["kind"], buckets: [1] })
        .startTimer({ kind: "a" });
      vi.advanceTimersByTime(1500);
      expect(end()).toBe(1.5);
      expect(await shown(metrics)).toContain('job_seconds_sum{kind="a"} 1.5');
    } finally {
      vi.useRealTimers();
    }
  });

  it("A label's value is cut to 256 characters", async () => {
    const metrics = create();
    const counter = metrics.counter("a_total", { help: "A.", labels: ["x"] });
    counter.inc({ x: "y".repeat(256) });
    counter.inc({ x: `${"y".repeat(256)}z` });
    counter.inc({ x: `${"y".repeat(255)}😀` });
    expect(await shown(metrics)).toEqual([
      `a_total{x="${"y".repeat(256)}"} 2`,
      `a_total{x="${"y".repeat(255)}\ufffd"} 1`,
    ]);
  });

  it("A metric without labels is exposed from the start", async () => {
    const metrics = create();
    metrics.counter("a_total", { help: "A." });
    metrics.counter("b_total", { help: "B.", labels: ["x"] });
    expect(await shown(metrics)).toEqual(["a_total 0"]);
  });

  it("A gauge can compute its value at each scrape", async () => {
    const metrics = create();
    let length = 3;
    metrics.gauge("queue_length", { help: "Q.", collect: () => length });
    metrics.gauge("pool_connections", {
      help: "P.",
      labels: ["state"],
      collect: async (gauge) => gauge.set({ state: "idle" }, length * 2),
    });
    expect(await shown(metrics)).toEqual(["queue_length 3", 'pool_connections{state="idle"} 6']);
    length = 4;
    expect(await shown(metrics)).toEqual(["queue_length 4", 'pool_connections{state="idle"} 8']);
  });

  it("A metric that cannot be collected is left out and reported, and the others are exposed", async () => {
    const warn = vi.fn();
    const metrics = create(warn);
    const error = new Error("away");
    metrics.gauge("broken", { help: "B.", collect: () => Promise.reject(error) });
    metrics.counter("a_total", { help: "A." });
    expect(await shown(metrics)).toEqual(["a_total 0"]);
    expect(warn).toHaveBeenCalledWith("some metrics could not be collected", error);
  });

  it("The number of series is bounded: beyond it they are counted together, and that is reported once", async () => {
    const warn = vi.fn();
    const metrics = create(warn);
    const counter = metrics.counter("hits_total", { help: "H.", labels: ["who"], max_series: 2 });
    for (const who of ["a", "b", "c", "d", "a"]) counter.inc({ who });
    expect(await shown(metrics)).toEqual([
      'hits_total{who="a"} 2',
      'hits_total{who="b"} 1',
      'hits_total{who="other"} 2',
    ]);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it("The values of labels are escaped", async () => {
    const metrics = create();
    const counter = metrics.counter("a_total", { help: "A.\n\\B", labels: ["x"] });
    counter.inc({ x: 'quote " backslash \\ line\nbreak \ud800' });
    expect(textFormat(await metrics.collect())).toBe(
      '# HELP a_total A.\\n\\\\B\n# TYPE a_total counter\na_total{x="quote \\" backslash \\\\ line\\nbreak \ufffd"} 1\n',
    );
  });
});

describe("refused custom metrics", () => {
  const help = "H.";
  it.each([
    ["a name that cannot be one", (m: Metrics) => m.gauge("a-b", { help }), "consists of letters, digits"],
    ["a counter that does not end in _total", (m: Metrics) => m.counter("hits", { help }), "'hits' does not"],
    ["a gauge that does", (m: Metrics) => m.gauge("hits_total", { help }), "that ending is reserved"],
    [
      "a histogram named like a part of one",
      (m: Metrics) => m.histogram("x_count", { help }),
      "that ending is reserved",
    ],
    ["no help", (m: Metrics) => m.gauge("a", {} as never), "option 'help' is required in the metric a"],
    ["an unknown option", (m: Metrics) => m.gauge("a", { help, lables: [] } as never), "did you mean 'labels'?"],
    ["a label of the format's", (m: Metrics) => m.histogram("a", { help, labels: ["le"] }), "'le' cannot be a label"],
    ["a label that cannot be one", (m: Metrics) => m.gauge("a", { help, labels: ["a-b"] }), "'a-b' cannot be a label"],
    ["a label twice", (m: Metrics) => m.gauge("a", { help, labels: ["x", "x"] }), "the label 'x' twice"],
    ["buckets that do not ascend", (m: Metrics) => m.histogram("a", { help, buckets: [2, 1] }), "in ascending order"],
    ["a counter that falls", (m: Metrics) => m.counter("a_total", { help }).inc(-1), "a counter only grows"],
    ["a missing label", (m: Metrics) => m.counter("a_total", { help, labels: ["x"] }).inc(), "'x' is missing"],
    [
      "a label it does not have",
      (m: Metrics) => m.counter("a_total", { help, labels: ["x"] }).inc({ x: 1, y: 2 } as never),
      "the metric a_total has the labels x",
    ],
    ["something that is no registry", (m: Metrics) => m.merge({} as never), "takes a registry of prom-client"],
  ])("Wrong use of custom metrics is refused: %s", (_, act, message) => {
    expect(() => act(create())).toThrow(message);
  });

  it("A custom metric with a name that is taken is refused", () => {
    const metrics = create();
    metrics.gauge("a", { help });
    expect(() => metrics.histogram("a", { help })).toThrow("there is a metric named 'a' already");
  });
});
