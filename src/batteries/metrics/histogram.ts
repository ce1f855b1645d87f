import { Buckets, observe } from "./buckets.js";
import type { Family } from "./family.js";
import { type Labels, type SeriesOptions, SeriesSet } from "./series.js";

/** Counts values by size, for percentiles over many processes. */
export class Histogram<Label extends string = never> {
  readonly #name: string;
  readonly #help: string;
  readonly #buckets: Buckets;
  readonly #series: SeriesSet<HistogramSeries>;

  /** @internal Made by `app.metrics.histogram()`. */
  constructor(help: string, options: SeriesOptions, bounds: readonly number[]) {
    const buckets = new Buckets(bounds);
    this.#name = options.name;
    this.#help = help;
    this.#buckets = buckets;
    this.#series = new SeriesSet(options, ["le"], () => new HistogramSeries(buckets));
  }

  observe(value: number): void;
  observe(labels: Labels<Label>, value: number): void;
  observe(first: number | Labels<Label>, value?: number): void {
    if (typeof first === "object") this.#series.find(first).observe(value!);
    else this.#series.find().observe(first);
  }

  /** Starts a timer and returns a function that stops it and observes the seconds. */
  startTimer(labels?: Labels<Label>): () => number {
    return this.#series.find(labels).startTimer();
  }

  /** The series with these labels, to keep where it is needed often. */
  labels(labels: Labels<Label>): HistogramSeries {
    return this.#series.find(labels);
  }

  /** @internal */
  collect(): Family {
    const samples = [...this.#series.entries()].flatMap(([labels, { counts }]) =>
      this.#buckets.samples(labels, counts),
    );
    return { name: this.#name, help: this.#help, type: "histogram", merge: "sum", samples };
  }
}

export class HistogramSeries {
  /** @internal */
  readonly counts: Float64Array;
  readonly #bounds: Float64Array;

  constructor(buckets: Buckets) {
    this.counts = buckets.createCounts();
    this.#bounds = buckets.bounds;
  }

  observe(value: number): void {
    // Any other value would make the sum wrong permanently.
    if (Number.isFinite(value)) observe(this.#bounds, this.counts, value);
  }

  startTimer(): () => number {
    const start = performance.now();
    return () => {
      const seconds = (performance.now() - start) / 1000;
      this.observe(seconds);
      return seconds;
    };
  }
}
