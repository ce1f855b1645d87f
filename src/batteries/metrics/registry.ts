import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readOptions, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { isBuckets } from "./buckets.js";
import { Counter } from "./counter.js";
import type { Family } from "./family.js";
import { familiesOf, type PromRegistry } from "./foreign-registry.js";
import { Gauge, type GaugeCollect } from "./gauge.js";
import { Histogram } from "./histogram.js";
import { checkMetricName } from "./names.js";
import type { SeriesOptions } from "./series.js";

export interface MetricOptions<Label extends string> {
  /** A sentence for readers of the metric. */
  readonly help: string;
  readonly labels?: readonly Label[];
  /** Largest number of series; further values of labels are counted together as "other". Default 1000. */
  readonly maxSeries?: number;
}

export interface GaugeOptions<Label extends string> extends MetricOptions<Label> {
  /** Called at each scrape: returns the value, or sets those of a gauge with labels. */
  readonly collect?: GaugeCollect<Label>;
  /** Rule that makes one value of those of several workers. Default "sum". */
  readonly merge?: "sum" | "max" | "min" | "mean";
}

export interface HistogramOptions<Label extends string> extends MetricOptions<Label> {
  /** Upper bounds, ascending. Default: seconds from 1 ms to 10 s. */
  readonly buckets?: readonly number[];
}

/** Receives the failures of a collection. A metric that fails must not hide the others. */
export type MetricsWarning = (message: string, error?: unknown) => void;

/** A source of families. */
type Source = () => readonly Family[] | Promise<readonly Family[]>;

export const secondsBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const metricChecks: Checks<MetricOptions<string>> = { help: is.text, labels: is.strings, maxSeries: is.integer(1) };

const gaugeChecks: Checks<GaugeOptions<string>> = {
  ...metricChecks,
  collect: is.function,
  merge: is.oneOf("sum", "max", "min", "mean"),
};

const histogramChecks: Checks<HistogramOptions<string>> = { ...metricChecks, buckets: isBuckets };

/** The metrics of an application: its own, the framework's, and those of other registries. */
export class Metrics {
  readonly #warn: MetricsWarning;
  readonly #names = new Set<string>();
  readonly #sources: Source[] = [];
  readonly #clashes = new Set<string>();

  constructor(warn: MetricsWarning) {
    this.#warn = warn;
  }

  /** Makes a counter: `app.metrics.counter("orders_total", { help: "Orders taken.", labels: ["country"] })`. */
  counter<const Label extends string = never>(
    name: string,
    options: EitherSpelling<MetricOptions<Label>>,
  ): Counter<Label> {
    const { help, series } = this.#read(name, "counter", options, metricChecks);
    const counter = new Counter<Label>(help, series);
    this.addSource(() => [counter.collect()]);
    return counter;
  }

  gauge<const Label extends string = never>(name: string, options: EitherSpelling<GaugeOptions<Label>>): Gauge<Label> {
    const { help, series, given } = this.#read(name, "gauge", options, gaugeChecks);
    const collect = given.collect as GaugeCollect<Label> | undefined;
    const gauge = new Gauge<Label>(help, series, given.merge ?? "sum", collect);
    this.addSource(async () => [await gauge.collect()]);
    return gauge;
  }

  histogram<const Label extends string = never>(
    name: string,
    options: EitherSpelling<HistogramOptions<Label>>,
  ): Histogram<Label> {
    const { help, series, given } = this.#read(name, "histogram", options, histogramChecks);
    const histogram = new Histogram<Label>(help, series, given.buckets ?? secondsBuckets);
    this.addSource(() => [histogram.collect()]);
    return histogram;
  }

  /** Shows the metrics of a prom-client registry too; a name that is taken here already is left out. */
  merge(registry: PromRegistry): this {
    if (typeof (registry as Partial<PromRegistry> | null)?.getMetricsAsJSON !== "function") {
      throw new ValueError(`metrics.merge() takes a registry of prom-client, not ${show(registry)}`);
    }
    this.addSource(() => familiesOf(registry));
    return this;
  }

  /** @internal Adds families of the framework's own. */
  addSource(source: Source): void {
    this.#sources.push(source);
  }

  /** @internal Everything as it is now. A source that fails is left out. */
  async collect(): Promise<Family[]> {
    const collected = await Promise.all(this.#sources.map((source) => this.#ask(source)));
    const families = new Map<string, Family>();
    for (const family of collected.flat()) {
      if (!families.has(family.name)) families.set(family.name, family);
      else this.#reportClash(family.name);
    }
    return [...families.values()];
  }

  async #ask(source: Source): Promise<readonly Family[]> {
    try {
      return await source();
    } catch (error) {
      this.#warn("some metrics could not be collected", error);
      return [];
    }
  }

  #reportClash(name: string): void {
    if (this.#clashes.has(name)) return;
    this.#clashes.add(name);
    this.#warn(`there are two metrics named ${name}; only the first is shown`);
  }

  #read<T extends MetricOptions<string>>(
    name: string,
    kind: "counter" | "gauge" | "histogram",
    options: unknown,
    checks: Checks<T>,
  ): { help: string; series: SeriesOptions; given: Partial<T> } {
    checkMetricName(name, kind);
    if (this.#names.has(name)) throw new ValueError(`there is a metric named '${name}' already`);
    const given = readOptions<T>(`the metric ${name}`, options, checks);
    const { help, labels = [], maxSeries = 1000 } = given as Partial<MetricOptions<string>>;
    // The readers of a metric are seldom its authors.
    if (help === undefined) throw new ValueError(`option 'help' is required in the metric ${name}`);
    this.#names.add(name);
    return { help, series: { name, labels, maxSeries, onOverflow: (message) => this.#warn(message) }, given };
  }
}
