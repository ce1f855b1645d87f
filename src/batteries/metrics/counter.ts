import { ValueError } from "../../kit/value-error.js";
import type { Family, Sample } from "./family.js";
import { inBraces } from "./names.js";
import { type Labels, type SeriesOptions, SeriesSet } from "./series.js";

/** A number that only grows. */
export class Counter<Label extends string = never> {
  readonly #name: string;
  readonly #help: string;
  readonly #series: SeriesSet<CounterSeries>;

  /** @internal Made by `app.metrics.counter()`. */
  constructor(help: string, options: SeriesOptions) {
    this.#name = options.name;
    this.#help = help;
    this.#series = new SeriesSet(options, [], () => new CounterSeries());
  }

  inc(by?: number): void;
  inc(labels: Labels<Label>, by?: number): void;
  inc(first?: number | Labels<Label>, by?: number): void {
    if (typeof first === "object") this.#series.find(first).inc(by);
    else this.#series.find().inc(first);
  }

  /** The series with these labels, to keep where it is needed often. */
  labels(labels: Labels<Label>): CounterSeries {
    return this.#series.find(labels);
  }

  /** @internal */
  collect(): Family {
    const samples = [...this.#series.entries()].map(([labels, { value }]): Sample => [inBraces(labels), value]);
    return { name: this.#name, help: this.#help, type: "counter", merge: "sum", samples };
  }
}

export class CounterSeries {
  /** @internal */
  value = 0;

  inc(by = 1): void {
    if (!(by >= 0)) throw new ValueError(`a counter only grows; it cannot be increased by ${by}`);
    this.value += by;
  }
}
