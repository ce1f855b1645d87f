import { type Fields, type Option, type OptionSet, option, options, type SettingsOf } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { isBuckets } from "./buckets.js";
import { Counter } from "./counter.js";
import type { Family } from "./family.js";
import { familiesOf, type PromRegistry } from "./foreign-registry.js";
import { Gauge, type GaugeCollect } from "./gauge.js";
import { Histogram } from "./histogram.js";
import { checkMetricName } from "./names.js";
import type { SeriesOptions } from "./series.js";

/** Receives the failures of a collection. A metric that fails must not hide the others. */
export type MetricsWarning = (message: string, error?: unknown) => void;

/** A source of families. */
type Source = () => readonly Family[] | Promise<readonly Family[]>;

export const secondsBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const fields = {
  /** A sentence for readers of the metric. */
  help: option.required(is.text),
  /** The names of its labels. Default: none. */
  labels: option(is.strings, []),
  /** Largest number of series; further values of labels are counted together as "other". Default 1000. */
  maxSeries: option(is.integer(1), 1000),
};

const counterOptions = options("counter()", fields);

const gaugeOptions = options("gauge()", {
  ...fields,
  /** Called at each scrape: returns the value, or sets those of a gauge with labels. */
  collect: option<GaugeCollect<string>>(is.function),
  /** Rule that makes one value of those of several workers. Default "sum". */
  merge: option(is.oneOf("sum", "max", "min", "mean"), "sum"),
});

const histogramOptions = options("histogram()", {
  ...fields,
  /** Upper bounds, ascending. Default: seconds from 1 ms to 10 s. */
  buckets: option(isBuckets, secondsBuckets, "seconds from 1 ms to 10 s"),
});

/** The options of a metric with these labels. */
type Labelled<F, Label extends string> = {
  readonly [K in keyof F]?: K extends "labels"
    ? readonly Label[]
    : K extends "collect"
      ? GaugeCollect<Label>
      : F[K] extends Option<infer Given, infer _>
        ? Given
        : never;
};

export type MetricOptions<Label extends string> = Labelled<typeof counterOptions.fields, Label>;
export type GaugeOptions<Label extends string> = Labelled<typeof gaugeOptions.fields, Label>;
export type HistogramOptions<Label extends string> = Labelled<typeof histogramOptions.fields, Label>;

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
    const { help, series } = this.#read(name, "counter", options, counterOptions);
    const counter = new Counter<Label>(help, series);
    this.addSource(() => [counter.collect()]);
    return counter;
  }

  gauge<const Label extends string = never>(name: string, options: EitherSpelling<GaugeOptions<Label>>): Gauge<Label> {
    const { help, series, merge, collect } = this.#read(name, "gauge", options, gaugeOptions);
    const gauge = new Gauge<Label>(help, series, merge, collect as GaugeCollect<Label> | undefined);
    this.addSource(async () => [await gauge.collect()]);
    return gauge;
  }

  histogram<const Label extends string = never>(
    name: string,
    options: EitherSpelling<HistogramOptions<Label>>,
  ): Histogram<Label> {
    const { help, series, buckets } = this.#read(name, "histogram", options, histogramOptions);
    const histogram = new Histogram<Label>(help, series, buckets);
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

  #read<F extends typeof fields & Fields>(
    name: string,
    kind: "counter" | "gauge" | "histogram",
    given: unknown,
    declared: OptionSet<F>,
  ): SettingsOf<F> & { readonly series: SeriesOptions } {
    checkMetricName(name, kind);
    if (this.#names.has(name)) throw new ValueError(`there is a metric named '${name}' already`);
    const settings = declared.read([given], `the metric ${name}`);
    const { labels, maxSeries } = settings as SettingsOf<typeof fields>;
    this.#names.add(name);
    return { ...settings, series: { name, labels, maxSeries, onOverflow: (message) => this.#warn(message) } };
  }
}
